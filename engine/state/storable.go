package state

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Bounds of what a store is given, so that one value cannot fill it.
const (
	// MaxDocument bounds a row's outputs, its properties and the value of an output,
	// each by itself, in bytes of JSON, escapes not counted.
	MaxDocument = 4 << 20
	// MaxNesting bounds how deep lists and maps lie in each other.
	MaxNesting = 1000
)

// CheckStorable refuses what a store cannot keep, or would not give back as it was: a
// NUL character and text that is not UTF-8, in keys too, a number that is not finite,
// what is no Value, what is nested too deeply (ST-20). The error says what v holds;
// the caller names v. Lists and maps of texts are Values here.
func CheckStorable(v any) error {
	_, err := measure(v, 0)
	return err
}

// CheckDocument is CheckStorable for what may not be larger than MaxDocument.
func CheckDocument(v any) error {
	_, err := document(v)
	return err
}

func document(v any) (size int, err error) {
	size, err = measure(v, 0)
	if err == nil && size > MaxDocument {
		err = fmt.Errorf("has %d bytes, more than the %d that can be recorded", size, MaxDocument)
	}
	return size, err
}

// CheckStorable refuses a batch of which a store cannot keep everything. It is a user's
// StateError that names the object.
func (b Batch) CheckStorable() error {
	_, err := b.Measure()
	return err
}

// Measure is CheckStorable, and the size of what the batch puts in bytes of JSON, escapes
// not counted.
func (b Batch) Measure() (size int, err error) {
	for _, r := range b.PutRows {
		n, err := r.measure()
		if err != nil {
			return 0, notWritten(fmt.Sprintf("node %+.80q", r.ID), err)
		}
		size += n
	}
	for _, p := range b.PutPending {
		n, err := p.Row.measure()
		if err := cmp.Or(CheckStorable([]string{p.NodeID, p.Mode}), err); err != nil {
			return 0, notWritten(fmt.Sprintf("the old half of node %+.80q", p.NodeID), err)
		}
		size += n
	}
	for key, o := range b.SetOutputs {
		n, err := document(o.Value)
		if err := cmp.Or(CheckStorable(key), err, CheckStorable(o.SourceNodes)); err != nil {
			return 0, notWritten(fmt.Sprintf("output %+.80q", key), err)
		}
		size += n
	}
	return size, nil
}

func (r *Row) measure() (size int, err error) {
	for _, part := range []any{
		[]string{r.ID, r.Type, r.Kind, r.Provider, r.ProviderVersion, r.InputHash, r.Status, r.RowUID, r.Attempt},
		r.Dependencies, r.DependsOn, r.RefreshedOutputs, r.SecretDigests, r.RefDigests,
	} {
		n, e := measure(part, 0)
		size, err = size+n, cmp.Or(err, e)
	}
	for _, part := range []map[string]any{r.Outputs, r.Properties} {
		n, e := document(part)
		size, err = size+n, cmp.Or(err, e)
	}
	return size, err
}

func notWritten(what string, err error) error {
	return model.Errorf(model.StateError, model.ClassUser,
		"nothing was written: %s %w; let the provider or the config encode it", what, err)
}

// measure is the size of v in bytes of JSON, escapes not counted.
func measure(v any, depth int) (size int, err error) {
	if depth > MaxNesting {
		return 0, fmt.Errorf("is nested deeper than %d levels", MaxNesting)
	}
	add := func(n int, e error) {
		size += n + 1 // a comma or a colon
		err = cmp.Or(err, e)
	}
	switch v := v.(type) {
	case nil, bool, int64:
		return 4, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errors.New("holds a number that is not finite")
		}
		return 8, nil
	case string:
		return measureText(v)
	case []string:
		for _, item := range v {
			add(measureText(item))
		}
	case map[string]string:
		for key, item := range v {
			add(measureText(key))
			add(measureText(item))
		}
	case []any:
		for _, item := range v {
			add(measure(item, depth+1))
		}
	case map[string]any:
		for key, item := range v {
			add(measureText(key))
			add(measure(item, depth+1))
		}
	default:
		return 0, fmt.Errorf("holds a value of type %T, which has no JSON form", v)
	}
	return size + 1, err
}

func measureText(s string) (int, error) {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return 0, errors.New("holds a NUL character")
	case !utf8.ValidString(s):
		return 0, errors.New("holds text that is not UTF-8")
	default:
		return len(s) + 2, nil
	}
}
