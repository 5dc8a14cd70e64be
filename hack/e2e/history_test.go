package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// seedVariable repeats a run of TestKilledHistories.
const seedVariable = "ATLANTIDE_CRASH_SEED"

// scale is at how many steps of one history processes are killed, and how many histories and
// points there are to be at least.
type scale struct{ each, histories, points int }

// TestKilledHistories kills operators at work on generated histories, and starts others that
// go on. At every moment between, all that exists is recorded or named, and nothing counts as
// done that is not; in the end the world is as declared, and the next plan is empty.
func TestKilledHistories(t *testing.T) {
	db := newDatabase(t)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	t.Logf("seed %d; %s=%d repeats this run", seed, seedVariable, seed)
	for _, size := range scales {
		kills, begin := 0, time.Now()
		i := 0
		for ; i < size.histories || kills < size.points; i++ {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			h := applytest.DrawHistory(func(_ string, n int) int { return random.IntN(n) })
			steps := newTale(t, db, h, "").survivor()
			for _, at := range random.Perm(steps)[:min(size.each, steps)] {
				tale := newTale(t, db, h, "")
				if faults := tale.killedAt(at + 1); len(faults) > 0 {
					t.Fatalf("seed %d, history %d, killed at step %d of %d:\n%s\n%sthe steps were\n%s",
						seed, i, at+1, steps, strings.Join(faults, "\n"), h, narrated(tale.history))
				}
				kills++
			}
		}
		t.Logf("%d histories, killed at %d points in %s", i, kills, time.Since(begin).Round(time.Millisecond))
	}
}

// TestKilledHistoriesAreJudged takes the safeguards out of the store, one at a time, and
// demands that the judgement of the test above objects at some step: with all of them it
// objects at none.
func TestKilledHistoriesAreJudged(t *testing.T) {
	db := newDatabase(t)
	thing := func(key, value string) applytest.Config {
		return applytest.Config{{Name: "a", Type: applytest.Thing, Key: applytest.Expr{Text: key}, Value: applytest.Expr{Text: value}}}
	}
	for _, c := range []struct {
		omit string
		h    applytest.History
	}{
		{omitWriteAhead, applytest.History{To: thing("k", "1")}},
		{omitAttempts, applytest.History{To: thing("k", "1"), Instead: thing("k", "1")}},
		{omitPoison, applytest.History{From: thing("k", "1"), To: thing("k", "2"), Instead: thing("k", "1")}},
		{omitPending, applytest.History{From: thing("k", "1"), To: thing("k2", "1"), Instead: thing("k2", "1")}},
	} {
		t.Run(c.omit, func(t *testing.T) {
			for at := range newTale(t, db, c.h, "").survivor() {
				if faults := newTale(t, db, c.h, c.omit).killedAt(at + 1); len(faults) > 0 {
					return
				}
			}
			t.Error("no step shows that the safeguard is missing")
		})
	}
}

// tale is a site at which a history takes place.
type tale struct {
	*site
	told    applytest.History
	secrets map[string]string
	named   map[string]bool // nodes of which a plan said that something may be left
}

func newTale(t *testing.T, db database, h applytest.History, omit string) *tale {
	t.Helper()
	s := newSite(t, db, omit)
	s.template.Cloud, s.template.Secret = filepath.Join(t.TempDir(), "cloud.json"), "first"
	return &tale{site: s, told: h, secrets: map[string]string{applytest.Secret: "first"}, named: map[string]bool{}}
}

// begin applies the first config, and prepares for the second.
func (x *tale) begin() {
	x.Helper()
	x.here(x.told.From)
	if x.told.Rotates {
		x.template.Secret = "a second one"
		x.secrets[applytest.Secret] = x.template.Secret
	}
	x.template.Fate, x.template.Rollback = x.told.Fate, x.told.Rollback
}

// here applies a config within the test's own process.
func (x *tale) here(c applytest.Config) {
	x.Helper()
	x.look(c)
	o := x.template
	o.Config = c.Text()
	if err := o.run(x.Context(), x.store, &steps{tell: func(at step) error { x.history = append(x.history, at); return nil }}); err != nil {
		x.Fatalf("%v\n%s", err, c.Text())
	}
}

// survivor is how many steps the second config takes.
func (x *tale) survivor() int {
	x.Helper()
	x.begin()
	before := len(x.history)
	x.here(x.told.To)
	return len(x.history) - before
}

