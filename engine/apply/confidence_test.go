package apply_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// Law of scrubbing (EX-41): whatever a text of others does to a value, quote it as Go or JSON
// do, once or twice, alone or within others, it is not in what is left.
func TestNothingToldIsLeft(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.StringN(4, 20, -1).Filter(func(s string) bool { return len(s) >= 4 && !strings.Contains(apply.Scrubbed("pass", "pass"), s) }).Draw(rt, "value")
		text := value
		for range rapid.IntRange(0, 2).Draw(rt, "quoted") {
			switch rapid.IntRange(0, 1).Draw(rt, "how") {
			case 0:
				text = fmt.Sprintf("before %q behind", text)
			default:
				encoded, err := json.Marshal(map[string]any{"k": []any{text, 1}})
				if err != nil {
					rt.Fatal(err)
				}
				text = string(encoded)
			}
		}
		if left := apply.Scrubbed(text, map[string]any{"deep": []any{"other text", value}}); strings.Contains(left, value) {
			rt.Fatalf("%q leaves %q", text, left)
		}
	})
}

func TestWhatIsTold(t *testing.T) {
	for _, c := range []struct {
		reason string
		value  any
		text   string
		want   string
	}{
		{"a text", "hunter2", "with hunter2.", "with (redacted)."},
		{"a number", int64(123456), "pin 123456", "pin (redacted)"},
		{"a fraction", 0.123456, "rate 0.123456", "rate (redacted)"},
		{"what is deep", map[string]any{"a": []any{map[string]any{"b": "hunter2"}}}, "hunter2", "(redacted)"},
		{"the longest of what begins at one place", []any{"hunter", "hunter2"}, "hunter2", "(redacted)"},
		{"no text that stands in every sentence", []any{"a", "of", true, int64(1), nil}, "a list of 1", "a list of 1"},
		{"no key, which is a name", map[string]any{"password": "hunter2"}, "password: hunter2", "password: (redacted)"},
		{"what was scrubbed already stays", "redacted", "(redacted)", "(redacted)"},
	} {
		if got := apply.Scrubbed(c.text, c.value); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestCanaryOfUnscrubbedRuns: an error of a provider shows what it was called with as soon
// as scrubbing is taken out of the run (EX-41, SC-17). What the secrets' own Scrub knows
// nothing of, a password that a resource made, the run knows by itself.
func TestCanaryOfUnscrubbedRuns(t *testing.T) {
	for _, c := range []struct {
		reason string
		run    func(r *apply.Run, p *plan.Plan) (*apply.Report, error)
		tells  []string
	}{
		{"nothing is told", func(r *apply.Run, p *plan.Plan) (*apply.Report, error) { return r.Apply(context.Background(), p) }, nil},
		{"nor by what the run itself remembers", func(r *apply.Run, p *plan.Plan) (*apply.Report, error) {
			return r.ApplyUnscrubbed(context.Background(), p, false)
		}, nil},
		{"without either all is told", func(r *apply.Run, p *plan.Plan) (*apply.Report, error) {
			return r.ApplyUnscrubbed(context.Background(), p, true)
		}, []string{"sentinel-1", "made-password"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b, _ := vaulted(t, map[string]string{"one": "sentinel-1"})
			b.world.outputs = func(r *model.Request) (model.Outputs, error) {
				return model.Outputs{"id": "id-1", "sum": "s", "password": "made-password"}, nil
			}
			b.mustApply([]ir.Node{thing("a", "k", secretRef("one"))})
			b.world.before = func(_ context.Context, _ string, r *model.Request) error {
				return fmt.Errorf("refused: %v, was %v: %w", r.Inputs, r.Prior.Outputs, errBroken)
			}
			var run *apply.Run
			adjust := b.adjust
			b.adjust = func(r *apply.Run) { adjust(r); run = r }
			p := b.plan(compiled(t, []ir.Node{thing("a", "k", concat("x-", secretRef("one")))}))
			_, _ = b.run(t.Context(), p) // makes the run
			_, err := c.run(run, p)
			wantError(t, err, model.ProviderError, "refused")
			var told []string
			for _, secret := range []string{"sentinel-1", "made-password"} {
				if strings.Contains(err.Error(), secret) {
					told = append(told, secret)
				}
			}
			if diff := cmp.Diff(c.tells, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEchoesStaySealed: an output in which a secret turned up is one from then on: for what
// is committed of it, for the digest of who reads it, after the secret was rotated, and in
// the report of a drift (SC-10, SC-16, SC-17, ST-21).
func TestEchoesStaySealed(t *testing.T) {
	b, s := vaulted(t, map[string]string{"one": "sentinel-1"})
	nodes := []ir.Node{thing("a", "k", secretRef("one")), thing("b", "k", ref("a", "sum")), thing("c", "k", concat("of ", ref("b", "sum")))}
	outputs := []ir.Output{{Key: "s:echo", Value: ref("a", "sum")}, {Key: "s:far", Value: []any{ref("c", "sum")}}, {Key: "s:open", Value: ref("a", "id")}}
	report := b.mustApply(nodes, outputs...)
	if diff := cmp.Diff([]string{"s:echo", "s:far"}, report.SensitiveOutputs); diff != "" {
		t.Errorf("sensitive outputs (-want +got):\n%s", diff)
	}
	sealedOnly := func(when string) {
		t.Helper()
		snapshot := b.snapshot()
		for _, row := range snapshot.Rows {
			if strings.Contains(fmt.Sprint(*row), "sentinel") {
				t.Errorf("%s: row %+v", when, row)
			}
		}
		if strings.Contains(fmt.Sprint(snapshot.Outputs), "sentinel") {
			t.Errorf("%s: outputs %+v", when, snapshot.Outputs)
		}
	}
	sealedOnly("at first")
	for id, row := range b.snapshot().Rows {
		if digest := row.RefDigests["value"]; digest != "" && !strings.HasPrefix(digest, "salted:") {
			t.Errorf("%s records %s of what it read", id, digest)
		}
	}
	b.steady(nodes, outputs...)

	s.values["one"] = "sentinel-2"
	b.mustApply(nodes, outputs...) // of a alone: what reads of it is found to have moved by the next plan
	sealedOnly("after a rotation that did not reach all")

	for _, o := range b.world.Objects {
		o.Value += " and more"
	}
	r := b.refresher()
	r.Secrets = s.secrets()
	drift, err := r.Run(t.Context(), b.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", drift); strings.Contains(text, "sentinel") || len(drift.Nodes[2].Changed) < 2 {
		t.Errorf("drift %s", text)
	}
	b.mustApply(nodes, outputs...)
	b.mustApply(nodes, outputs...)
	sealedOnly("at last")
	b.steady(nodes, outputs...)
}
