package apply_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// safe is key material and a secret store of a test: what it seals it keeps, by where it
// lies.
type safe struct {
	values map[string]string
	mu     sync.Mutex
	sealed map[string]any
}

func newSafe(values map[string]string) *safe { return &safe{values: values, sealed: map[string]any{}} }

func (s *safe) Resolve(_ context.Context, ref model.SecretRef) (string, error) {
	value, ok := s.values[ref.Name]
	if !ok {
		return "", model.Errorf(model.SecretsError, model.ClassUser, "not defined")
	}
	return value, nil
}

func (s *safe) Seal(v any, owner, field string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%d/%s/%s", len(s.sealed), owner, field)
	s.sealed[key] = v
	return map[string]any{model.KeySealed: key}, nil
}

func (s *safe) Unseal(v any, owner, field string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, _ := v.(map[string]any)[model.KeySealed].(string)
	plain, ok := s.sealed[key]
	if !ok || !strings.HasSuffix(key, "/"+owner+"/"+field) {
		return nil, errors.New("it does not open")
	}
	return plain, nil
}

func (s *safe) Digest(text, scope string) (string, error) {
	return fmt.Sprintf("%s of %x", scope, sha256.Sum256([]byte(text))), nil
}

func (s *safe) Matches(digest, text string, scopes ...string) (bool, error) {
	for _, scope := range scopes {
		if d, _ := s.Digest(text, scope); d == digest {
			return true, nil
		}
	}
	return false, nil
}

func (s *safe) Scrub(text string) string {
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, "(redacted)")
	}
	return text
}

func (s *safe) secrets() apply.Secrets {
	return apply.Secrets{Resolve: s.Resolve, Digests: s, Unsealer: s, Recorder: s, Scrub: s.Scrub}
}

// vaulted is a bench whose runs use a safe.
func vaulted(t rapid.TB, values map[string]string) (*bench, *safe) {
	b, s := newBench(t), newSafe(values)
	b.safe = s
	b.adjust = func(r *apply.Run) { r.Parallelism, r.Secrets = 1, s.secrets() }
	b.planned = func(in *plan.Input) {
		in.Seals = true
		in.Secrets = plan.Secrets{Digests: s, Unsealer: s, Resolve: func(ref model.SecretRef) (string, error) { return s.Resolve(context.Background(), ref) }}
	}
	return b, s
}

func secretRef(name string) map[string]any { return model.SecretRef{Name: name}.Marker() }

func concat(args ...any) map[string]any {
	return model.Transform{Op: "concat", Args: args}.Marker()
}

// TestSecretsReachTheProvider: handles resolve at any depth, in combinators as well, and
// rows hold only the handle and its digest (EX-8, X-20, X-21, SC-14).
func TestSecretsReachTheProvider(t *testing.T) {
	b, _ := vaulted(t, map[string]string{"one": "sentinel-1", "two": "sentinel-2"})
	nodes := []ir.Node{
		thing("a", "k", secretRef("one")),
		thing("b", "k", concat("x-", secretRef("two"), "-", ref("a", "id"))),
	}
	b.mustApply(nodes)
	b.wantThings(map[string]string{"a": "k=sentinel-1", "b": "k=x-sentinel-2-id(a)"})
	for _, row := range b.snapshot().Rows {
		if text := fmt.Sprint(row.Properties, row.Outputs["sum"], row.SecretDigests, row.RefDigests); strings.Contains(text, "sentinel") {
			t.Errorf("the row of %s holds a secret: %s", row.ID, text)
		}
		if !strings.HasPrefix(row.SecretDigests["value"], row.RowUID+":value of ") {
			t.Errorf("the row of %s has no digest of its secret: %v", row.ID, row.SecretDigests)
		}
	}
	b.steady(nodes)
}

// TestSensitiveOutputsAreSealed: they are encrypted in rows, old halves and committed
// outputs, whatever their type, and readable for what refers to them (SC-9, SC-10, X-22).
func TestSensitiveOutputsAreSealed(t *testing.T) {
	b, _ := vaulted(t, nil)
	b.world.outputs = func(r *model.Request) (model.Outputs, error) {
		return model.Outputs{"id": r.Node.Name, "sum": "s", "password": map[string]any{"deep": []any{"sentinel"}}}, nil
	}
	nodes := []ir.Node{thing("a", "k", "1")}
	out := ir.Output{Key: "s:o", Value: ref("a", "password")}
	report := b.mustApply(nodes, out)
	sealedOnly := func() {
		t.Helper()
		s := b.snapshot()
		for _, row := range s.Rows {
			if strings.Contains(fmt.Sprint(row), "sentinel") {
				t.Errorf("row %+v", row)
			}
		}
		for _, entry := range s.Pending {
			if strings.Contains(fmt.Sprint(entry.Row), "sentinel") {
				t.Errorf("old half %+v", entry.Row)
			}
		}
		if strings.Contains(fmt.Sprint(s.Outputs), "sentinel") {
			t.Errorf("outputs %+v", s.Outputs)
		}
	}
	sealedOnly()
	if diff := cmp.Diff(map[string]any{"s:o": map[string]any{"deep": []any{"sentinel"}}}, report.Outputs); diff != "" {
		t.Errorf("reported outputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s:o"}, report.SensitiveOutputs); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
	b.steady(nodes, out)
	b.mustApply([]ir.Node{thing("a", "k2", "2")}, out)
	sealedOnly()
}

