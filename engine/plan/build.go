package plan

import (
	"errors"
	"slices"

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
	// Targets and Replace are patterns (GR-19): what the plan is narrowed to with all that
	// it depends on, nothing = everything; and what is replaced whatever it looks like. An
	// environment that the compilation left out is never planned.
	Targets []string
	Replace []string

	Secrets  Secrets
	Policies PolicyChecker // nil = a config that enforces any is Unsupported
	// PlainSecrets allows a run to record what is sensitive as plain text. Without it a
	// plan that would is unsupported, as nothing is sealed.
	PlainSecrets bool
	// Seals: a run of the plan records what is sensitive encrypted.
	Seals bool
}

// New makes a plan (engine.md 3.1). The first stage that objects ends it; nothing is
// written and no provider is called. A plan that would destroy what is protected is
// returned beside its PreventDestroyError: it can be shown, and must not be run.
func New(in Input) (*Plan, error) {
	if in.Graph == nil {
		g, err := graph.Build(in.Compilation.Document.Edges())
		if err != nil {
			return nil, err
		}
		in.Graph = g
	}
	snapshot, moves, err := migrate(&in)
	if err != nil {
		return nil, err
	}
	chosen, err := newSelection(&in, snapshot)
	if err != nil {
		return nil, err
	}
	d, err := newDiffer(DiffInput{
		Document: in.Compilation.Document,
		Hashes:   in.Compilation.Hashes,
		Graph:    in.Graph,
		Snapshot: snapshot,
		Schemas:  in.Schemas,
		Force:    chosen.force,
		Digests:  in.Secrets.Digests,
		Unsealer: in.Secrets.Unsealer,

		SkipSecrets: in.Secrets.Skip,
	})
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Compilation:    in.Compilation,
		Graph:          in.Graph,
		Snapshot:       snapshot,
		Moves:          moves,
		Targets:        in.Targets,
		Replace:        in.Replace,
		Excluded:       chosen.excluded,
		OnFailure:      in.OnFailure,
		SecretsSkipped: in.Secrets.Skip,
		schemas:        in.Schemas,
		plainSecrets:   in.PlainSecrets,
		seals:          in.Seals,
		resolves:       in.Secrets.Resolve != nil && !in.Secrets.Skip,
		unsealer:       in.Secrets.Unsealer,
	}
	err = p.judge(&in, d, chosen)
	if err != nil && p.Refused == nil {
		return nil, err
	}
	p.selected = chosen.count(p.Changes)
	p.Outputs = outputChanges(p, chosen)
	return p, err
}

// judge is the pipeline from the diff on, in the order of engine.md 3.1. The guard is
// asked before the audit, since what it refuses needs no secret, and again after what
// the audit brought about (PL-5a).
func (p *Plan) judge(in *Input, d *differ, chosen *selection) error {
	p.Changes = d.result()
	chosen.restrict(p.Changes)
	deferred, err := p.guarded()
	if err != nil {
		return err
	}
	a := audit{Secrets: in.Secrets, outputs: p.Snapshot.Outputs, former: p.Moves.former()}
	if err := a.run(p.Changes); err != nil {
		return err
	}
	if len(a.rotated) > 0 {
		d.rotate(a.rotated)
		p.Changes = d.result()
		chosen.restrict(p.Changes)
		if deferred, err = p.guarded(); err != nil {
			return err
		}
	}
	if err := requireSecrets(p.Changes, in.Secrets); err != nil {
		return err
	}
	if err := requireStackOutputs(p.Changes, p.Snapshot.Outputs, in.Compilation); err != nil {
		return err
	}
	fallbacks, err := dropCollisions(p.Changes, in.Compilation.Document, in.Graph, in.Schemas)
	if err != nil {
		return err
	}
	p.findLeaks(in.Secrets)
	p.Warnings = slices.Concat(deferred, a.warnings(), fallbacks, absentOutputs(in.Compilation, p.Snapshot.Outputs), p.leakWarnings())
	return p.evaluate(in.Policies)
}

// guarded asks the guards, and notes a refusal.
func (p *Plan) guarded() (warnings []string, err error) {
	warnings, err = guard(p.Changes)
	if err != nil {
		p.Refused, _ = errors.AsType[*model.Error](err)
	}
	return warnings, err
}

// Destroy plans the deletion of everything that is recorded, from state alone (RF-17).
// Only the guards of the rows hold it back. The secrets tell what is warned of from what a
// run finds with them; without any there is more to warn of.
func Destroy(snapshot *state.Snapshot, schemas *model.Schemas, secrets Secrets) (*Plan, error) {
	return DestroyTargets(snapshot, schemas, nil, secrets)
}

// DestroyTargets plans the deletion of what the patterns match and of everything that was
// recorded to depend on it (GR-26); no pattern = of everything. A refused plan is
// returned beside its error, as by New.
func DestroyTargets(snapshot *state.Snapshot, schemas *model.Schemas, targets []string, secrets Secrets) (*Plan, error) {
	chosen, err := destroySelection(targets, snapshot)
	if err != nil {
		return nil, err
	}
	p := &Plan{Snapshot: snapshot, OnFailure: OnFailureHalt, Targets: targets, schemas: schemas}
	if p.Changes, err = Diff(DiffInput{Snapshot: snapshot, Schemas: schemas}); err != nil {
		return nil, err
	}
	chosen.restrict(p.Changes)
	p.selected = chosen.count(p.Changes)
	p.Outputs = outputChanges(p, chosen)
	p.findLeaks(secrets)
	p.Warnings = p.leakWarnings()
	_, err = p.guarded()
	return p, err
}
