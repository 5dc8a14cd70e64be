package secrets

import (
	"bytes"
	"context"
	"encoding/base64"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What follows was made with Python's cryptography and hashlib, from the key of bytes 0 to
// 31 and the nonce of bytes 100 to 111, so that the formats are what the documents say and
// not what this package happens to write.
const (
	goldenKeyID    = "7f2cd3f9"
	goldenScope    = "default:aws.LambdaFunction:f:signing_secret"
	goldenDigest   = "2980159242cc4eeb2a3ce37ebf02e13526fbe6a9b9f9ee5f59d23ef9193bd68e"
	goldenFallback = "f32d1fda7d38f3d4aa6754f427889bf5a71ec9c3c0bf9f636e2b028463df45b7"
	goldenUmlaut   = "ebadb79f556f08e74b2a41685fa701b814182b902c739ccf2efffc5eb3a7ee35"
	goldenStore    = "QVRMU1RPUkUxCmRlZmdoaWprbG1ubzM5vxYQyT37R0BlyPgCGKE38jZs6ALTLtLjm3nI/8tquMlipC4962WOgA9Qjybo9Tt58JJOPiRayNPRGwcDaaCeRYm+JNp+jL1ZuA=="
	goldenStore03  = "ZGVmZ2hpamtsbW5vMzm/FhDJPftHQGXI+AIYoTfyNmzoAtMu0uObecj/y2q4yWKkLj3rZY6AD1CPJuj1O3nwkk4+JFrI09EdMi9Bt20KSZO+4cWadL7H"
	goldenSealed04 = "v2:ZGVmZ2hpamtsbW5vL2kd2hfJtAKtphnELFE2QUiKmCzfrJTeUw=="
	goldenSealed03 = "ZGVmZ2hpamtsbW5vL2kd2hfJtAKtOtsbX3DvJ/2ss8Ba54doJQ=="
	goldenSealed   = "v3:7f2cd3f9:ZGVmZ2hpamtsbW5vMzm/REPLMez93jHIOPn5327gZCixN8Jelv+ZZJXWySS4nTK1KU/mrBFdkZKJWoUwcFkGV0+9bw=="
	goldenOutput   = "v3:7f2cd3f9:ZGVmZ2hpamtsbW5vMzm/REPLMez93jHIOPn5327gZCixN8Jelv+ZZJXWySS4nTK1KU/m+LUD/ouDiJ5KlLdD8Q7Mww=="
)

func goldenValue() any {
	return map[string]any{"b": []any{int64(1), 1.5, nil, true}, "a": "grün ✓"}
}

func goldenSession(t testing.TB) *Session {
	return NewSession(Options{Keys: testRing(t), Partition: "part-1", Rand: &counting{}})
}

func TestGoldenDigests(t *testing.T) {
	s := goldenSession(t)
	if id := testKey(t).ID(); id != goldenKeyID {
		t.Errorf("SC-11: key id %s; want %s", id, goldenKeyID)
	}
	for _, tc := range []struct {
		why, scope, text, want string
		session                *Session
	}{
		{"SC-13", goldenScope, "hunter2", goldenDigest, s},
		{"UTF-8 in both", "uid-1:pässwort", "grün ✓", goldenUmlaut, s},
		{"SC-13 without key material", goldenScope, "hunter2", goldenFallback, NewSession(Options{})},
	} {
		if got, err := tc.session.Digest(tc.text, tc.scope); err != nil || got != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.why, got, err, tc.want)
		}
		if got, err := tc.session.Recorder().Digest(tc.text, tc.scope); err != nil || got != tc.want {
			t.Errorf("%s: recorded %s, %v; want %s", tc.why, got, err, tc.want)
		}
	}
}

func TestGoldenSeals(t *testing.T) {
	for _, tc := range []struct {
		why, owner, field, sealed string
		want                      any
	}{
		{"SC-11 a field", "uid-1", "password", goldenSealed, goldenValue()},
		{"SC-11 a committed output", "s:out", "", goldenOutput, goldenValue()},
		{"SC-8 of release 0.4, which is bound to no place", "uid-9", "x", goldenSealed04, "grün ✓"},
	} {
		marker := map[string]any{model.KeySealed: tc.sealed}
		got, err := goldenSession(t).Unseal(marker, tc.owner, tc.field)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tc.why, err, diff)
		}
		if tc.sealed == goldenSealed04 {
			continue // read, never written
		}
		if got, err := goldenSession(t).Recorder().Seal(tc.want, tc.owner, tc.field); err != nil || !cmp.Equal(got, any(marker)) {
			t.Errorf("%s: sealed as %v, %v; want %v", tc.why, got, err, marker)
		}
	}
	old := map[string]any{model.KeySealed: goldenSealed03}
	s := goldenSession(t)
	adopted, err := s.Adopt(old, "uid-1", "password")
	must(t, err)
	if got, err := s.Unseal(adopted, "uid-1", "password"); err != nil || got != "grün ✓" {
		t.Errorf("T-214b: adopted as %v, which opens as %v, %v", adopted, got, err)
	}
	_, err = s.Unseal(old, "uid-1", "password")
	wantUserError(t, err, "'password'", "import")
}

func TestGoldenStores(t *testing.T) {
	want := map[string]string{"db/password": "hunter2", "api key": "grün ✓\n"}
	for _, tc := range []struct{ why, data string }{
		{"SC-3", goldenStore},
		{"ST-23 the form of release 0.3", goldenStore03},
	} {
		data, err := base64.StdEncoding.DecodeString(tc.data)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "store")
		writeRaw(t, path, data, 0o600)
		store := &Keyfile{Path: path, Keys: testRing(t)}
		for name, value := range want {
			if got, err := store.Resolve(context.Background(), name); err != nil || got.Reveal() != value {
				t.Errorf("%s: %s is not what was set (%v)", tc.why, name, err)
			}
		}
		mustSet(t, store, map[string]string{"new": "x"})
		written, _, err := readFile("the store", path, maxStore)
		if err != nil || !bytes.HasPrefix(written, []byte(storeHeader)) {
			t.Errorf("%s: written without the header (%v)", tc.why, err)
		}
		if names, err := store.Names(context.Background()); err != nil || !cmp.Equal(names, []string{"api key", "db/password", "new"}) {
			t.Errorf("%s: names %q, %v", tc.why, names, err)
		}
	}
}
