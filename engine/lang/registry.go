package lang

import (
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// registry is what a config has declared so far.
type registry struct {
	resources map[string]*resource // by node id
	outputs   []ir.Output          // in declaration order
	output    map[string]int       // key → index in outputs
	policies  []ir.PolicyBinding   // in call order
}

func newRegistry() registry {
	return registry{resources: map[string]*resource{}, output: map[string]int{}}
}

func (r *registry) addResource(res *resource) error {
	if r.resources[res.id] != nil {
		return registryErrorf("%s is declared twice; give one of them another name or stack", res.id)
	}
	r.resources[res.id] = res
	return nil
}

func (r *registry) addOutput(key string, value model.Value) error {
	if _, taken := r.output[key]; taken {
		return registryErrorf("output %s is declared twice; give one of them another name", key)
	}
	r.output[key] = len(r.outputs)
	r.outputs = append(r.outputs, ir.Output{Key: key, Value: value})
	return nil
}
