package apply_test

import (
	"context"
	"sync"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// world is a cloud with what tests do to the calls that it gets.
type world struct {
	*applytest.Cloud
	mu    sync.Mutex
	calls []string // "op name", in the order in which they started
	// before runs in a call before it does anything; an error fails the call.
	before   func(ctx context.Context, op string, r *model.Request) error
	password string // that a read finds
	// outputs replaces what a create returns.
	outputs func(r *model.Request) (model.Outputs, error)
}

func newWorld() *world { return &world{Cloud: applytest.NewCloud(), password: "changed"} }

func (w *world) enter(ctx context.Context, op string, r *model.Request) error {
	w.mu.Lock()
	w.calls = append(w.calls, op+" "+r.Node.Name)
	w.mu.Unlock()
	if w.before == nil {
		return nil
	}
	return w.before(ctx, op, r)
}

func (w *world) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "create", r); err != nil {
		return nil, err
	}
	outputs, err := w.Cloud.Create(ctx, r)
	if err == nil && w.outputs != nil && r.Node.Type != applytest.Lookup {
		return w.outputs(r)
	}
	return outputs, err
}

func (w *world) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "update", r); err != nil {
		return nil, err
	}
	return w.Cloud.Update(ctx, r)
}

func (w *world) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	if err := w.enter(ctx, "read", r); err != nil {
		return nil, false, err
	}
	live, found, err := w.Cloud.Read(ctx, r)
	if found {
		live["password"] = w.password
	}
	return live, found, err
}

func (w *world) Delete(ctx context.Context, r *model.Request) error {
	if err := w.enter(ctx, "delete", r); err != nil {
		return err
	}
	return w.Cloud.Delete(ctx, r)
}

// things lists what exists as name → "key=value", and complains of two for one node. The
// id of something that exists reads as "id(name)".
func (w *world) things(t rapid.TB) map[string]string {
	t.Helper()
	things, double := w.Things()
	for _, node := range double {
		t.Errorf("two things exist of %s", node)
	}
	return things
}