// TestRollbackKeepsSealed: a rolled-back update hands the provider plaintext and writes the
// old row back as it was; a replace made again is sealed anew (EX-25).
func TestRollbackKeepsSealed(t *testing.T) {
	for _, to := range []ir.Node{thing("a", "k", "2"), thing("a", "k2", "1")} {
		b, _ := vaulted(t, nil)
		b.mustApply([]ir.Node{thing("a", "k", "1")})
		b.onFailure = plan.OnFailureRollback
		b.world.before = func(_ context.Context, op string, r *model.Request) error {
			if r.Prior != nil && r.Prior.Outputs["password"] != "secret" {
				t.Errorf("%s is told of %v", op, r.Prior.Outputs["password"])
			}
			if r.Node.Name == "z" {
				return errBroken
			}
			return nil
		}
		_, err := b.apply(failing([]ir.Node{to}))
		wantError(t, err, model.ProviderError, "broken")
		if _, ok := b.snapshot().Rows[idA].Outputs["password"].(map[string]any)[model.KeySealed]; !ok {
			t.Errorf("the password is recorded as %v", b.snapshot().Rows[idA].Outputs["password"])
		}
	}
}

// TestSaltedReferences: what a field reads of a sensitive output leaves a digest that only
// the key can make (ST-21).
func TestSaltedReferences(t *testing.T) {
	b, _ := vaulted(t, nil)
	nodes := []ir.Node{thing("a", "k", "1"), thing("b", "k", ref("a", "password"))}
	b.mustApply(nodes)
	if got := b.snapshot().Rows[idB].RefDigests["value"]; !strings.HasPrefix(got, "salted:$ref:value") {
		t.Errorf("digest %q", got)
	}
	b.steady(nodes)
}

// TestVanishedSecretDoesNotKeepADelete: what goes does without what cannot be resolved or
// opened any more (EX-17, X-23).
func TestVanishedSecretDoesNotKeepADelete(t *testing.T) {
	b, s := vaulted(t, map[string]string{"one": "sentinel-1"})
	b.mustApply([]ir.Node{thing("a", "k", secretRef("one"))})
	s.values, s.sealed = nil, map[string]any{}
	p, err := plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	b.world.before = func(_ context.Context, _ string, r *model.Request) error {
		if _, there := r.Inputs["value"]; there || r.Inputs["key"] != "k" {
			t.Errorf("inputs %v", r.Inputs)
		}
		return nil
	}
	if _, err := b.run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.wantThings(map[string]string{})
}

// TestErrorsAndEventsAreScrubbed: a provider may repeat what it was called with (EX-41,
// SC-17).
func TestErrorsAndEventsAreScrubbed(t *testing.T) {
	b, _ := vaulted(t, map[string]string{"one": "sentinel-1"})
	b.onFailure = plan.OnFailureRollback
	b.world.before = func(_ context.Context, op string, r *model.Request) error {
		if r.Node.Name == "z" || op == "delete" {
			return fmt.Errorf("refused: %v and sentinel-1: %w", r.Inputs, errBroken)
		}
		return nil
	}
	report, err := b.apply(failing([]ir.Node{thing("a", "k", secretRef("one"))}))
	e := failureOf(t, err, model.ProviderError, "(redacted)")
	for cause := error(e); cause != nil; cause = errors.Unwrap(cause) {
		if strings.Contains(cause.Error(), "sentinel") {
			t.Errorf("the error says %q", cause)
		}
	}
	if len(e.AlsoFailed) != 1 || strings.Contains(e.AlsoFailed[0].Error(), "sentinel") || !errors.Is(err, errBroken) {
		t.Errorf("error %v also %v", err, e.AlsoFailed)
	}
	if text := fmt.Sprint(report.RollbackFailed); strings.Contains(text, "sentinel") || !strings.Contains(text, "(redacted)") {
		t.Errorf("report %s", text)
	}
	for _, event := range b.events {
		if strings.Contains(fmt.Sprint(event), "sentinel") {
			t.Errorf("event %+v", event)
		}
	}
}

// TestEchoedSecretIsSealed: a secret does not stand in a row because a provider gave it
// back under another name (SC-17).
func TestEchoedSecretIsSealed(t *testing.T) {
	b, _ := vaulted(t, map[string]string{"one": "sentinel-1"})
	nodes := []ir.Node{thing("a", "k", secretRef("one"))} // its sum repeats it
	b.mustApply(nodes)
	if strings.Contains(fmt.Sprint(b.snapshot().Rows[idA].Outputs), "sentinel") {
		t.Errorf("outputs %v", b.snapshot().Rows[idA].Outputs)
	}
	b.steady(nodes)
}
