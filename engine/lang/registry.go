package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// registry is what a config has declared so far.
type registry struct {
	resources map[string]*resource // by node id
	outputs   []ir.Output          // in declaration order
	output    map[string]int       // key → index in outputs
	outputAt  []origin             // of outputs, by index
	policies  []ir.PolicyBinding   // in call order
	limit     int                  // of resources, and of outputs
}

const (
	// maxNodes is how many resources, and how many outputs, a config may declare unless
	// the options say otherwise.
	maxNodes = 100_000
	// maxOutputKey is the length of an output's key in bytes: it is a key of the state
	// store.
	maxOutputKey = 1024
	// maxNodeID is the length of a node id in bytes; component prefixes add to a name.
	maxNodeID = 1024
)

func newRegistry(limit int) registry {
	if limit == 0 {
		limit = maxNodes
	}
	return registry{resources: map[string]*resource{}, output: map[string]int{}, limit: limit}
}

func (r *registry) addResource(res *resource) error {
	if r.resources[res.id] != nil {
		return twice(r.resources[res.id].at, "%s is declared twice; give one of them another name or stack", res.id)
	}
	if len(res.id) > maxNodeID {
		return registryErrorf("the id %.60s… is longer than %d bytes; take shorter names", res.id, maxNodeID)
	}
	if len(r.resources) == r.limit {
		return registryErrorf("the config declares more than %d resources; split it into several stacks of their own", r.limit)
	}
	r.resources[res.id] = res
	return nil
}

// sorted is the resources by id.
func (r *registry) sorted() []*resource {
	list := slices.AppendSeq(make([]*resource, 0, len(r.resources)), maps.Values(r.resources))
	slices.SortFunc(list, func(a, b *resource) int { return strings.Compare(a.id, b.id) })
	return list
}

// duplicateError is the cause of the error of a second declaration.
type duplicateError struct{ first origin }

func (*duplicateError) Error() string { return "it is declared already" }

func twice(first origin, format string, args ...any) error {
	err := registryErrorf(format, args...)
	err.Cause = &duplicateError{first}
	return err
}

func (r *registry) addOutput(key string, value model.Value, at origin) error {
	if i, taken := r.output[key]; taken {
		return twice(r.outputAt[i], "output %s is declared twice; give one of them another name", key)
	}
	if len(key) > maxOutputKey {
		return registryErrorf("the output key %.60s… is longer than %d bytes; take a shorter name", key, maxOutputKey)
	}
	if len(r.outputs) == r.limit {
		return registryErrorf("the config declares more than %d outputs; put several values into one", r.limit)
	}
	r.output[key] = len(r.outputs)
	r.outputs = append(r.outputs, ir.Output{Key: key, Value: value})
	r.outputAt = append(r.outputAt, at)
	return nil
}
