package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// proposal is a plan of an object generation with a changeset digest, made by a
// planner that saw a record of the generation seen.
func proposal(seen, objectGeneration int64, digest string) *state.PlanRecord {
	return &state.PlanRecord{
		ID: uuid.NewString(), Generation: seen, Status: state.PlanPlanned,
		Head: state.Head{UID: "uid", Generation: objectGeneration, SourceKind: "configMap", SourceRef: "configs/main.py",
			Revision: "sha256:01", ArtifactDigest: "sha256:02"},
		InputsDigest: "sha256:03", PolicyDigest: "sha256:04", BaseSerial: 7, ChangesetDigest: digest,
		Body: []byte(`{"z":1, "a":1.0}`), Text: "+ s:local.File:a\n", Summary: state.PlanSummary{Create: 1, Destructive: true}, CreatedBy: "run-1",
	}
}

type planFixture struct {
	testing.TB
	*Store
	plans     Plans
	partition string
}

func newPlanFixture(t testing.TB) planFixture {
	s := open(t, devenv.Database(t))
	return planFixture{TB: t, Store: s, plans: s.Plans(), partition: newPartition(t, s)}
}

func (f planFixture) propose(p *state.PlanRecord) *state.PlanRecord {
	f.Helper()
	got, err := f.plans.Propose(f.Context(), f.partition, p)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

func (f planFixture) current() *state.PlanRecord {
	f.Helper()
	got, err := f.plans.Current(f.Context(), f.partition)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

func (f planFixture) advance(id string, from, to state.PlanStatus, fence *model.Fence) bool {
	f.Helper()
	ok, err := f.plans.Advance(f.Context(), f.partition, id, []state.PlanStatus{from}, to, "because", fence)
	if err != nil {
		f.Fatal(err)
	}
	return ok
}

func (f planFixture) recorded() (n int) {
	f.Helper()
	if err := f.pool.QueryRow(f.Context(), "select count(*) from plans where partition_id = $1", f.partition).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

func TestPlanRoundTrip(t *testing.T) {
	f := newPlanFixture(t)
	if got := f.current(); got != nil {
		t.Fatalf("before the first plan: %+v", got)
	}
	want := proposal(0, 1, "sha256:d1")
	written := f.propose(want)
	want.Generation, want.Hash, want.Created, want.Updated = 1, state.PlanHash(want.Body), written.Created, written.Updated
	if diff := cmp.Diff(want, f.current()); diff != "" || written.Created.IsZero() {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got := f.current(); state.PlanHash(got.Body) != got.Hash || !bytes.Equal(got.Body, want.Body) {
		t.Error("the body is not what was hashed")
	}
}

func TestProposalWithoutID(t *testing.T) {
	f := newPlanFixture(t)
	p := proposal(0, 1, "d1")
	p.ID = ""
	if got := f.propose(p); uuid.Validate(got.ID) != nil || f.current().ID != got.ID {
		t.Errorf("the record has the id %q", got.ID)
	}
}

// O-2, AP-6, AP-7: what a proposal does to what is recorded.
func TestPropose(t *testing.T) {
	for _, c := range []struct {
		reason   string
		recorded *state.PlanRecord
		proposed *state.PlanRecord
		wantErr  error
		kept     bool // the record and its id stand
	}{
		{reason: "another digest supersedes", recorded: proposal(0, 1, "d1"), proposed: proposal(1, 2, "d2")},
		{reason: "an equal digest of a newer head keeps the record", recorded: proposal(0, 1, "d1"), proposed: proposal(1, 2, "d1"), kept: true},
		{reason: "an older object generation is dropped", recorded: proposal(0, 5, "d1"), proposed: proposal(1, 4, "d2"), wantErr: state.ErrStalePlan},
		{reason: "an older object generation is dropped even with an equal digest", recorded: proposal(0, 5, "d1"), proposed: proposal(1, 4, "d1"), wantErr: state.ErrStalePlan},
		{reason: "a planner that had not seen the record is dropped", recorded: proposal(0, 1, "d1"), proposed: proposal(0, 1, "d2"), wantErr: state.ErrStalePlan},
		{reason: "a planner that saw a record which does not exist is dropped", recorded: proposal(0, 1, "d1"), proposed: proposal(9, 1, "d2"), wantErr: state.ErrStalePlan},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newPlanFixture(t)
			first := f.propose(c.recorded)
			got, err := f.plans.Propose(t.Context(), f.partition, c.proposed)
			if !errors.Is(err, c.wantErr) {
				t.Fatalf("got %v, want %v", err, c.wantErr)
			}
			if diff := cmp.Diff(f.current(), got); diff != "" {
				t.Errorf("what was returned is not what is recorded:\n%s", diff)
			}
			switch {
			case c.wantErr != nil:
				if got.ID != first.ID || got.Generation != first.Generation {
					t.Error("the dropped proposal changed the record")
				}
			case c.kept:
				if got.ID != first.ID || !got.Created.Equal(first.Created) || got.Head != c.proposed.Head || got.Generation != 2 || f.recorded() != 1 {
					t.Errorf("kept record: %+v", got)
				}
			default:
				if got.ID != c.proposed.ID || got.Generation != 2 || f.recorded() != 2 {
					t.Errorf("new record: %+v", got)
				}
				if f.advance(first.ID, state.PlanPlanned, state.PlanDiscarded, nil) {
					t.Error("the superseded plan can still be moved")
				}
			}
		})
	}
}

// What is not Planned, NoChanges or Errored is not refreshed: after a run, an equal
// digest is a new plan.
func TestProposeAfterARun(t *testing.T) {
	f := newPlanFixture(t)
	fence := take(t, f.Store, f.partition, "run")
	first := f.propose(proposal(0, 1, "d1"))
	if !f.advance(first.ID, state.PlanPlanned, state.PlanApplying, &fence) {
		t.Fatal("the plan did not start")
	}
	got, err := f.plans.Propose(t.Context(), f.partition, proposal(1, 2, "d2"))
	if !errors.Is(err, state.ErrPlanApplying) || got.ID != first.ID {
		t.Fatalf("while the run applies: %v", err)
	}
	if !f.advance(first.ID, state.PlanApplying, state.PlanApplyFailed, &fence) {
		t.Fatal("the outcome was not recorded")
	}
	if second := f.propose(proposal(1, 1, "d1")); second.ID == first.ID || second.Status != state.PlanPlanned {
		t.Errorf("after the failure: %+v", second)
	}
}

// History is short and holds nothing that could be run or read as a plan, however the
// plans ended (O-1).
func TestHistoryIsBounded(t *testing.T) {
	f := newPlanFixture(t)
	other := planFixture{TB: t, Store: f.Store, plans: f.plans, partition: newPartition(t, f.Store)} // has a history of its own
	other.propose(proposal(0, 1, "d"))
	other.propose(proposal(1, 1, "e"))
	fence := take(t, f.Store, f.partition, "run")
	const plans = keptPlans + 10
	var ids []string
	for i := range int64(plans) {
		p := f.propose(proposal(i, i, fmt.Sprintf("d%d", i)))
		ids = append(ids, p.ID)
		switch i % 3 {
		case 0:
			f.advance(p.ID, state.PlanPlanned, state.PlanDiscarded, nil)
		case 1:
			f.advance(p.ID, state.PlanPlanned, state.PlanApplying, &fence)
			f.advance(p.ID, state.PlanApplying, state.PlanApplied, &fence)
		}
	}
	left := query[string](t, f.Store, "select plan_id::text from plans where partition_id = $1 order by generation", f.partition)
	if diff := cmp.Diff(ids[plans-keptPlans-1:], left); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if heavy := query[string](t, f.Store, "select plan_id::text from plans where partition_id = $1 and (body is not null or plan_text <> '')", f.partition); !slices.Equal(heavy, ids[plans-1:]) {
		t.Errorf("body or text is kept of %v, want the current one alone", heavy)
	}
	if current := f.current(); current.ID != ids[plans-1] || current.Text == "" || current.Body == nil {
		t.Errorf("current %+v", current)
	}
	if other.recorded() != 2 {
		t.Errorf("%d plans are left of another partition, want both", other.recorded())
	}
}

// A run that died leaves its plan Applying; the next claim frees it.
func TestProposeAfterACrash(t *testing.T) {
	f := newPlanFixture(t)
	dead := take(t, f.Store, f.partition, "dead")
	first := f.propose(proposal(0, 1, "d1"))
	f.advance(first.ID, state.PlanPlanned, state.PlanApplying, &dead)
	successor := take(t, f.Store, f.partition, "successor")

	_, err := f.plans.Advance(t.Context(), f.partition, first.ID, []state.PlanStatus{state.PlanApplying}, state.PlanApplied, "", &dead)
	wantKind(t, "the dead run's outcome", err, model.FencedWriteError)
	if !f.advance(first.ID, state.PlanApplying, state.PlanApplyFailed, &successor) {
		t.Error("the successor could not close the plan of the dead run")
	}
	if got := f.propose(proposal(1, 1, "d1")); got.ID == first.ID || got.Generation != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestAdvance(t *testing.T) {
	f := newPlanFixture(t)
	fence := take(t, f.Store, f.partition, "run")
	plan := f.propose(proposal(0, 1, "d1"))
	stale := model.Fence{Epoch: fence.Epoch, Holder: "somebody"}
	ctx := t.Context()

	for reason, err := range map[string]error{
		"an apply without a lock":                           second(f.plans.Advance(ctx, f.partition, plan.ID, []state.PlanStatus{state.PlanPlanned}, state.PlanApplying, "", nil)),
		"an apply under a lock that is not the current one": second(f.plans.Advance(ctx, f.partition, plan.ID, []state.PlanStatus{state.PlanPlanned}, state.PlanApplying, "", &stale)),
		"an outcome without a lock":                         second(f.plans.Advance(ctx, f.partition, plan.ID, []state.PlanStatus{state.PlanApplying}, state.PlanApplied, "", nil)),
	} {
		wantKind(t, reason, err, model.FencedWriteError)
	}
	for _, to := range []state.PlanStatus{state.PlanSuperseded, "Unheard"} {
		if _, err := f.plans.Advance(ctx, f.partition, plan.ID, []state.PlanStatus{state.PlanPlanned}, to, "", &fence); err == nil {
			t.Errorf("a plan was moved to %s", to)
		}
	}
	if f.advance(plan.ID, state.PlanNoChanges, state.PlanApplying, &fence) {
		t.Error("a plan was moved from a status that it has not")
	}
	if f.advance(uuid.NewString(), state.PlanPlanned, state.PlanApplying, &fence) {
		t.Error("a plan that does not exist was moved")
	}
	if !f.advance(plan.ID, state.PlanPlanned, state.PlanApplying, &fence) || !f.advance(plan.ID, state.PlanApplying, state.PlanApplied, &fence) {
		t.Fatal("the run could not go through")
	}
	if got := f.current(); got.Status != state.PlanApplied || got.Reason != "because" || got.Epoch != fence.Epoch || got.Body == nil {
		t.Errorf("after the run: %+v", got)
	}
}

// AP-26, O-9: discarding names one plan, keeps its record and never a newer one's.
func TestDiscard(t *testing.T) {
	f := newPlanFixture(t)
	first := f.propose(proposal(0, 1, "d1"))
	next := f.propose(proposal(1, 2, "d2"))
	if f.advance(first.ID, state.PlanPlanned, state.PlanDiscarded, nil) {
		t.Error("the superseded plan was discarded")
	}
	if got := f.current(); got.ID != next.ID || got.Status != state.PlanPlanned || got.Body == nil {
		t.Errorf("discarding the older plan touched the newer: %+v", got)
	}
	if !f.advance(next.ID, state.PlanPlanned, state.PlanDiscarded, nil) {
		t.Fatal("not discarded")
	}
	if got := f.current(); got.ID != next.ID || got.Status != state.PlanDiscarded || got.Body != nil {
		t.Errorf("tombstone: %+v", got)
	}
	if got := f.propose(proposal(2, 2, "d2")); got.ID == next.ID {
		t.Error("an equal digest revived a discarded plan")
	}
}

// N-43: of concurrent planners that read the same record one wins, and exactly one
// record is current whatever the order.
func TestConcurrentProposals(t *testing.T) {
	f := newPlanFixture(t)
	const planners = 8
	var all sync.WaitGroup
	errs := make([]error, planners)
	for i := range planners {
		all.Go(func() {
			_, errs[i] = f.plans.Propose(t.Context(), f.partition, proposal(0, int64(i), "d"+string(rune('a'+i))))
		})
	}
	all.Wait()
	won := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, state.ErrStalePlan) })
	if len(won) != 1 || won[0] != nil {
		t.Errorf("%d planners won: %v", len(won), errs)
	}
	if n := f.recorded(); n != 1 {
		t.Errorf("%d records", n)
	}
	// Even past the code, the table holds one current plan.
	if _, err := f.pool.Exec(t.Context(), "insert into plans select gen_random_uuid(), partition_id, generation + 1, head_uid, head_generation, source_kind, source_ref, revision, artifact_digest, inputs_digest, policy_digest, base_serial, changeset_digest, plan_hash, body, plan_text, summary, created_by, status, reason from plans"); err == nil {
		t.Error("a second current plan was inserted")
	}
}

