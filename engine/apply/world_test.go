package apply_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// object is something that exists in the world.
type object struct{ ID, Node, Attempt, Key, Value string }

// cloud is how a provider finds what it made.
type cloud int

const (
	byToken   cloud = iota // by its id, or by the attempt that made it
	byName                 // by the name that the inputs give it
	byNothing              // by its id alone: a create whose answer is lost is lost
)

// world is a provider and what it made.
type world struct {
	kind    cloud
	mu      sync.Mutex
	objects map[string]*object
	next    int
	calls   []string // "op name", in the order in which they started
	// before runs in a call before it does anything; an error fails the call.
	before   func(ctx context.Context, op string, r *model.Request) error
	password string // that a read finds
	// outputs replaces what a create returns.
	outputs func(r *model.Request) (model.Outputs, error)
}

func newWorld() *world { return &world{objects: map[string]*object{}, password: "changed"} }

func (w *world) enter(ctx context.Context, op string, r *model.Request) error {
	w.mu.Lock()
	w.calls = append(w.calls, op+" "+r.Node.Name)
	w.mu.Unlock()
	if w.before == nil {
		return nil
	}
	return w.before(ctx, op, r)
}

// find is the object that a request is about.
func (w *world) find(r *model.Request) *object {
	if w.kind == byName {
		return w.objects[w.name(r)]
	}
	if r.Prior != nil {
		if id, ok := r.Prior.Outputs["id"].(string); ok && w.objects[id] != nil {
			return w.objects[id]
		}
	}
	for _, o := range w.objects {
		if w.kind == byToken && o.Node == r.Node.ID && o.Attempt == r.Attempt && r.Attempt != "" {
			return o
		}
	}
	return nil
}

// name is the id of an object that its inputs name.
func (w *world) name(r *model.Request) string {
	if key, ok := r.Inputs["key"].(string); ok {
		return "<" + r.Node.Name + "/" + key + ">"
	}
	if r.Prior != nil {
		id, _ := r.Prior.Outputs["id"].(string)
		return id
	}
	return ""
}

func (w *world) set(o *object, r *model.Request) model.Outputs {
	o.Key, o.Value = r.Inputs["key"].(string), r.Inputs["value"].(string)
	return model.Outputs{"id": o.ID, "sum": "sum(" + o.Value + ")", "password": "secret"}
}

func (w *world) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "create", r); err != nil {
		return nil, err
	}
	if r.Node.Type == "test.Lookup" {
		return model.Outputs{"answer": "42"}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		w.next++
		o = &object{ID: fmt.Sprintf("id-%d", w.next), Node: r.Node.ID, Attempt: r.Attempt}
		if w.kind == byName {
			o.ID = w.name(r)
		}
		w.objects[o.ID] = o
	}
	outputs := w.set(o, r)
	if w.outputs != nil {
		return w.outputs(r)
	}
	return outputs, nil
}

func (w *world) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := w.enter(ctx, "update", r); err != nil {
		return nil, err
	}
	if r.Node.Type == "test.Lookup" {
		return model.Outputs{"answer": "42"}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		return nil, errors.New("not found")
	}
	outputs := w.set(o, r)
	delete(outputs, "password") // the engine lays outputs over the recorded ones
	return outputs, nil
}

func (w *world) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	if err := w.enter(ctx, "read", r); err != nil {
		return nil, false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.find(r)
	if o == nil {
		return nil, false, nil
	}
	return model.Observed{"key": o.Key, "id": o.ID, "sum": "sum(" + o.Value + ")", "password": w.password}, true, nil
}

func (w *world) Delete(ctx context.Context, r *model.Request) error {
	if err := w.enter(ctx, "delete", r); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.find(r); o != nil {
		delete(w.objects, o.ID)
	}
	return nil
}

// things lists what exists as name → "key=value", and complains of two for one node. The
// id of something that exists reads as "id(name)".
func (w *world) things(t rapid.TB) map[string]string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(w.objects), func(a, b string) int { return len(b) - len(a) })
	var names []string
	for _, id := range ids {
		names = append(names, id, "id("+model.LocalName(w.objects[id].Node)+")")
	}
	named := strings.NewReplacer(names...)
	found := map[string]string{}
	for _, o := range w.objects {
		name := model.LocalName(o.Node)
		if other, twice := found[name]; twice {
			t.Errorf("two things of node %s exist: %s and %s=%s", name, other, o.Key, o.Value)
		}
		found[name] = named.Replace(o.Key + "=" + o.Value)
	}
	return found
}
