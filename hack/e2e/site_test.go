package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/postgres"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// database is a database of a test and the test's own connection to it.
type database struct {
	dsn   string
	store *postgres.Store
}

func newDatabase(t *testing.T) database {
	t.Helper()
	d := database{dsn: devenv.Database(t)}
	var err error
	if d.store, err = openStore(t.Context(), d.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.store.Close)
	return d
}

// config is a config with the files that it declares: path → text.
type config struct {
	nodes string
	files map[string]string
	whole string // a text that is a config already
}

// text is the whole config; that of nothing is empty and stands for a destroy.
func (c config) text() string {
	if c.nodes == "" {
		return c.whole
	}
	return "from atlantide.core import Stack\nfrom atlantide.providers.local import File\n\n" +
		"with Stack('s', region='eu-north-1'):\n    " + strings.ReplaceAll(strings.TrimSpace(c.nodes), "\n", "\n    ") + "\n"
}

// site is one partition with its folder of files, and all that was done to them.
type site struct {
	*testing.T
	database
	template order
	history  []step
}

func newSite(t *testing.T, d database, omit string) *site {
	t.Helper()
	s := &site{T: t, database: d, template: order{DSN: d.dsn, DataRoot: t.TempDir(), Partition: uuid.NewString(), Omit: omit}}
	if err := d.store.EnsurePartition(t.Context(), s.template.Partition, namespace, "stack-"+s.template.Partition); err != nil {
		t.Fatal(err)
	}
	return s
}

// settle applies a config within the test's own process.
func (s *site) settle(c config) {
	s.Helper()
	o := s.template
	o.Config = c.text()
	if err := o.run(s.Context(), s.store, &steps{tell: func(x step) error { s.history = append(s.history, x); return nil }}); err != nil {
		s.Fatalf("apply the first config: %v", err)
	}
}

// processTimeout is far beyond what a process needs; it takes some 50 ms.
const processTimeout = 60 * time.Second

// process runs a config in a process of its own, which kills itself at a step. It
// returns the steps that were reached and whether the process was killed; what is
// neither a death at that very step nor a success is fatal.
func (s *site) process(c config, killAt int) (reached []step, killed bool) {
	s.Helper()
	o := s.template
	o.Config, o.KillAt = c.text(), killAt
	input, err := json.Marshal(o)
	if err != nil {
		s.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), processTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleOperator)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	err = cmd.Run()
	reached = s.decode(stdout.Bytes())
	s.history = append(s.history, reached...)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		s.Fatalf("the process did not end within %s\n%s", processTimeout, narrated(reached))
	case err == nil && (killAt == 0 || len(reached) < killAt):
		return reached, false
	case errors.As(err, &exit) && died(exit) && len(reached) == killAt:
		return reached, true
	}
	s.Fatalf("the process ended with %v after %d steps; it was to kill itself at step %d (0 = at none)\n%s%s",
		err, len(reached), killAt, narrated(reached), stderr.Bytes())
	return nil, false
}

// died reports whether a process was ended by SIGKILL.
func died(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (s *site) decode(lines []byte) []step {
	s.Helper()
	var reached []step
	for line := range bytes.Lines(lines) {
		var x step
		if err := json.Unmarshal(line, &x); err != nil {
			s.Fatalf("the process said %q: %v", line, err)
		}
		reached = append(reached, x)
	}
	return reached
}

// faults are all the ways in which a site is not what a config declares. None means:
// exactly its files exist, exactly its rows are recorded, all confirmed, nothing is left
// to destroy, the next plan is empty, and the calls that were made cannot have left
// anything else anywhere.
func (s *site) faults(c config) []string {
	s.Helper()
	var faults []string
	differ := func(what string, want, got any) {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			faults = append(faults, what+" (-want +got):\n"+diff)
		}
	}
	differ("files", c.files, s.files())
	snapshot, err := s.store.Load(s.Context(), s.template.Partition)
	if err != nil {
		s.Fatal(err)
	}
	next := s.plan(c, snapshot)
	wanted := map[string]string{}
	if next.Compilation != nil {
		for i := range next.Compilation.Document.Nodes {
			wanted[next.Compilation.Document.Nodes[i].ID] = state.StatusCreated
		}
	}
	recorded := map[string]string{}
	for id, row := range snapshot.Rows {
		recorded[id] = row.Status
	}
	differ("rows", wanted, recorded)
	differ("pending destroys", []string(nil), slices.Sorted(maps.Keys(snapshot.Pending)))
	if next.HasPending() || !next.Outputs.Empty() {
		faults = append(faults, fmt.Sprintf("the next plan is not empty: %+v", next.Changes))
	}
	return append(faults, s.ledger(c)...)
}

// plan is what the next run would do.
func (s *site) plan(c config, snapshot *state.Snapshot) *plan.Plan {
	s.Helper()
	e, err := s.template.engine(&steps{}, nil)
	if err != nil {
		s.Fatal(err)
	}
	if c.text() == "" {
		next, err := e.PlanDestroy(s.Context(), snapshot, nil)
		if err != nil {
			s.Fatal(err)
		}
		return next
	}
	compilation, err := e.Compile(s.Context(), engine.Source{Filename: "infra.py", Text: c.text()}, engine.CompileOptions{})
	if err != nil {
		s.Fatalf("%v\n%s", err, c.text())
	}
	next, err := e.Plan(s.Context(), engine.PlanRequest{
		Compilation: compilation, Snapshot: snapshot, Owner: s.template.owner(), OnFailure: plan.OnFailureHalt,
	})
	if err != nil {
		s.Fatal(err)
	}
	return next
}

// files is everything below the data root, by its path below the owner's folder: path →
// text. A folder without children is listed as "path/".
func (s *site) files() map[string]string {
	s.Helper()
	root := filepath.Join(s.template.DataRoot, filepath.FromSlash(s.template.owner()))
	found := map[string]string{}
	err := filepath.WalkDir(s.template.DataRoot, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			children, err := os.ReadDir(path)
			if len(children) == 0 && !strings.HasPrefix(name, "..") {
				found[name+"/"] = ""
			}
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// ledger follows all calls that were made for the site and says what may exist by now
// and should not. A create that was about to be called may have happened, a delete
// counts when it returned. A create may be repeated where the first may have happened
// only as the same attempt: a provider that names what it makes could not find the
// first otherwise, and there would be two.
func (s *site) ledger(c config) []string {
	var faults []string
	attempts := map[string]string{}
	for _, x := range s.history {
		switch {
		case x.Op == "create" && x.Moment == before:
			first, exists := attempts[x.Path]
			if exists && (first != x.Attempt || first == "") {
				faults = append(faults, fmt.Sprintf("%s is created as attempt %s while attempt %s may have made it", x.Path, x.Attempt, first))
			}
			attempts[x.Path] = x.Attempt
		case x.Op == "delete" && x.Moment == after:
			delete(attempts, x.Path)
		}
	}
	may, should := slices.Sorted(maps.Keys(attempts)), slices.Sorted(maps.Keys(c.files))
	if diff := cmp.Diff(should, may); diff != "" {
		faults = append(faults, "what may exist after all calls (-want +got):\n"+diff)
	}
	return faults
}

// narrated is what a run did, one step a line.
func narrated(reached []step) string {
	var text strings.Builder
	for i, x := range reached {
		fmt.Fprintf(&text, "%4d %s\n", i+1, x)
	}
	return text.String()
}
