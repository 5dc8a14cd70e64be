package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// order is what a process is told to do, on its standard input.
type order struct {
	DSN       string
	DataRoot  string
	Partition string
	Config    string // "" = destroy what is recorded, from state alone
	KillAt    int    // the step at which the process kills itself, from 1; 0 = never
	Omit      string // what the store loses on purpose

	Cloud    string         // the file of a cloud; "" = there is none
	Secret   string         // the value of the secret that its configs read
	Fate     applytest.Fate // what happens to the run in a call for a node
	Rollback bool           // what a run that fails does, else it halts
}

// What a store may lose, to prove that the tests see it.
const (
	omitPending    = "pending destroys"
	omitWriteAhead = "rows written ahead"
	omitPoison     = "marks on rows that are about to change"
	omitAttempts   = "attempts"
)

const namespace = "team-a"

func (o order) owner() string { return namespace + "/" + o.Partition }

// operate is the whole life of a process with a role: one run, its steps on standard
// output as they are reached.
func operate(in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := openStore(ctx, o.DSN)
	if err != nil {
		return err
	}
	defer store.Close()
	lines := json.NewEncoder(out)
	return o.run(ctx, store, &steps{killAt: o.KillAt, tell: func(s step) error { return lines.Encode(s) }})
}

func openStore(ctx context.Context, dsn string) (*postgres.Store, error) {
	return postgres.Open(ctx, dsn, postgres.Options{Installation: "e2e"})
}

// run is one apply, or one destroy, as the operator makes it.
func (o order) run(ctx context.Context, store *postgres.Store, s *steps) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e, err := o.engine(s, cancel)
	if err != nil {
		return err
	}
	session, err := o.session()
	if err != nil {
		return err
	}
	stepped := steppedStore{Store: store, steps: s, omit: o.Omit}
	lock := takeover{store, o.Partition}
	if o.Config == "" {
		_, err := e.Destroy(ctx, engine.DestroyRequest{Partition: o.Partition, Store: stepped, Locker: lock, Owner: o.owner(), Secrets: session})
		return o.met(err)
	}
	compilation, err := e.Compile(ctx, engine.Source{Filename: "infra.py", Text: o.Config}, engine.CompileOptions{})
	if err != nil {
		return err
	}
	_, err = e.Apply(ctx, engine.ApplyRequest{
		Compilation: compilation, Partition: o.Partition, Store: stepped, Locker: lock,
		Owner: o.owner(), OnFailure: o.onFailure(), Secrets: session, Recorder: session.Recorder(),
	})
	return o.met(err)
}

func (o order) onFailure() string {
	if o.Rollback {
		return plan.OnFailureRollback
	}
	return plan.OnFailureHalt
}

// engine works on one node at a time, so that the steps of two equal runs are equal.
func (o order) engine(s *steps, cancel context.CancelCauseFunc) (*engine.Engine, error) {
	all := []providers.Provider{steppedProvider{local.NewTenants(o.DataRoot, local.Quota{}), s}}
	if o.Cloud != "" {
		c, err := openCloud(o.Cloud)
		if err != nil {
			return nil, err
		}
		all = append(all, steppedProvider{fated{c, o.Fate, cancel}, s})
	}
	registry, err := providers.NewRegistry(all...)
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Registry: registry, Parallelism: 1, Now: time.Now, NewID: uuid.NewString}, nil
}

// step is the moment before or after one thing that a run does to the world or to what
// is recorded of it.
type step struct {
	Moment  string `json:"moment"` // before or after
	Action  string `json:"action"` // for people: "create out/note.txt"
	Op      string `json:"op"`     // commit, create, update or delete
	Path    string `json:"path"`   // of the file that a call is about
	Attempt string `json:"attempt"`
}

const (
	before = "before"
	after  = "after"
)

func (s step) String() string { return s.Moment + " " + s.Action }

// steps counts the steps of a process and ends it at one of them.
type steps struct {
	killAt int
	tell   func(step) error

	mu      sync.Mutex
	reached int
}

func (s *steps) around(action step, work func() error) error {
	if err := s.reach(before, action); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return s.reach(after, action)
}

