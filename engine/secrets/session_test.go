package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestResolvedOncePerRun(t *testing.T) {
	ctx := context.Background()
	v := &vault{name: "v", values: map[string]string{"a": "1"}, asked: make(chan string, 100)}
	registry := mustRegistry(t, "", v)
	s := NewSession(Options{Registry: registry})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, ref := range []model.SecretRef{{Name: "a"}, {Name: "a", Provider: "v"}} {
				if got, err := s.Resolve(ctx, ref); err != nil || got != "1" {
					t.Errorf("%q, %v", got, err)
				}
			}
			if _, err := s.Resolve(ctx, model.SecretRef{Name: "gone"}); !model.IsKind(err, model.SecretsError) {
				t.Errorf("error %v", err)
			}
		})
	}
	all.Wait()
	if len(v.asked) != 2 {
		t.Errorf("asked %d times; want once for each name, absent or not", len(v.asked))
	}
	v.values["a"] = "2"
	if got, err := s.Resolve(ctx, model.SecretRef{Name: "a"}); err != nil || got != "1" {
		t.Errorf("within the run: %q, %v", got, err)
	}
	if got, err := NewSession(Options{Registry: registry}).Resolve(ctx, model.SecretRef{Name: "a"}); err != nil || got != "2" {
		t.Errorf("T-217b: the next run: %q, %v", got, err)
	}
}

// What was interrupted is no answer, and nobody waits for it longer than they want to.
func TestInterruptedResolve(t *testing.T) {
	reason := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	v := &interrupting{vault: vault{name: "v", values: map[string]string{}}}
	s := NewSession(Options{Registry: mustRegistry(t, "", v)})
	interrupted := func() {
		t.Helper()
		if _, err := s.Resolve(ctx, model.SecretRef{Name: "a"}); !errors.Is(err, reason) || model.ClassOf(err) != model.ClassTransient {
			t.Errorf("error %v", err)
		}
	}
	v.onAsk = func() {
		cancel(reason)
		interrupted() // somebody else, while the answer is on its way
	}
	interrupted()
	v.onAsk, v.values["a"] = func() {}, "1"
	if got, err := s.Resolve(context.Background(), model.SecretRef{Name: "a"}); err != nil || got != "1" {
		t.Errorf("after the interruption: %q, %v", got, err)
	}
}

type interrupting struct {
	vault
	onAsk func()
}

func (i *interrupting) Resolve(ctx context.Context, name string) (Text, error) {
	i.onAsk()
	return i.vault.Resolve(ctx, name)
}

// Keys that do not come, as from a file system that hangs, keep nobody who asks for a
// secret from giving up.
func TestInterruptedWhileKeysLoad(t *testing.T) {
	keys := hanging{asked: make(chan struct{}), answer: make(chan struct{})}
	v := &vault{name: "v", values: map[string]string{"a": "1"}}
	s := NewSession(Options{Registry: mustRegistry(t, "", v), Keys: keys})
	digested := make(chan error)
	go func() {
		_, err := s.Digest("v", "n:f")
		digested <- err
	}()
	<-keys.asked
	if got, err := s.Resolve(context.Background(), model.SecretRef{Name: "a"}); err != nil || got != "1" {
		t.Errorf("%q, %v", got, err)
	}
	close(keys.answer)
	must(t, <-digested)
}

// hanging are keys that say when they are asked for and wait to be told to answer.
type hanging struct{ asked, answer chan struct{} }

func (h hanging) Load() (*Keyring, error) {
	close(h.asked)
	<-h.answer
	key, err := NewKey(rawKey(0))
	return NewKeyring("the test key", key), err
}

func (h hanging) Make() (*Keyring, error) { return h.Load() }

// SC-7: whoever reads or plans never makes a key; who writes under the lock does.
func TestOnlyARecorderMakesTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "atlantide.key")
	s := NewSession(Options{Keys: KeyFile{Path: path}, Partition: "p"})
	for what, read := range map[string]func() error{
		"Digest":  func() error { _, err := s.Digest("v", "n:f"); return err },
		"Matches": func() error { _, err := s.Matches("00", "v", "n:f"); return err },
		"Unseal":  func() error { _, err := s.Unseal(map[string]any{model.KeySealed: goldenSealed}, "u", "f"); return err },
	} {
		err := read()
		wantUserError(t, err, path)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("X-54: %s does not say that the key is absent: %v", what, err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Fatalf("%s made a key", what)
		}
	}
	if same, err := s.Matches("", "v", "n:f"); same || err != nil {
		t.Errorf("an absent digest needs a key: %t, %v", same, err)
	}
	if got, err := s.Unseal([]any{"plain"}, "u", "f"); err != nil || fmt.Sprint(got) != "[plain]" {
		t.Errorf("a plain value needs a key: %v, %v", got, err)
	}
	made, err := s.Recorder().Digest("v", "n:f")
	must(t, err)
	if same, err := s.Matches(made, "v", "n:f"); err != nil || !same {
		t.Errorf("the session does not see the key that its recorder made: %t, %v", same, err)
	}
	again := NewSession(Options{Keys: KeyFile{Path: path}})
	if same, err := again.Matches(made, "v", "n:f"); err != nil || !same {
		t.Errorf("the next run: %t, %v", same, err)
	}
}

