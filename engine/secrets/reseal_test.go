package secrets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// SC-23: with the old key loaded beside the new one nothing reads as rotated and everything
// opens; what is written is of the new key, and the old one can go when nothing is left of it.
func TestKeyRotation(t *testing.T) {
	const text, scope = "hunter2", "uid:f"
	run := func(keys ...Key) *Session {
		return NewSession(Options{Keys: NewKeyring("the test keys", keys[0], keys[1:]...), Partition: "p"})
	}
	old, next := testKey(t), otherKey(t)
	write := func(s *Session) (sealed any, digest string) {
		sealed, err := s.Recorder().Seal(text, "uid", "f")
		must(t, err)
		digest, err = s.Recorder().Digest(text, scope)
		must(t, err)
		if read, err := s.Digest(text, scope); err != nil || read != digest {
			t.Errorf("a plan makes the digest %s, %v; a run %s", read, err, digest)
		}
		return sealed, digest
	}
	before, digestBefore := write(run(old))
	after, digestAfter := write(run(next, old))
	if only, digest := write(run(next)); digest != digestAfter || digestAfter == digestBefore || !strings.Contains(only.(map[string]any)[model.KeySealed].(string), next.ID()) {
		t.Errorf("the digest of the new key alone is %s, beside the old one %s, of the old one %s", digest, digestAfter, digestBefore)
	}
	for _, tc := range []struct {
		why     string
		keys    []Key
		sealed  any
		digest  string
		readers bool
	}{
		{"before the rotation", []Key{old}, before, digestBefore, true},
		{"what the old key wrote, with both", []Key{next, old}, before, digestBefore, true},
		{"with a third key before them", []Key{keyFrom(t, 50), next, old}, before, digestBefore, true},
		{"what the new key wrote, with both", []Key{next, old}, after, digestAfter, true},
		{"what the new key wrote, when the old one is gone", []Key{next}, after, digestAfter, true},
		{"what the old key wrote, when it is gone", []Key{next}, before, digestBefore, false},
		{"what the new key wrote, for who has the old one only", []Key{old}, after, digestAfter, false},
	} {
		s := run(tc.keys...)
		got, err := s.Unseal(tc.sealed, "uid", "f")
		if opens := err == nil && got == text; opens != tc.readers {
			t.Errorf("%s: opens %t (%v)", tc.why, opens, err)
		}
		if same, err := s.Matches(tc.digest, text, scope); err != nil || same != tc.readers {
			t.Errorf("%s: the digest matches %t, %v", tc.why, same, err)
		}
		if same, err := s.Matches(tc.digest, "hunter3", scope); err != nil || same {
			t.Errorf("%s: another secret matches: %v", tc.why, err)
		}
	}
}

// SC-11: whatever is sealed for one place, at any depth, comes to lie in another one; the
// rest stays, and the old seal does not open there.
func TestResealLaw(t *testing.T) {
	from := NewSession(Options{Keys: testRing(t), Partition: "from"})
	to := NewSession(Options{Keys: NewKeyring("another key", otherKey(t)), Partition: "to"})
	rapid.Check(t, func(t *rapid.T) {
		secret, open := values().Draw(t, "secret"), values().Draw(t, "open")
		sealed, err := from.Recorder().Seal(secret, "uid", "f")
		if err != nil {
			t.Fatal(err)
		}
		moved, err := from.Reseal(map[string]any{"deep": []any{sealed}, "open": open}, "uid", "f", to.Recorder().Seal)
		if err != nil {
			t.Fatal(err)
		}
		got, err := to.Unseal(moved, "uid", "f")
		if diff := cmp.Diff(any(map[string]any{"deep": []any{secret}, "open": open}), got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
		if _, err := to.Unseal(sealed, "uid", "f"); !model.IsKind(err, model.SecretsError) {
			t.Fatalf("what was not moved opens: %v", err)
		}
		if _, err := from.Unseal(moved, "uid", "f"); !model.IsKind(err, model.SecretsError) {
			t.Fatalf("what was moved opens where it was: %v", err)
		}
	})
}

// What does not open is given to nobody, and what cannot be sealed is an error.
func TestResealRefuses(t *testing.T) {
	from := NewSession(Options{Keys: testRing(t), Partition: "from"})
	sealed, err := from.Recorder().Seal("v", "uid", "f")
	must(t, err)
	never := func(any, string, string) (any, error) {
		t.Error("something was sealed")
		return nil, nil
	}
	_, err = from.Reseal(sealed, "uid", "other", never)
	wantUserError(t, err, "'other'", "does not open")
	_, err = NewSession(Options{Partition: "from"}).Reseal(sealed, "uid", "f", never)
	wantUserError(t, err, "no install key")
	if got, err := from.Reseal("plain", "uid", "f", never); err != nil || got != "plain" {
		t.Errorf("%v, %v", got, err)
	}
	full := errors.New("full")
	if _, err := from.Reseal([]any{sealed}, "uid", "f", func(any, string, string) (any, error) { return nil, full }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// ST-22: every form is sealed as this release does, bound to where it lies; whoever adopts
// makes no key.
func TestAdopt(t *testing.T) {
	for _, tc := range []struct{ why, sealed, want string }{
		{"T-214b of release 0.3", goldenSealed03, "grün ✓"},
		{"of release 0.4", goldenSealed04, "grün ✓"},
	} {
		s := goldenSession(t)
		adopted, err := s.Adopt([]any{map[string]any{model.KeySealed: tc.sealed}, "open"}, "uid-7", "f")
		must(t, err)
		if text := adopted.([]any)[0].(map[string]any)[model.KeySealed].(string); !strings.HasPrefix(text, thirdPrefix+goldenKeyID) {
			t.Errorf("%s: sealed as %q", tc.why, text)
		}
		got, err := s.Unseal(adopted, "uid-7", "f")
		if diff := cmp.Diff(any([]any{tc.want, "open"}), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tc.why, err, diff)
		}
		_, err = s.Unseal(adopted, "uid-8", "f")
		wantUserError(t, err, "does not open")
	}
	path := filepath.Join(t.TempDir(), "atlantide.key")
	s := NewSession(Options{Keys: KeyFile{Path: path}, Partition: "p"})
	_, err := s.Adopt(map[string]any{model.KeySealed: goldenSealed03}, "uid", "f")
	wantUserError(t, err, path)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v does not say that there is no key", err)
	}
	if got, err := s.Adopt("open", "uid", "f"); err != nil || got != "open" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("SC-7: a key was made")
	}
	if same, err := goldenSession(t).Matches(s.AdoptDigest(goldenFallback), "hunter2", goldenScope); err != nil || !same {
		t.Errorf("T-212: %t, %v", same, err)
	}
}