// killedAt runs the second config in a process that is killed, and the last one in another
// one, and says what is wrong with what they leave.
func (x *tale) killedAt(at int) []string {
	x.Helper()
	x.begin()
	x.look(x.told.To)
	if _, killed := x.process(config{whole: x.told.To.Text()}, at); !killed {
		x.Fatalf("the process was not killed at step %d", at)
	}
	faults := x.wrong("after the kill: ")
	x.template.Fate, x.template.Rollback = applytest.Fate{}, false
	x.look(x.told.Instead)
	x.process(config{whole: x.told.Instead.Text()}, 0)
	faults = append(faults, x.wrong("after the next run: ")...)
	// A secret that rotated, or a replace that turned out to be needed, may take runs more.
	for range len(x.told.Instead) {
		next := x.look(x.told.Instead)
		if !next.HasPending() && next.Outputs.Empty() || len(faults) > 0 || !x.told.Rotates && !looks(next) {
			break
		}
		x.here(x.told.Instead)
	}
	next := x.look(x.told.Instead)
	if next.HasPending() || !next.Outputs.Empty() {
		faults = append(faults, "the next plan is not empty:\n"+next.Text())
	}
	return append(faults, x.ends()...)
}

// looks reports whether a plan replaces something because of what an earlier run changed.
func looks(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Action == plan.Replace && len(c.UpstreamMoved) > 0 })
}

// look plans a config, and remembers what its plan warns of.
func (x *tale) look(c applytest.Config) *plan.Plan {
	x.Helper()
	e, err := x.template.engine(&steps{}, nil)
	if err != nil {
		x.Fatal(err)
	}
	session, err := x.template.session()
	if err != nil {
		x.Fatal(err)
	}
	var p *plan.Plan
	if text := c.Text(); text == "" {
		p, err = e.PlanDestroy(x.Context(), x.loaded(), session)
	} else {
		compilation, bad := e.Compile(x.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{})
		if bad != nil {
			x.Fatalf("%v\n%s", bad, text)
		}
		p, err = e.Plan(x.Context(), engine.PlanRequest{
			Compilation: compilation, Snapshot: x.loaded(), Owner: x.template.owner(), OnFailure: x.template.onFailure(), Secrets: session,
		})
	}
	if err != nil {
		x.Fatal(err)
	}
	for id := range p.Leaks {
		x.named[id] = true
	}
	return p
}

func (x *tale) loaded() *state.Snapshot {
	x.Helper()
	snapshot, err := x.store.Load(x.Context(), x.template.Partition)
	if err != nil {
		x.Fatal(err)
	}
	return snapshot
}

// world is the cloud, and what is recorded of it with nothing sealed.
func (x *tale) world() (cloud, *state.Snapshot) {
	x.Helper()
	c, err := openCloud(x.template.Cloud)
	if err != nil {
		x.Fatal(err)
	}
	session, err := x.template.session()
	if err != nil {
		x.Fatal(err)
	}
	return c, applytest.Opened(x.loaded(), session.Unseal)
}

// wrong is what is recorded wrongly of the world.
func (x *tale) wrong(when string) []string {
	x.Helper()
	c, snapshot := x.world()
	faults := c.Faults(snapshot, x.named)
	for i := range faults {
		faults[i] = when + faults[i]
	}
	return faults
}

// ends compares world and rows with the last config.
func (x *tale) ends() []string {
	x.Helper()
	var faults []string
	c, snapshot := x.world()
	c.Forget(snapshot, x.named)
	things, double := c.Things()
	for _, node := range double {
		faults = append(faults, "two things exist of "+node)
	}
	if diff := cmp.Diff(x.told.Instead.Things(x.secrets), things); diff != "" {
		faults = append(faults, "things (-want +got):\n"+diff)
	}
	for id, row := range snapshot.Rows {
		if row.Status != state.StatusCreated {
			faults = append(faults, fmt.Sprintf("the row of %s is %s", id, row.Status))
		}
	}
	if len(snapshot.Rows) != len(x.told.Instead) || len(snapshot.Pending) > 0 {
		faults = append(faults, fmt.Sprintf("rows %v and old halves %v are left", slices.Sorted(maps.Keys(snapshot.Rows)), slices.Sorted(maps.Keys(snapshot.Pending))))
	}
	return faults
}
