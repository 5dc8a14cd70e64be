package plan

import (
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Unsupported is the user error of a plan that this engine cannot run as it was
// planned; it names the node and a way out. Ask before taking a lock: such a plan is
// never approximated.
func (p *Plan) Unsupported() error {
	if err := p.needsPolicies(); err != nil {
		return err
	}
	if err := p.needsSecrets(); err != nil {
		return err
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
	return p.needsEarlyDestroy()
}

func refused(format string, args ...any) error {
	return model.Errorf(model.AtlantideError, model.ClassUser, format, args...)
}

func firstOf(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
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
	replaced := map[string]bool{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action == Replace && !c.CreateBeforeDestroy {
			replaced[c.NodeID] = true
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
			if !replaced[up] || up == c.NodeID {
				continue
			}
			return refused("%s is replaced, and %s, which was made from it, goes in the same run and would have to go first; %s",
				up, c.NodeID, wayOut(c, up))
		}
	}
	return nil
}

func wayOut(c *Change, up string) string {
	if c.Desired == nil {
		return "apply the removal of " + c.NodeID + " with " + up + " unchanged, then the change of " + up
	}
	return "take " + c.NodeID + " out of the config and apply, change " + up + " and apply, then put it back"
}

// recordedEdges are what the recorded halves of the change depend on.
func (c *Change) recordedEdges() []string {
	var edges []string
	if c.Prior != nil {
		edges = slices.Concat(c.Prior.Dependencies, c.Prior.DependsOn)
	}
	if c.PendingDestroy != nil {
		edges = slices.Concat(edges, c.PendingDestroy.Row.Dependencies, c.PendingDestroy.Row.DependsOn)
	}
	slices.Sort(edges)
	return edges
}
