package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// meeting is a provider whose creates wait for each other.
type meeting struct {
	providers.Provider
	expected int32
	arrived  *atomic.Int32
	all      chan struct{}
}

func (m meeting) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if m.arrived.Add(1) == m.expected {
		close(m.all)
	}
	select {
	case <-m.all:
		return m.Provider.Create(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
}