func (s *steps) reach(moment string, x step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached++
	x.Moment = moment
	if err := s.tell(x); err != nil {
		return err
	}
	if s.reached != s.killAt {
		return nil
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {} // nothing happens between the signal and the end
}

// steppedStore makes every write a step. All else of the store is as it is, the check
// of the fence before a call too.
type steppedStore struct {
	*postgres.Store
	steps *steps
	omit  string
}

func (s steppedStore) Commit(ctx context.Context, partition string, fence model.Fence, batch state.Batch) error {
	action := step{Op: "commit", Action: "commit " + describe(batch)}
	switch s.omit {
	case omitPending:
		batch.PutPending = nil
	case omitWriteAhead:
		batch.PutRows = slices.DeleteFunc(slices.Clone(batch.PutRows), func(r *state.Row) bool { return r.Status == state.StatusCreating })
	case omitPoison:
		batch.PutRows = slices.DeleteFunc(slices.Clone(batch.PutRows), func(r *state.Row) bool { return r.InputHash == "" })
	case omitAttempts:
		rows := make([]*state.Row, len(batch.PutRows))
		for i, r := range batch.PutRows {
			rows[i] = r.Clone()
			rows[i].Attempt = ""
		}
		batch.PutRows = rows
	}
	return s.steps.around(action, func() error { return s.Store.Commit(ctx, partition, fence, batch) })
}

// describe names what a batch does, in one line without ids that differ between runs.
func describe(b state.Batch) string {
	var parts []string
	for _, r := range b.PutRows {
		status := r.Status
		if r.InputHash == "" {
			status += " unknown"
		}
		parts = append(parts, model.LocalName(r.ID)+" "+status)
	}
	for _, id := range b.DeleteRows {
		parts = append(parts, model.LocalName(id)+" gone")
	}
	for _, p := range b.PutPending {
		parts = append(parts, model.LocalName(p.NodeID)+plan.PendingSuffix+" pending")
	}
	for _, id := range b.DeletePending {
		parts = append(parts, model.LocalName(id)+plan.PendingSuffix+" gone")
	}
	if len(b.SetOutputs)+len(b.RemoveOutputs) > 0 {
		parts = append(parts, "outputs")
	}
	return strings.Join(parts, ", ")
}

// steppedProvider makes every changing call a step.
type steppedProvider struct {
	providers.Provider
	steps *steps
}

func (p steppedProvider) Create(ctx context.Context, r *model.Request) (outputs model.Outputs, err error) {
	err = p.steps.around(call("create", r), func() error {
		outputs, err = p.Provider.Create(ctx, r)
		return err
	})
	return outputs, err
}

func (p steppedProvider) Update(ctx context.Context, r *model.Request) (outputs model.Outputs, err error) {
	err = p.steps.around(call("update", r), func() error {
		outputs, err = p.Provider.Update(ctx, r)
		return err
	})
	return outputs, err
}

func (p steppedProvider) Delete(ctx context.Context, r *model.Request) error {
	return p.steps.around(call("delete", r), func() error { return p.Provider.Delete(ctx, r) })
}

// call describes a call by the file that it is about: a delete's is the recorded one. What
// is no file has the name of its node.
func call(op string, r *model.Request) step {
	path, ok := r.Inputs["path"].(string)
	if !ok {
		path = r.Node.Name
	}
	if op == "delete" && r.Prior != nil {
		if recorded, ok := r.Prior.Outputs["path"].(string); ok {
			path = recorded
		}
	}
	return step{Op: op, Action: op + " " + path, Path: path, Attempt: r.Attempt}
}

// takeover is the lock of a partition whose last holder is known to be dead: what a
// Lease's expiry tells an operator, the caller knows here. The fence is the real one.
type takeover struct {
	store     *postgres.Store
	partition string
}

func (l takeover) Acquire(ctx context.Context) (lease.Handle, error) {
	epoch, err := l.store.Mint(ctx, l.partition)
	if err != nil {
		return nil, err
	}
	fence := model.Fence{Epoch: epoch, Holder: fmt.Sprintf("process %d", os.Getpid())}
	return held{l, fence}, l.store.Claim(ctx, l.partition, fence, "lease of "+l.partition, int32(epoch))
}

type held struct {
	takeover
	fence model.Fence
}

func (h held) Fence() model.Fence  { return h.fence }
func (held) Check() error          { return nil }
func (held) Lost() <-chan struct{} { return nil }
func (h held) Release(ctx context.Context) error {
	return h.store.ClearHolder(ctx, h.partition, h.fence)
}
func (held) Abandon() {}
