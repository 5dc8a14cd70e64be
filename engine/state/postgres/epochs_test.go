package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// N-25: epochs only grow, whoever asks in whatever order.
func TestClaim(t *testing.T) {
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	for range 5 {
		if _, err := s.Mint(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		reason      string
		fence       model.Fence
		leaseUID    string
		transitions int32
		ok          bool
	}{
		{"the first claim", model.Fence{Epoch: 2, Holder: "a"}, "lease-1", 1, true},
		{"its answer was lost and it is asked again", model.Fence{Epoch: 2, Holder: "a"}, "lease-1", 1, true},
		{"the same epoch for somebody else", model.Fence{Epoch: 2, Holder: "b"}, "lease-1", 2, false},
		{"an older epoch, late", model.Fence{Epoch: 1, Holder: "b"}, "lease-1", 2, false},
		{"an older acquisition of the same lease", model.Fence{Epoch: 3, Holder: "b"}, "lease-1", 1, false},
		{"a newer epoch and a later acquisition", model.Fence{Epoch: 3, Holder: "b"}, "lease-1", 2, true},
		{"a lease that was deleted and made again counts from the start", model.Fence{Epoch: 4, Holder: "c"}, "lease-2", 1, true},
		{"an epoch that nobody minted", model.Fence{Epoch: 99, Holder: "d"}, "lease-2", 2, false},
		{"nobody", model.Fence{Epoch: 5}, "lease-2", 2, false},
	} {
		err := s.Claim(t.Context(), partition, c.fence, c.leaseUID, c.transitions)
		if c.ok && err != nil || !c.ok && !model.IsKind(err, model.LockError) {
			t.Errorf("%s: %v", c.reason, err)
		}
		held := s.CheckFence(t.Context(), partition, c.fence) == nil
		if held != c.ok {
			t.Errorf("%s: the fence stands: %v", c.reason, held)
		}
	}
}

func TestClearHolder(t *testing.T) {
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	first := take(t, s, partition, "a")
	second := take(t, s, partition, "b")

	if err := s.ClearHolder(t.Context(), partition, first); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckFence(t.Context(), partition, second); err != nil {
		t.Errorf("a late release of another epoch took the lock away: %v", err)
	}
	for range 2 { // harmless when repeated
		if err := s.ClearHolder(t.Context(), partition, second); err != nil {
			t.Fatal(err)
		}
	}
	wantKind(t, "a write after the release", s.Commit(t.Context(), partition, second, state.Batch{}), model.FencedWriteError)
	wantKind(t, "a write as nobody", s.Commit(t.Context(), partition, model.Fence{Epoch: second.Epoch}, state.Batch{}), model.FencedWriteError)
	if third := take(t, s, partition, "c"); third.Epoch <= second.Epoch {
		t.Errorf("epoch %d after %d", third.Epoch, second.Epoch)
	}
}

// N-24: a writer that waits for the partition's row while a claim commits is
// evaluated again and writes nothing.
func TestStaleWriterBlockedOnTheRow(t *testing.T) {
	g := NewWithT(t)
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	stale := take(t, s, partition, "paused")

	// The claim of the successor, not committed yet.
	tx, err := s.pool.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "update partitions set epoch_minted = epoch_minted + 1, epoch = epoch_minted + 1, holder = 'successor' where id = $1", partition)
	g.Expect(err).NotTo(HaveOccurred())

	result := make(chan error, 1)
	go func() {
		result <- s.Commit(context.Background(), partition, stale, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}})
	}()
	awaitBlocked(g, s)
	g.Expect(tx.Commit(t.Context())).To(Succeed())

	err = <-result
	g.Expect(model.IsKind(err, model.FencedWriteError)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("successor"))
	snapshot, err := s.Load(t.Context(), partition)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snapshot.Rows).To(BeEmpty())
	g.Expect(snapshot.Serial).To(BeZero())
}

// awaitBlocked returns when one statement of the store's database waits for a lock.
func awaitBlocked(g *WithT, s *Store) {
	g.Eventually(func(g Gomega) {
		var waiting int
		g.Expect(s.pool.QueryRow(context.Background(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&waiting)).To(Succeed())
		g.Expect(waiting).To(Equal(1))
	}, 30*time.Second, 10*time.Millisecond).Should(Succeed())
}

// A claim waits for a writer that is inside its statement, and both happen.
func TestClaimWaitsForAnOpenWrite(t *testing.T) {
	g := NewWithT(t)
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	take(t, s, partition, "writer")

	tx, err := s.pool.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "update partitions set serial = serial + 1 where id = $1", partition)
	g.Expect(err).NotTo(HaveOccurred())
	minted := make(chan error, 1)
	go func() {
		_, err := s.Mint(context.Background(), partition)
		minted <- err
	}()
	awaitBlocked(g, s)
	g.Expect(minted).NotTo(Receive())
	g.Expect(tx.Commit(t.Context())).To(Succeed())
	g.Expect(<-minted).To(Succeed())
}

// N-30, LS-14: the server cuts off a writer that stalls inside a transaction.
func TestSessionLimits(t *testing.T) {
	s := open(t, devenv.Database(t))
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{"idle_in_transaction_session_timeout": "10s", "lock_timeout": "10s",
		"search_path": "\"atlantide\"", "application_name": "atlantide", "TimeZone": "UTC"} {
		if got := query[string](t, s, "select current_setting($1)", setting); got[0] != want {
			t.Errorf("%s is %q, want %s", setting, got[0], want)
		}
	}
}