// SC-9: without key material nothing is sealed, and what is sealed is an error.
func TestWithoutKeyMaterial(t *testing.T) {
	s := NewSession(Options{})
	if got, err := s.Recorder().Seal("v", "u", "f"); err != nil || got != "v" {
		t.Errorf("sealed as %v, %v", got, err)
	}
	_, err := s.Unseal(map[string]any{model.KeySealed: goldenSealed}, "u", "f")
	wantUserError(t, err, "'f'", "no install key")
	if same, err := s.Matches(goldenFallback, "hunter2", goldenScope); err != nil || !same {
		t.Errorf("SC-13: its own digests do not match: %t, %v", same, err)
	}
}

func TestMatches(t *testing.T) {
	current, previous := testKey(t), otherKey(t)
	by := func(key Key) string { return digest(key.salt(), goldenScope, "hunter2") }
	both := NewKeyring("the test keys", current, previous)
	for _, tc := range []struct {
		why      string
		ring     *Keyring
		recorded string
		text     string
		scopes   []string
		want     bool
	}{
		{"its own", both, by(current), "hunter2", []string{goldenScope}, true},
		{"SC-23 of the key before", both, by(previous), "hunter2", []string{goldenScope}, true},
		{"of a foreign key", testRing(t), by(previous), "hunter2", []string{goldenScope}, false},
		{"SC-14 under any of its scopes", both, by(current), "hunter2", []string{"uid:f", goldenScope}, true},
		{"T-211 under another scope", both, by(current), "hunter2", []string{"uid:f"}, false},
		{"under no scope", both, by(current), "hunter2", nil, false},
		{"of another secret", both, by(current), "hunter3", []string{goldenScope}, false},
		{"SC-13 the fallback salt does not count", both, goldenFallback, "hunter2", []string{goldenScope}, false},
		{"T-212 except of what was imported from 0.3", both, importedPrefix + goldenFallback, "hunter2", []string{goldenScope}, true},
		{"which may have had a key", both, importedPrefix + by(previous), "hunter2", []string{goldenScope}, true},
		{"T-212 and a real change is seen", both, importedPrefix + goldenFallback, "hunter3", []string{goldenScope}, false},
		{"none", both, "", "hunter2", []string{goldenScope}, false},
		{"none, imported", both, importedPrefix, "hunter2", []string{goldenScope}, false},
		{"the beginning of one", both, by(current)[:63], "hunter2", []string{goldenScope}, false},
	} {
		got, err := NewSession(Options{Keys: tc.ring}).Matches(tc.recorded, tc.text, tc.scopes...)
		if err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", tc.why, got, err, tc.want)
		}
	}
}

// T-211: a digest is stable, and differs by value, scope and key.
func TestDigestLaw(t *testing.T) {
	keys := []Key{testKey(t), otherKey(t)}
	rapid.Check(t, func(t *rapid.T) {
		texts, scopes := rapid.StringN(0, 30, -1), rapid.StringMatching(`[a-z:.]{1,20}`)
		type input struct{ key, scope, text string }
		draw := func(label string) (input, string) {
			key := keys[rapid.IntRange(0, 1).Draw(t, label+" key")]
			in := input{key.id, scopes.Draw(t, label+" scope"), texts.Draw(t, label+" text")}
			made := digest(key.salt(), in.scope, in.text)
			if made != digest(key.salt(), in.scope, in.text) || len(made) != 64 {
				t.Fatalf("%q is not stable", made)
			}
			return in, made
		}
		a, digestA := draw("a")
		b, digestB := draw("b")
		if (a == b) != (digestA == digestB) {
			t.Fatalf("%v has %s, %v has %s", a, digestA, b, digestB)
		}
	})
}
