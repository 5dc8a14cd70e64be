package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Plan compares a compilation with a snapshot and lets every provider look at what is
// declared of its types. No provider is called otherwise, nothing is written. A plan that
// would destroy what is protected is returned beside its error, to be shown (PL-1).
func (e *Engine) Plan(ctx context.Context, req PlanRequest) (*plan.Plan, error) {
	if err := e.validate(ctx, req.Compilation.Document, req.Owner, req.Compilation.Source); err != nil {
		return nil, req.Compilation.Located(err)
	}
	in := plan.Input{
		Compilation:  req.Compilation,
		Snapshot:     req.Snapshot,
		Schemas:      e.Registry.Schemas(),
		OnFailure:    req.OnFailure,
		Targets:      req.Targets,
		Replace:      req.Replace,
		Policies:     e.policies(ctx, req.Policies),
		PlainSecrets: e.PlainSecrets,
	}
	switch {
	case req.SkipSecrets:
		in.Secrets.Skip = true
	case req.Secrets != nil:
		in.Secrets, in.Seals = secretsForPlan(ctx, req.Secrets), req.Secrets.Seals()
	}
	p, err := plan.New(in)
	return p, req.Compilation.Located(err)
}

// secretsForPlan is what planning uses of secrets; nil = none.
func secretsForPlan(ctx context.Context, s Secrets) plan.Secrets {
	if s == nil {
		return plan.Secrets{}
	}
	return plan.Secrets{
		Resolve: func(ref model.SecretRef) (string, error) { return s.Resolve(ctx, ref) },
		Digests: s, Unsealer: s,
	}
}

// PlanDestroy plans the deletion of everything that a snapshot records (RF-17); it is
// the plan that Destroy makes under its lock. secrets are those of DestroyRequest.
func (e *Engine) PlanDestroy(ctx context.Context, snapshot *state.Snapshot, secrets Secrets) (*plan.Plan, error) {
	return plan.Destroy(snapshot, e.Registry.Schemas(), secretsForPlan(ctx, secrets))
}

// PlanDestroyTargets is PlanDestroy of what the patterns match and of all that was recorded
// to depend on it (GR-26).
func (e *Engine) PlanDestroyTargets(ctx context.Context, snapshot *state.Snapshot, targets []string, secrets Secrets) (*plan.Plan, error) {
	return plan.DestroyTargets(snapshot, e.Registry.Schemas(), targets, secretsForPlan(ctx, secrets))
}

// validate hands each provider all of its declared nodes at once, in id order.
func (e *Engine) validate(ctx context.Context, doc *ir.Document, owner string, source fs.FS) error {
	nodes := map[string][]*model.Request{}
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		nodes[n.Provider] = append(nodes[n.Provider], &model.Request{Node: model.NodeOf(n.ID), Owner: owner, Inputs: n.Properties, Source: source})
	}
	names := make([]string, 0, len(nodes))
	for name := range nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		provider, ok := e.Registry.Provider(name)
		if !ok {
			return model.Errorf(model.ProviderError, model.ClassUser, "no provider registered for '%s', which %s needs", name, nodes[name][0].Node.ID)
		}
		err := provider.Validate(ctx, nodes[name])
		var typed *model.Error
		if err != nil && !errors.As(err, &typed) {
			err = model.Errorf(model.ProviderError, model.ClassUser, "provider '%s' refuses the plan: %w", name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runnable refuses a plan that must not or cannot be run as it stands. It is asked
// before the lock is taken, and again under it (engine.md 4.1).
func runnable(p *plan.Plan) error {
	if p.Blocked {
		return model.Errorf(model.PolicyViolationError, model.ClassUser, "a mandatory policy objects to the plan: %s", objections(p))
	}
	return p.Unsupported()
}

// objections are the first of them; the plan lists all.
func objections(p *plan.Plan) string {
	var texts []string
	for _, v := range p.Violations {
		if v.Level == plan.LevelMandatory {
			texts = append(texts, v.Policy+": "+v.Message)
		}
	}
	return model.Listed(texts, "; ")
}

// expected compares a plan with the digest that was approved. shown is the plan that
// may have been approved; it makes the error say what differs.
func expected(digest string, shown, fresh *plan.Plan) error {
	if digest == "" {
		return nil
	}
	now, err := fresh.ChangesetDigest()
	if err != nil || now == digest {
		return err
	}
	if was, err := shown.ChangesetDigest(); err == nil && was == digest {
		if err := plan.Drift(shown, fresh); err != nil {
			return err
		}
	}
	return model.Errorf(model.PlanDriftError, model.ClassUser,
		"the plan is not the one that was approved: its digest is %s, the approved one is %.80s; nothing was done, plan again and approve the new digest", now, digest)
}
