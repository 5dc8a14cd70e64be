package plan

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Unsupported is the user error of a plan that this engine cannot run as it was
// planned; it names the node and a way out. Ask before taking a lock: such a plan is
// never approximated.
func (p *Plan) Unsupported() error {
	for _, ask := range []func() error{p.needsOperations, p.needsPolicies, p.needsSecrets, p.needsSealing, p.needsRecord} {
		if err := ask(); err != nil {
			return err
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		switch {
		case c.Conditional:
			return refused("whether %s has to be replaced is known only after its upstreams ran, and a run cannot judge that on its way; "+
				"apply the change of the upstreams first with the present value written out in field '%s'", c.NodeID, firstOf(c.ChangedFields))
		case c.Action == Replace && c.CreateBeforeDestroy:
			return refused("%s would have to be created anew before its old half is destroyed, which a run cannot do; "+
				"drop create_before_destroy from it and from what depends on it", c.NodeID)
		}
	}
	if err := p.handsOver(); err != nil {
		return err
	}
	return p.needsEarlyDestroy()
}

func refused(format string, args ...any) *model.Error {
	return model.Errorf(model.AtlantideError, model.ClassUser, format, args...)
}

func firstOf(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
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
	if p.Compilation == nil || len(p.Compilation.Policies) == 0 {
		return nil
	}
	return refused("the config enforces the policy '%s', and this engine evaluates none; remove the enforce() call to run without it",
		p.Compilation.Policies[0].Name)
}

// needsSecrets looks at every declared node, idle ones too: whether a secret rotated
// behind an unchanged handle is a question of its own.
func (p *Plan) needsSecrets() error {
	for i := range p.Changes {
		c := &p.Changes[i]
		properties := map[string]any{}
		switch {
		case c.Desired != nil:
			properties = c.Desired.Properties
		case c.Prior != nil:
			properties = c.Prior.Properties
		}
		var fields []string
		for field, value := range properties {
			if secret(value) {
				fields = append(fields, field)
			}
		}
		if len(fields) > 0 {
			return refused("%s.%s reads a secret, and this engine has no secret provider; give the value in another way",
				c.NodeID, slices.Min(fields))
		}
	}
	if p.Compilation != nil {
		for _, o := range p.Compilation.Outputs {
			if secret(o.Value) {
				return refused("the output '%s' reads a secret, and this engine has no secret provider; remove it", o.Key)
			}
		}
	}
	return nil
}

// needsEarlyDestroy finds a destroy-first replace with a recorded dependent that goes in
// the same run: the dependent would have to be destroyed before it (EX-42).
func (p *Plan) needsEarlyDestroy() error {
	replaced := map[string]*Change{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action == Replace && !c.CreateBeforeDestroy {
			replaced[c.NodeID] = c
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.destroys() {
			continue
		}
		for _, up := range c.recordedEdges() {
			if replaced[up] == nil || up == c.NodeID {
				continue
			}
			return refused("%s is replaced, and %s, which was made from it, goes in the same run and would have to go first; %s",
				up, c.NodeID, wayOut(c, replaced[up]))
		}
	}
	return nil
}

// wayOut says what to do about a dependent that goes with its upstream. An interrupted
// replace stays one until it is finished, whatever the config says of the upstream.
func wayOut(c, up *Change) string {
	switch {
	case up.PendingDestroy != nil:
		return "that replace was interrupted and has to be finished first: apply with " + c.NodeID + " as it was, then change it"
	case c.Desired == nil:
		return "apply the removal of " + c.NodeID + " with " + up.NodeID + " unchanged, then the change of " + up.NodeID
	default:
		return "take " + c.NodeID + " out of the config and apply, change " + up.NodeID + " and apply, then put it back"
	}
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
	if p.schemas == nil {
		return nil
	}
	declared := map[string]string{} // type and address → node
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Desired != nil {
			if address, ok := p.address(c.Desired.Type, c.Desired.Properties); ok {
				declared[address] = c.NodeID
			}
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
					"keep the name, or apply with only one of them at a time", c.NodeID, other)
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
