package plan

import (
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Input is what a plan is made from.
type Input struct {
	Compilation *ir.Compilation
	Graph       *graph.Graph // of Compilation.Document; nil = built here
	Snapshot    *state.Snapshot
	Schemas     *model.Schemas
	OnFailure   string
	// PlainSecrets allows a run to record what is sensitive as plain text. Without it a
	// plan that would is unsupported, as nothing is sealed.
	PlainSecrets bool
}

// New makes a plan (engine.md 3.1). The first stage that objects ends it; nothing is
// written and no provider is called.
func New(in Input) (*Plan, error) {
	if err := coversEveryEnvironment(in.Compilation); err != nil {
		return nil, err
	}
	if in.Graph == nil {
		g, err := graph.Build(in.Compilation.Document.Edges())
		if err != nil {
			return nil, err
		}
		in.Graph = g
	}
	changes, err := Diff(DiffInput{
		Document: in.Compilation.Document,
		Hashes:   in.Compilation.Hashes,
		Graph:    in.Graph,
		Snapshot: in.Snapshot,
		Schemas:  in.Schemas,
	})
	if err != nil {
		return nil, err
	}
	warnings, err := guard(changes)
	if err != nil {
		return nil, err
	}
	if err := requireStackOutputs(changes, in.Snapshot.Outputs); err != nil {
		return nil, err
	}
	fallbacks, err := dropCollisions(changes, in.Graph, in.Schemas)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Changes:      changes,
		Compilation:  in.Compilation,
		Graph:        in.Graph,
		Snapshot:     in.Snapshot,
		OnFailure:    in.OnFailure,
		Outputs:      outputChanges(in.Compilation, changes, in.Snapshot),
		Warnings:     append(warnings, fallbacks...),
		schemas:      in.Schemas,
		plainSecrets: in.PlainSecrets,
	}, nil
}

// coversEveryEnvironment refuses a compilation of some environments only: what the
// others own is not in it and would be planned for deletion.
func coversEveryEnvironment(c *ir.Compilation) error {
	if len(c.EnvsSelected) == len(c.EnvsDeclared) {
		return nil
	}
	return model.Errorf(model.TargetError, model.ClassUser,
		"only the environments %s of %s are selected, and a plan covers all of them; plan without a selection",
		strings.Join(c.EnvsSelected, ", "), strings.Join(c.EnvsDeclared, ", "))
}

// Destroy plans the deletion of everything that is recorded, from state alone (RF-17).
// Only the guards of the rows hold it back.
func Destroy(snapshot *state.Snapshot, schemas *model.Schemas) (*Plan, error) {
	changes, err := Diff(DiffInput{Snapshot: snapshot, Schemas: schemas})
	if err != nil {
		return nil, err
	}
	if _, err := guard(changes); err != nil {
		return nil, err
	}
	return &Plan{
		Changes:   changes,
		Snapshot:  snapshot,
		OnFailure: OnFailureHalt,
		Outputs:   outputChanges(nil, changes, snapshot),
		schemas:   schemas,
	}, nil
}
