package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// TestScrubbedErrors: an error that tells nothing is the very same afterwards; one that does
// is still what it was for errors.Is and errors.As, and tells nothing (EX-41).
func TestScrubbedErrors(t *testing.T) {
	const secret = "sentinel-1"
	typed := func(text, hint string) *model.Error {
		return &model.Error{Kind: model.ProviderError, Class: model.ClassTransient, Message: text, Hint: hint, Cause: errBroken}
	}
	for _, c := range []struct {
		reason string
		err    error
		tells  bool
	}{
		{"one of the engine's own", typed("refused", ""), false},
		{"one that wraps it", fmt.Errorf("while reading: %w", typed("refused", "")), false},
		{"one that joins it with another", errors.Join(typed("refused", ""), errors.New("late")), false},
		{"one of others", fmt.Errorf("while reading: %w", errBroken), false},
		{"the engine's own tells it", typed("with "+secret, ""), true},
		{"within another one", fmt.Errorf("while reading: %w", typed("with "+secret, "")), true},
		{"around one", fmt.Errorf("while reading %s: %w", secret, typed("refused", "")), true},
		{"where its text does not show it", fmt.Errorf("while reading: %w", typed("refused", "not "+secret)), true},
		{"the second of two", errors.Join(typed("refused", ""), typed("refused", "not "+secret)), true},
		{"one of others tells it", fmt.Errorf("while reading %s: %w", secret, errBroken), true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := apply.ScrubbedError(c.err, secret)
			if same := errors.Is(c.err, got) && errors.Is(got, c.err); !c.tells && !same {
				t.Errorf("%#v became %#v", c.err, got)
			}
			if !errors.Is(got, errBroken) || model.KindOf(got) != model.KindOf(c.err) || model.ClassOf(got) != model.ClassOf(c.err) {
				t.Errorf("%v is not what %v was", got, c.err)
			}
			left := got.Error()
			if e, ok := errors.AsType[*model.Error](got); ok {
				left += e.Error() + e.Hint
			}
			if strings.Contains(left, secret) || strings.Contains(got.Error(), "while reading") != strings.Contains(c.err.Error(), "while reading") {
				t.Errorf("%q is left of %q", left, c.err)
			}
		})
	}
}

// TestWhatIsRecordedInPlainIsTold: a run without a recorder seals nothing, and keeps what an
// older release recorded in plain out of its errors all the same (EX-41).
func TestWhatIsRecordedInPlainIsTold(t *testing.T) {
	b := newBench(t)
	b.world.outputs = func(*model.Request) (model.Outputs, error) {
		return model.Outputs{"id": "id-1", "sum": "s", "password": "made-password"}, nil
	}
	b.mustApply([]ir.Node{thing("a", "k", "1")})
	if b.snapshot().Rows[idA].Outputs["password"] != "made-password" {
		t.Fatalf("recorded %v", b.snapshot().Rows[idA].Outputs)
	}
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		return fmt.Errorf("refused: %v: %w", r.Prior.Outputs, errBroken)
	}
	p, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.run(t.Context(), p)
	wantError(t, err, model.ProviderError, "password:(redacted)")
	for _, event := range b.events {
		if strings.Contains(fmt.Sprint(event), "made-password") {
			t.Errorf("event %+v", event)
		}
	}
}

// TestLaterTellings: a failed read may quote what is told only later in the same refresh or
// import (EX-41).
func TestLaterTellings(t *testing.T) {
	b, s := vaulted(t, map[string]string{"two": "sentinel-2"})
	b.mustApply([]ir.Node{thing("a", "k", "1"), thing("b", "k", secretRef("two"))})
	known := s.secrets()
	known.Scrub = nil // it knows the values before they are told
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		if r.Node.Name == "a" {
			return fmt.Errorf("refused, beside sentinel-2: %w", errBroken)
		}
		return nil
	}
	r := b.refresher()
	r.Secrets, r.Parallelism = known, 1
	_, err := r.Run(t.Context(), b.snapshot())
	wantError(t, err, model.ProviderError, "beside (redacted)")

	named := func(name, key string, value any) ir.Node {
		return node("s:test.Named:"+name, map[string]any{"key": key, "value": value})
	}
	m := b.importing([]ir.Node{named("m", "sentinel-2", "1"), named("n", "name", secretRef("two"))}, nil)
	m.Provider = func(string) (apply.Provider, bool) { return quoting{}, true }
	m.Secrets = known
	report, err := m.Run(t.Context(), b.snapshot(), []apply.ImportRequest{{NodeID: "s:test.Named:m"}, {NodeID: "s:test.Named:n"}})
	if err != nil || len(report.Nodes) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	if detail := report.Nodes[0].Detail; !strings.Contains(detail, "no (redacted)") {
		t.Errorf("the answer is %q", detail)
	}
}

// quoting reads nothing, and says what it was asked for.
type quoting struct{ apply.Provider }

func (quoting) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	return nil, false, fmt.Errorf("there is no %v", r.Inputs["key"])
}

// TestWhatLooksLikeASecretStaysOpen: an output is sealed for a secret that stands in it, and
// not because it begins as one does, which a text that is only read loses (SC-10, EX-41).
func TestWhatLooksLikeASecretStaysOpen(t *testing.T) {
	const private, public = "-----BEGIN PRIVATE KEY-----", "-----BEGIN PUBLIC KEY-----"
	for output, sealed := range map[string]bool{public: false, "of " + private: true} {
		b, s := vaulted(t, map[string]string{"one": private})
		adjust := b.adjust
		b.adjust = func(r *apply.Run) {
			adjust(r)
			r.Secrets.Scrub = func(text string) string { return strings.ReplaceAll(text, private[:12], "(redacted)") }
			r.Secrets.Holds = func(text string) bool { return strings.Contains(text, s.values["one"]) }
		}
		b.world.outputs = func(*model.Request) (model.Outputs, error) {
			return model.Outputs{"id": "id-1", "sum": output, "password": "made-password"}, nil
		}
		b.mustApply([]ir.Node{thing("a", "k", secretRef("one"))})
		if _, open := b.snapshot().Rows[idA].Outputs["sum"].(string); open == sealed {
			t.Errorf("%q is recorded as %v", output, b.snapshot().Rows[idA].Outputs["sum"])
		}
	}
}
