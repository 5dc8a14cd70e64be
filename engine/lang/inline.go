package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// maxInlined bounds how many values inlining may produce: outputs that hold one
// another twice double with every step.
const maxInlined = 5_000_000

// inlineOutputs puts the expression of an output in the place of every handle on it,
// when the output belongs to this config (lang.md §11.5). What it reads becomes an
// edge that way. Handles on outputs of other configs stay.
func (r *registry) inlineOutputs() error {
	in := &inliner{registry: r, state: make([]inlineState, len(r.outputs)), size: make([]int, len(r.outputs))}
	if len(r.outputs) == 0 || !in.needed() {
		return nil
	}
	for i := range r.outputs {
		if err := in.resolve(i); err != nil {
			return err
		}
	}
	for _, res := range r.sorted() {
		for field, v := range res.properties {
			substituted, err := in.value(v)
			if err != nil {
				return err
			}
			res.properties[field] = substituted
		}
	}
	return nil
}

type inlineState int

const (
	inlineUntouched inlineState = iota
	inlineWalking
	inlineDone
)

type inliner struct {
	*registry
	state []inlineState
	size  []int // values in a resolved output
	path  []int // outputs being resolved, outermost first
	total int   // values produced
	count int   // values of the output being resolved
}

// needed reports whether any handle on an own output exists.
func (in *inliner) needed() bool {
	for _, o := range in.outputs {
		if in.holdsOwn(o.Value) {
			return true
		}
	}
	for _, res := range in.resources {
		for _, v := range res.properties {
			if in.holdsOwn(v) {
				return true
			}
		}
	}
	return false
}

func (in *inliner) holdsOwn(v model.Value) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, in.holdsOwn)
	case map[string]any:
		if _, own := in.own(v); own {
			return true
		}
		for _, item := range v {
			if in.holdsOwn(item) {
				return true
			}
		}
	}
	return false
}

// own is the index of the output that v is a handle on.
func (in *inliner) own(v model.Value) (int, bool) {
	key, ok := model.AsStackOutput(v)
	if !ok {
		return 0, false
	}
	i, ok := in.output[key]
	return i, ok
}

// resolve makes an output's value free of handles on own outputs.
func (in *inliner) resolve(i int) error {
	switch in.state[i] {
	case inlineDone:
		return nil
	case inlineWalking:
		return in.cycle(i)
	}
	in.state[i] = inlineWalking
	in.path = append(in.path, i)
	outer := in.count
	in.count = 0
	v, err := in.value(in.outputs[i].Value)
	if err != nil {
		return err
	}
	in.outputs[i].Value = v
	in.size[i] = in.count
	in.count = outer
	in.path = in.path[:len(in.path)-1]
	in.state[i] = inlineDone
	return nil
}

func (in *inliner) cycle(i int) error {
	var chain []string
	for _, j := range in.path[slices.Index(in.path, i):] {
		chain = append(chain, in.outputs[j].Key)
	}
	chain = append(chain, in.outputs[i].Key)
	err := model.Errorf(model.StackOutputCycleError, model.ClassUser,
		"stack outputs refer to each other: %s", strings.Join(chain, " -> "))
	err.Chain = chain
	err.Hint = "let one of them hold a value of its own"
	return err
}

// value is v with the handles on own outputs replaced; parts that hold none are shared.
func (in *inliner) value(v model.Value) (model.Value, error) {
	if i, own := in.own(v); own {
		if err := in.resolve(i); err != nil {
			return nil, err
		}
		return in.outputs[i].Value, in.produce(in.size[i])
	}
	if err := in.produce(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			s, err := in.value(item)
			if err != nil {
				return nil, err
			}
			out[i] = s
		}
		return out, nil
	case map[string]any:
		if whole(v) {
			return v, in.produce(1)
		}
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s, err := in.value(v[k])
			if err != nil {
				return nil, err
			}
			out[k] = s
		}
		return out, nil
	}
	return v, nil
}

// whole reports whether v is a marker without operands. Markers are never changed, and
// there may be very many.
func whole(v model.Value) bool {
	_, reference := model.AsReference(v)
	_, secret := model.AsSecretRef(v)
	_, output := model.AsStackOutput(v)
	return reference || secret || output
}

func (in *inliner) produce(n int) error {
	in.count += n
	in.total += n
	if in.total > maxInlined {
		return model.Errorf(model.FuelExhaustedError, model.ClassUser,
			"the outputs that this config reads from its own stacks expand to more than %d values; pass fewer values on", maxInlined)
	}
	return nil
}
