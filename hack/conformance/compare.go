package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// comparison collects the differences of one case; what <<any:N>> stands for is kept
// from step to step.
type comparison struct {
	values map[string]string // <<any:N>> → JSON of the value it stands for
	names  map[string]string // the other way round
	diffs  []string
}

func newComparison() *comparison {
	return &comparison{values: map[string]string{}, names: map[string]string{}}
}

// take returns the differences found since the last take, "" if there are none.
func (c *comparison) take() string {
	text := strings.Join(c.diffs, "\n")
	c.diffs = nil
	return text
}

func (c *comparison) differ(path string, want, got any) {
	wantText, wantIsText := want.(string)
	gotText, gotIsText := got.(string)
	if wantIsText && gotIsText && (strings.Contains(wantText, "\n") || strings.Contains(gotText, "\n")) {
		c.diffs = append(c.diffs, path+" (-want +got)\n"+strings.TrimRight(cmp.Diff(wantText, gotText), "\n"))
		return
	}
	c.diffs = append(c.diffs, fmt.Sprintf("%s\n- %s\n+ %s", path, show(want), show(got)))
}

// absent stands for a key that one side does not have.
type absent struct{}

func show(v any) string {
	if v == (absent{}) {
		return "(absent)"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// equal compares decoded JSON. With partial, a key that want does not have is not
// looked at.
func (c *comparison) equal(path string, want, got any, partial bool) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		if _, sealed := want[model.KeySealed]; sealed && len(want) == 1 {
			// The ciphertext is the implementation's own.
			if _, ok := got[model.KeySealed]; !ok || len(got) != 1 {
				c.differ(path, want, got)
			}
			return
		}
		for _, key := range unionOfKeys(want, got, partial) {
			w, wanted := want[key]
			g, given := got[key]
			switch {
			case !wanted:
				c.differ(join(path, key), absent{}, g)
			case !given:
				c.differ(join(path, key), w, absent{})
			default:
				c.equal(join(path, key), w, g, partial)
			}
		}
		return
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			c.equal(join(path, strconv.Itoa(i)), want[i], got[i], partial)
		}
		return
	case string:
		if strings.HasPrefix(want, "<<any:") && strings.HasSuffix(want, ">>") {
			c.bind(path, want, got)
			return
		}
		if want == got {
			return
		}
	case json.Number:
		if got, ok := got.(json.Number); ok && sameNumber(want, got) {
			return
		}
	default:
		if want == got {
			return
		}
	}
	c.differ(path, want, got)
}

// bind holds <<any:N>> to one value, and no two of them to the same.
func (c *comparison) bind(path, name string, got any) {
	value := show(got)
	if known, ok := c.values[name]; ok {
		if known != value {
			c.diffs = append(c.diffs, fmt.Sprintf("%s\n- %s, which was %s\n+ %s", path, name, known, value))
		}
		return
	}
	if other, ok := c.names[value]; ok {
		c.diffs = append(c.diffs, fmt.Sprintf("%s\n- %s\n+ %s, which is %s already", path, name, value, other))
		return
	}
	c.values[name], c.names[value] = value, name
}

// sameNumber keeps integers and floats apart; the spelling of a float is free.
func sameNumber(a, b json.Number) bool {
	aFloat, bFloat := strings.ContainsAny(a.String(), ".eE"), strings.ContainsAny(b.String(), ".eE")
	if aFloat != bFloat {
		return false
	}
	if !aFloat {
		return a == b
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && math.Float64bits(x) == math.Float64bits(y)
}

// contains compares the words that a text must hold.
func (c *comparison) contains(path string, words any, text string) {
	list, _ := words.([]any)
	for _, word := range list {
		if word, ok := word.(string); !ok || !strings.Contains(text, word) {
			c.diffs = append(c.diffs, fmt.Sprintf("%s must contain %q\n+ %s", path, word, show(text)))
		}
	}
}

func unionOfKeys(want, got map[string]any, wantOnly bool) []string {
	keys := make([]string, 0, len(want))
	for key := range want {
		keys = append(keys, key)
	}
	for key := range got {
		if _, both := want[key]; !both && !wantOnly {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + " › " + key
}

// tree is a value of the engine as decoded JSON, integers and floats kept apart.
func tree(v model.Value) (any, error) {
	v, err := model.NormalizeJSON(v)
	if err != nil {
		return nil, err
	}
	data, err := model.EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = decode(data, &out)
	return out, err
}

// texts is a list of strings as decoded JSON; nil is empty.
func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// without is a copy that lacks keys.
func without(m map[string]any, keys ...string) map[string]any {
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	for _, k := range keys {
		delete(out, k)
	}
	return out
}
