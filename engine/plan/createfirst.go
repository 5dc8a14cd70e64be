package plan

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// createFirst flags the replaces that create before they destroy: those of the nodes
// that declare it and of everything these depend on, over all edges. Otherwise the old
// half of an upstream would go while a kept dependent still uses it (DF-30). A replace
// that is being finished keeps the mode it began in (EX-13).
func createFirst(changes []Change, g *graph.Graph) {
	if g == nil {
		return
	}
	var declared []string
	for i := range changes {
		if n := changes[i].Desired; n != nil && n.CreateBeforeDestroy {
			declared = append(declared, n.ID)
		}
	}
	if len(declared) == 0 {
		return
	}
	first := g.Closure(declared, false)
	for i := range changes {
		c := &changes[i]
		if c.Action != Replace || c.PendingDestroy != nil {
			continue
		}
		_, found := slices.BinarySearch(first, c.NodeID)
		c.CreateBeforeDestroy = found
	}
}

// makeCertain takes the condition from every replace one of whose changed immutable
// fields refers to a node that is replaced destroy-first: it has to go before that
// node does, so its replace cannot wait for a judgement (DF-31). One that is made first never
// goes early: it may stand behind a replace that is finished in the mode it began in.
func makeCertain(changes []Change, schemas *model.Schemas) {
	goes := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if c.Action == Replace && !c.CreateBeforeDestroy {
			goes[c.NodeID] = true
		}
	}
	for i := range changes {
		c := &changes[i]
		if !c.Conditional || c.CreateBeforeDestroy {
			continue
		}
		for _, field := range immutableFields(schemaOf(schemas, c.Desired.Type), c.ChangedFields) {
			refs := model.References(c.Desired.Properties[field])
			if slices.ContainsFunc(refs, func(r model.Reference) bool { return goes[r.NodeID] }) {
				c.Conditional = false
			}
		}
	}
}

// dropCollisions turns every create-first replace whose two halves would bear one
// identity into a destroy-first one, with a warning; where another node that declares
// create-before-destroy needs it, there is no safe order and the plan fails (PL-11).
func dropCollisions(changes []Change, doc *ir.Document, g *graph.Graph, schemas *model.Schemas) (warnings []string, err error) {
	for i := range changes {
		c := &changes[i]
		if c.Action != Replace || !c.CreateBeforeDestroy || c.PendingDestroy != nil || !collides(c, schemas) {
			continue
		}
		for _, dependent := range g.Closure([]string{c.NodeID}, true) {
			if dependent != c.NodeID && doc.Node(dependent).CreateBeforeDestroy {
				return nil, model.Errorf(model.AtlantideError, model.ClassUser,
					"the replacement of %s would keep its name, so it cannot be created before the old one is destroyed, "+
						"and %s, which depends on it, declares create_before_destroy; give %s a new physical name or drop the flag",
					c.NodeID, dependent, c.NodeID)
			}
		}
		c.CreateBeforeDestroy = false
		warnings = append(warnings, fmt.Sprintf(
			"%s: create_before_destroy is not possible because the replacement would keep its name; it is destroyed first", c.NodeID))
	}
	makeCertain(changes, schemas)
	return warnings, nil
}

// collides reports whether old and new half of a replace would bear one identity.
func collides(c *Change, schemas *model.Schemas) bool {
	schema := schemaOf(schemas, c.Desired.Type)
	if schema != nil {
		for i := range schema.Fields {
			f := &schema.Fields[i]
			if f.PhysicalName {
				have, ok := c.Prior.Properties[f.Name]
				return ok && ir.Equal(have, c.Desired.Properties[f.Name])
			}
		}
	}
	return len(immutableFields(schema, c.ChangedFields)) == 0
}
