package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// meeting is a provider whose creates and reads wait for each other.
type meeting struct {
	providers.Provider
	expected int32
	arrived  *atomic.Int32
	all      chan struct{}
}

// wait returns when as many calls as are expected are under way.
func (m meeting) wait(ctx context.Context) error {
	if m.arrived.Add(1) == m.expected {
		close(m.all)
	}
	select {
	case <-m.all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m meeting) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := m.wait(ctx); err != nil {
		return nil, err
	}
	return m.Provider.Create(ctx, r)
}

func (m meeting) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	if err := m.wait(ctx); err != nil {
		return nil, false, err
	}
	return m.Provider.Read(ctx, r)
}

// A request says how many nodes are at work at once; the engine's number is for those that
// do not.
func TestParallelismOfARequest(t *testing.T) {
	d := newDesk(t)
	d.policy = meeting{d.policy, 3, &atomic.Int32{}, make(chan struct{})}
	d.build() // one at once
	d.engine.NodeTimeout = 20 * time.Second
	request := d.request(`File("a", path="a")
File("b", path="b")
File("c", path="c")`)
	request.Parallelism = 3
	if _, err := d.engine.Apply(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	d.wantFiles(map[string]string{"a": "", "b": "", "c": ""})

	m := d.policy.(meeting)
	d.policy = meeting{m.Provider, 3, &atomic.Int32{}, make(chan struct{})}
	d.build()
	d.engine.NodeTimeout = 20 * time.Second
	drift, err := d.engine.Refresh(t.Context(), engine.RefreshRequest{Snapshot: d.snapshot(), Owner: owner, Parallelism: 3})
	if err != nil || len(drift.Nodes) != 3 {
		t.Errorf("%+v, %v", drift, err)
	}
}