// the look at the record and the write are one step; a proposal that waits for
// another one sees it.
func TestProposalWaitsForAnother(t *testing.T) {
	g := NewWithT(t)
	f := newPlanFixture(t)
	tx, err := f.pool.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = tx.Rollback(context.Background()) }()
	first, err := propose(t.Context(), tx, uuid.MustParse(f.partition), proposal(0, 1, "d1"))
	g.Expect(err).NotTo(HaveOccurred())

	result := make(chan error, 1)
	go func() {
		_, err := f.plans.Propose(context.Background(), f.partition, proposal(0, 1, "d2"))
		result <- err
	}()
	awaitBlocked(g, f.Store)
	g.Expect(tx.Commit(t.Context())).To(Succeed())
	g.Expect(errors.Is(<-result, state.ErrStalePlan)).To(BeTrue())
	g.Expect(f.current().ID).To(Equal(first.ID))
}

// AP-32, O-5: what this release does not know is refused.
func TestUnknownPlanStatus(t *testing.T) {
	f := newPlanFixture(t)
	f.propose(proposal(0, 1, "d1"))
	exec(t, f.Store, "update plans set status = 'Paused'")
	if _, err := f.plans.Current(t.Context(), f.partition); !model.IsKind(err, model.StateError) {
		t.Errorf("got %v", err)
	}
	if _, err := f.plans.Propose(t.Context(), f.partition, proposal(1, 2, "d2")); !model.IsKind(err, model.StateError) {
		t.Errorf("got %v", err)
	}
}

func TestProposalIsChecked(t *testing.T) {
	f := newPlanFixture(t)
	for reason, spoil := range map[string]func(*state.PlanRecord){
		"no digest":              func(p *state.PlanRecord) { p.ChangesetDigest = "" },
		"no body":                func(p *state.PlanRecord) { p.Body = nil },
		"not a beginning":        func(p *state.PlanRecord) { p.Status = state.PlanApplied },
		"id is not a UUID":       func(p *state.PlanRecord) { p.ID = "plan-1" },
		"text cannot be stored":  func(p *state.PlanRecord) { p.Text = "a\x00b" },
		"larger than the limit":  func(p *state.PlanRecord) { p.Body = make([]byte, maxPlanBody+1) },
		"broken UTF-8 in reason": func(p *state.PlanRecord) { p.Reason = "\xff" },
	} {
		p := proposal(0, 1, "d1")
		spoil(p)
		if _, err := f.plans.Propose(t.Context(), f.partition, p); !model.IsKind(err, model.StateError) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if got := f.current(); got != nil {
		t.Errorf("a refused proposal was recorded: %+v", got)
	}
}

func second(_ bool, err error) error { return err }
