package plan

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Unsupported is the user error of a plan that this engine cannot run as it was
// planned; it names the node and a way out. Ask before taking a lock: such a plan is
// never approximated. A plan that was refused is its own error.
func (p *Plan) Unsupported() error {
	if p.Refused != nil {
		return p.Refused
	}
	for _, ask := range []func() error{p.needsOperations, p.needsPolicies, p.needsSecrets, p.needsSealing, p.needsRecord} {
		if err := ask(); err != nil {
			return err
		}
	}
	return p.handsOver()
}

func refused(format string, args ...any) *model.Error {
	return model.Errorf(model.AtlantideError, model.ClassUser, format, args...)
}

// needsOperations finds a change of a provider that has only a schema.
func (p *Plan) needsOperations() error {
	if p.schemas == nil {
		return nil
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		resourceType := model.TypeOf(c.NodeID)
		provider, _, _ := strings.Cut(resourceType, ".")
		schema := p.schemas.Provider(provider)
		if !c.Actionable() || schema == nil || schema.PlanOnly == "" {
			continue
		}
		err := model.Errorf(model.ProviderError, model.ClassUser, "the %s of %s is planned, but cannot be applied: %s", c.Action, c.NodeID, schema.PlanOnly)
		err.NodeID, err.ResourceType = c.NodeID, resourceType
		return err
	}
	return nil
}

func (p *Plan) needsPolicies() error {
	if p.Compilation == nil || len(p.Compilation.Policies) == 0 || p.evaluated {
		return nil
	}
	return refused("the config enforces the policy '%s', and this engine evaluates none; remove the enforce() call to run without it",
		p.Compilation.Policies[0].Name)
}

// needsSecrets looks at every declared node, idle ones too: whether a secret rotated
// behind an unchanged handle is a question of its own. What only goes does without (EX-17).
func (p *Plan) needsSecrets() error {
	if p.resolves || p.Compilation == nil {
		return nil
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Desired == nil {
			continue
		}
		var fields []string
		for field, value := range c.Desired.Properties {
			if model.HoldsSecret(value) {
				fields = append(fields, field)
			}
		}
		if len(fields) > 0 {
			return refused("%s.%s reads a secret, and this engine has no secret provider; give the value in another way",
				c.NodeID, slices.Min(fields))
		}
	}
	for _, o := range p.Compilation.Outputs {
		if model.HoldsSecret(o.Value) {
			return refused("the output '%s' reads a secret, and this engine has no secret provider; remove it", o.Key)
		}
	}
	return nil
}

// recordedEdges are what the recorded halves of the change depend on.
func (c *Change) recordedEdges() []string {
	var edges []string
	for _, half := range c.goingHalves() {
		edges = slices.Concat(edges, half.Dependencies, half.DependsOn)
	}
	slices.Sort(edges)
	return edges
}

// handsOver finds an object that one node gives up and another one declares, as after a
// rename that keeps the path: the node that goes would take the other's object along,
// since deletes come last.
func (p *Plan) handsOver() error {
	if p.schemas == nil || p.Compilation == nil {
		return nil
	}
	declared := map[string]string{} // type and address → node, what this run leaves alone included
	for i := range p.Compilation.Document.Nodes {
		n := &p.Compilation.Document.Nodes[i]
		if address, ok := p.address(n.Type, n.Properties); ok {
			declared[address] = n.ID
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		// A create over a row that was left half made destroys that half if it lies
		// elsewhere.
		if !c.destroys() && c.Action != Create {
			continue
		}
		for _, half := range c.goingHalves() {
			address, ok := p.address(half.Type, half.Properties)
			if other := declared[address]; ok && other != "" && other != half.ID {
				return refused("%s goes and %s, which is the same object, stays or comes: destroying the one would take the other along; "+
					"keep the name, say that it is a rename with aliases=[…] in the lifecycle of the new one, or apply with only one of them at a time", c.NodeID, other)
			}
		}
	}
	return nil
}

// address is the type and address of an object, as far as it is known at plan.
func (p *Plan) address(resourceType string, properties map[string]any) (string, bool) {
	schema := p.schemas.Type(resourceType)
	if schema == nil {
		return "", false
	}
	return schema.ObjectAddress(properties)
}

// goingHalves are the recorded halves that the change destroys.
func (c *Change) goingHalves() []*state.Row {
	var halves []*state.Row
	if c.Prior != nil {
		halves = append(halves, c.Prior)
	}
	if c.PendingDestroy != nil {
		halves = append(halves, c.PendingDestroy.Row)
	}
	return halves
}
