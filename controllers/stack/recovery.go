package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// surveyTimeout bounds the reads of a survey; the run behind it does not wait for ever.
const surveyTimeout = 5 * time.Minute

// survey reads, under a lock that was taken over, what a run that never gave it back has
// left, and tells of it before anything is changed (LS-17). It changes nothing, and no run
// depends on it: what could not be read is part of what is told.
func (r *Reconciler) survey(ctx context.Context, sc *scope, handle lease.Handle, from string) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	go func() { // a survey of somebody else's Stack is of no use
		select {
		case <-handle.Lost():
			cancel()
		case <-ctx.Done():
		}
	}()
	text := "took over from a run that ended without a word; "
	if from != "" {
		text = "took over from '" + cut(from, 128) + "', which ended without giving the lock back; "
	}
	snapshot, err := r.Store.Load(ctx, sc.partition())
	if err != nil {
		text += "what it left is not known: " + err.Error()
	} else {
		drift, err := r.Engine.Refresh(ctx, engine.RefreshRequest{
			Snapshot: snapshot, Owner: sc.owner(), Secrets: sc.secrets(), Parallelism: parallelism(&sc.stack.Spec),
		})
		text += leftBehind(snapshot, drift, err)
	}
	sc.survey = bounded(text)
	ctrl.LoggerFrom(ctx).Info("took over a lock that was not given back", "from", from, "epoch", handle.Fence().Epoch, "found", sc.survey)
	r.emit(sc.stack, &notice{eventWarning, v1alpha1.EventTakenOver, "Apply", sc.survey})
}

// leftBehind says what was in flight when a run ended without a word, and what in the
// world is not as it was recorded.
func leftBehind(recorded *state.Snapshot, found *apply.Drift, err error) string {
	unfinished := slices.Collect(maps.Keys(recorded.Pending))
	for id, row := range recorded.Rows {
		if row.Status != state.StatusCreated && recorded.Pending[id] == nil {
			unfinished = append(unfinished, id)
		}
	}
	var drifted, missing []string
	if found != nil {
		for i := range found.Nodes {
			switch n := &found.Nodes[i]; {
			case slices.Contains(unfinished, n.NodeID):
			case n.Kind == apply.Drifted:
				drifted = append(drifted, n.NodeID)
			case n.Kind == apply.Missing:
				missing = append(missing, n.NodeID)
			}
		}
	}
	var parts []string
	for _, p := range []struct {
		what string
		ids  []string
	}{{"in flight", unfinished}, {"not as recorded", drifted}, {"missing", missing}} {
		if len(p.ids) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s: %s", countedAre(len(p.ids), "resource"), p.what, listed(p.ids)))
		}
	}
	if len(parts) == 0 && err == nil {
		return "all that is recorded is as it was recorded"
	}
	if err != nil {
		parts = append(parts, "not all could be read: "+err.Error())
	}
	return strings.Join(parts, "; ")
}

// Under a lock an API server that is away is waited for: the lock itself ends when it is
// away for too long.
const (
	headTimeout = 5 * time.Second // of one try
	headDelay   = time.Second     // between two
)

// checkHeadLocked is checkHead under the lock. A head that cannot be read refuses (AP-15),
// but not before the lock is lost: an outage that a renewal survives ends no run.
func (r *Reconciler) checkHeadLocked(ctx context.Context, n *run) error {
	for {
		try, cancel := context.WithTimeout(ctx, headTimeout)
		err := r.checkHead(try, n)
		cancel()
		if err == nil || model.ClassOf(err) != model.ClassTransient || model.IsKind(err, model.PlanDriftError) {
			return err
		}
		timer := time.NewTimer(headDelay)
		select {
		case <-timer.C:
			continue
		case <-ctx.Done():
			err = orInterrupted(ctx, err)
		case <-n.lock.handle.Lost():
			err = n.lock.handle.Check()
		}
		timer.Stop()
		return err
	}
}

// orInterrupted is the error of a gate that could not look. If the run was told to end, that
// is why: who ends it would otherwise find a failure, and not a run that is handed over.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || model.ClassOf(err) == model.ClassUser || model.IsKind(err, model.PlanDriftError) ||
		model.IsKind(err, model.LeaseLostError) || model.IsKind(err, model.FencedWriteError) {
		return err
	}
	return model.Errorf(model.InterruptedRunError, model.ClassUnknown,
		"the run was interrupted before its next phase; what was done is recorded, plan again to see what is left: %w", context.Cause(ctx))
}