// 6.10: a partition is bound to the installation that made it.
func TestTwoInstallations(t *testing.T) {
	dsn := devenv.Database(t)
	ours := open(t, dsn)
	theirs := open(t, dsn, func(o *Options) { o.Installation = "other-cluster" })
	partition := newPartition(t, ours)
	held := take(t, ours, partition, "a")

	_, mintErr := theirs.Mint(t.Context(), partition)
	for reason, err := range map[string]error{
		"ensure": theirs.EnsurePartition(t.Context(), partition, "team-a", "web"),
		"mint":   mintErr,
		"claim":  theirs.Claim(t.Context(), partition, model.Fence{Epoch: 2, Holder: "b"}, "x", 1),
	} {
		if !errors.Is(err, state.ErrForeignInstallation) || model.ClassOf(err) != model.ClassUser {
			t.Errorf("%s: %v, want a user error that names the installation", reason, err)
		}
	}
	if ended, err := theirs.DeletePartition(t.Context(), partition, 0); ended || !errors.Is(err, state.ErrForeignInstallation) {
		t.Errorf("another installation ended it: %v, %v", ended, err)
	}
	if err := ours.CheckFence(t.Context(), partition, held); err != nil {
		t.Errorf("another installation fenced our run: %v", err)
	}
}

// A write that is under way while the partition is deleted either lands before and is
// seen, or is fenced: never is a row left in a partition that was ended as empty.
func TestDeletePartitionRacesAWrite(t *testing.T) {
	s := open(t, devenv.Database(t))
	for range 20 {
		partition := newPartition(t, s)
		running := take(t, s, partition, "running")
		var wrote error
		var both sync.WaitGroup
		both.Go(func() {
			wrote = s.Commit(t.Context(), partition, running, state.Batch{PutRows: []*state.Row{{ID: "net:local.Null:a"}}})
		})
		ended, err := s.DeletePartition(t.Context(), partition, 0)
		both.Wait()
		if err != nil || ended == (wrote == nil) {
			t.Fatalf("ended %v (%v), the write: %v", ended, err, wrote)
		}
	}
}

func TestDeletePartition(t *testing.T) {
	s := open(t, devenv.Database(t))
	partition, other := newPartition(t, s), newPartition(t, s)
	running := take(t, s, partition, "running")
	if err := s.ClaimStackNames(t.Context(), partition, "team-a", []string{"net"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), partition, running, state.Batch{
		PutRows: []*state.Row{{ID: "net:local.Null:left"}}, SetOutputs: map[string]state.Output{"net:x": {Value: "1"}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		serial int64
		want   bool
	}{
		{"a row landed since it was looked at", 0, false},
		{"as it was looked at", 1, true},
		{"again, from an older look", 0, true},
	} {
		if ended, err := s.DeletePartition(t.Context(), partition, c.serial); err != nil || ended != c.want {
			t.Fatalf("%s: ended %v, %v", c.reason, ended, err)
		}
	}
	wantKind(t, "a run that still writes", s.Commit(t.Context(), partition, running, state.Batch{}), model.FencedWriteError)
	if _, err := s.Mint(t.Context(), partition); err == nil {
		t.Error("a deleted partition gave an epoch")
	}
	if err := s.EnsurePartition(t.Context(), partition, "n", "s"); !errors.Is(err, state.ErrPartitionDeleted) {
		t.Errorf("a deleted partition came back: %v", err)
	}
	if err := s.ClaimStackNames(t.Context(), other, "team-a", []string{"net"}); err != nil {
		t.Errorf("the stack name is not free again: %v", err)
	}
	got, err := s.Load(t.Context(), partition)
	if err != nil || len(got.Rows) != 1 || len(got.Outputs) != 0 {
		t.Errorf("%+v, %v: the record of what was orphaned stays, outputs go", got, err)
	}
	if ended, err := s.DeletePartition(t.Context(), uuid.NewString(), 0); err != nil || !ended {
		t.Errorf("deleting what never was: %v, %v", ended, err)
	}
}

// N-36, ST-18.
func TestClaimStackNames(t *testing.T) {
	s := open(t, devenv.Database(t))
	a, b := newPartition(t, s), newPartition(t, s)
	fence := take(t, s, a, "run")
	for _, c := range []struct {
		reason    string
		partition string
		namespace string
		names     []string
		taken     bool
	}{
		{reason: "free names", partition: a, namespace: "team-a", names: []string{"web", "net", "net"}},
		{reason: "again", partition: a, namespace: "team-a", names: []string{"net", "web"}},
		{reason: "one of them is taken, so none is given", partition: b, namespace: "team-a", names: []string{"free", "web"}, taken: true},
		{reason: "what was refused left nothing behind", partition: a, namespace: "team-a", names: []string{"free", "net", "web"}},
		{reason: "another namespace has names of its own", partition: b, namespace: "team-b", names: []string{"web"}},
		{reason: "a name that the config no longer has is given up", partition: a, namespace: "team-a", names: []string{"net"}},
		{reason: "so it is free", partition: b, namespace: "team-a", names: []string{"web"}},
	} {
		err := s.ClaimStackNames(t.Context(), c.partition, c.namespace, c.names)
		if c.taken != errors.Is(err, state.ErrNameTaken) || !c.taken && err != nil || c.taken && model.ClassOf(err) != model.ClassUser {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	if err := s.Commit(t.Context(), a, fence, state.Batch{PutRows: []*state.Row{{ID: "net:local.Null:x"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.ClaimStackNames(t.Context(), a, "team-a", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.ClaimStackNames(t.Context(), b, "team-a", []string{"net"}); !errors.Is(err, state.ErrNameTaken) {
		t.Errorf("a name with recorded rows went to another Stack: %v", err)
	}
}
