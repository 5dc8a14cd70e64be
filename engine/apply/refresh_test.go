package apply_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func (b *bench) refresh(ctx context.Context) (*apply.Drift, error) {
	b.Helper()
	return b.refresher().Run(ctx, b.snapshot())
}

func (b *bench) refresher() *apply.Refresh {
	return &apply.Refresh{
		Provider: func(string) (apply.Provider, bool) { return b.world, true }, Schemas: schemas(b),
		Parallelism: 2, NodeTimeout: time.Minute, DrainGrace: time.Second,
	}
}

func TestRefresh(t *testing.T) {
	b := newBench(t)
	b.adjust = func(r *apply.Run) { r.Parallelism = 1 }
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "sum")), thing("c", "k", "1")})
	b.world.Objects["id-2"].Value = "tampered"
	delete(b.world.Objects, "id-3")
	before := b.snapshot()
	drift, err := b.refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hidden := apply.FieldDrift{State: "(sensitive)", Live: "(sensitive)"}
	want := &apply.Drift{Drift: true, Nodes: []apply.NodeDrift{
		{NodeID: idA, Kind: apply.Drifted, Observed: []string{"key"}, Unobserved: []string{"value"},
			Changed: map[string]apply.FieldDrift{"password": hidden}},
		{NodeID: idB, Kind: apply.Drifted, Observed: []string{"key"}, Unobserved: []string{"value"},
			Changed: map[string]apply.FieldDrift{"password": hidden, "sum": {State: "sum(sum(1))", Live: "sum(tampered)"}}},
		{NodeID: "s:test.Thing:c", Kind: apply.Missing, Changed: map[string]apply.FieldDrift{}, Observed: []string{}, Unobserved: []string{}},
	}}
	if diff := cmp.Diff(want, drift); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, b.snapshot()); diff != "" {
		t.Errorf("a refresh wrote (-before +after):\n%s", diff)
	}
}

func TestRefreshCollectsFailedReads(t *testing.T) {
	b := newBench(t)
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", "1"), thing("c", "k", "1")})
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		if r.Node.Name == "c" {
			return nil
		}
		return errors.New("denied")
	}
	drift, err := b.refresh(t.Context())
	e := failureOf(t, err, model.ProviderError, "test read of 'test.Thing' failed: denied")
	if e.NodeID != idA || e.Op != "read" || len(e.AlsoFailed) != 1 || e.AlsoFailed[0].NodeID != idB {
		t.Errorf("error %+v with %v", e, e.AlsoFailed)
	}
	if len(drift.Nodes) != 1 || drift.Nodes[0].NodeID != "s:test.Thing:c" {
		t.Errorf("what could be read is missing: %+v", drift.Nodes)
	}
}

func TestRefreshReadTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		b.world.before = func(ctx context.Context, _ string, _ *model.Request) error {
			<-ctx.Done()
			return ctx.Err()
		}
		_, err := b.refresh(t.Context())
		wantError(t, err, model.ProviderError, "did not finish within 1m0s")
	})
}
