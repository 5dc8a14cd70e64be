package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// asChild is the variable under which the test binary is a process that compiles the
// configs on its standard input, one after another, and answers on its standard output.
const asChild = "ATLANTIDE_TEST_COMPILES"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	if err := serveJobs(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// job is a config for a child, and the budget that it gets.
type job struct {
	Text         string
	Files        map[string]string // that came with it
	Inputs       map[string]any
	Envs         []string
	Fuel, Memory int64
	Build        bool // the artifact is wanted as well
	// Waste is how many bytes the child takes beside the evaluation.
	Waste int64
}

// outcome is what a compilation gave, in a form in which equal outcomes are equal.
type outcome struct {
	Error     string // with kind, place and hint
	Kind      model.Kind
	Class     model.Class
	Canonical string // the hashed bytes
	Hash      string
	Hashes    map[string]string
	Outputs   string
	Rest      string // policies, inputs, environments, pins, warnings
	Artifact  []byte `json:",omitempty"`
	Grown     int64  `json:",omitempty"` // bytes by which the process grew at its peak
}

func serveJobs(in io.Reader, out io.Writer) error {
	registry, err := providers.NewRegistry(local.NewTenants(os.TempDir(), local.Quota{}), aws.New(), random.New(rand.Reader, time.Now))
	if err != nil {
		return err
	}
	e := &engine.Engine{Registry: registry}
	jobs, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		if err := jobs.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		res := j.compile(e)
		if err := answers.Encode(res); err != nil {
			return err
		}
	}
}

func (j *job) compile(e *engine.Engine) outcome {
	grown := watchMemory()
	if j.Waste > 0 {
		waste := bytes.Repeat([]byte{1}, int(j.Waste))
		defer func() { waste[0]++ }()
	}
	o := engine.CompileOptions{Inputs: j.Inputs, Envs: j.Envs, Fuel: j.Fuel, Memory: j.Memory}
	if j.Files != nil {
		o.Source = sourcetree.Texts(j.Files)
	}
	c, err := e.Compile(context.Background(), engine.Source{Filename: "infra.py", Text: j.Text}, o)
	peak := grown()
	if err != nil {
		return failureOf(err, peak)
	}
	res := outcomeOf(c)
	if j.Build {
		if res.Artifact, err = e.Build(c, engine.BuildOptions{}); err != nil {
			return failureOf(err, peak)
		}
	}
	res.Grown = peak
	return res
}

func failureOf(err error, grown int64) outcome {
	text := err.Error()
	for _, d := range model.Diagnostics(err) {
		text += fmt.Sprintf("\n%+v", d)
	}
	return outcome{Error: text, Kind: model.KindOf(err), Class: model.ClassOf(err), Grown: grown}
}

func outcomeOf(c *ir.Compilation) outcome {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	canonical, err := c.Document.Canonical()
	if err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{
		Canonical: string(canonical), Hash: c.Hash, Hashes: c.Hashes, Outputs: text(c.Outputs),
		Rest: text([]any{c.Policies, c.Inputs, c.EnvsDeclared, c.EnvsSelected, c.Pins, c.Warnings}),
	}
}

// child is how a process that compiles is started.
type child struct {
	env   map[string]string
	dir   string
	umask string // octal; "" leaves it
}

// childTimeout is what one child may take; the longest take some seconds.
const childTimeout = 2 * time.Minute

// run starts a child of its own for the jobs. A child that dies, a stack overflow say,
// fails the test.
func (c child) run(t testing.TB, jobs ...job) []outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), childTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	if c.umask != "" {
		cmd = exec.CommandContext(ctx, "sh", "-c", `umask "$1"; exec "$2"`, "sh", c.umask, self)
	}
	env := map[string]string{asChild: "1", "PATH": os.Getenv("PATH"), "TMPDIR": t.TempDir()}
	maps.Copy(env, c.env)
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var in, out, problems bytes.Buffer
	for i := range jobs {
		if err := json.NewEncoder(&in).Encode(&jobs[i]); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, &in, &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("the process died: %v\n%.4000s", err, problems.String())
	}
	outcomes := make([]outcome, len(jobs))
	answers := json.NewDecoder(strings.NewReader(out.String()))
	for i := range outcomes {
		if err := answers.Decode(&outcomes[i]); err != nil {
			t.Fatalf("answer %d of %d: %v", i+1, len(jobs), err)
		}
	}
	return outcomes
}

// settle gives back what the process does not use, so that growth is growth.
func settle() {
	debug.FreeOSMemory()
}
