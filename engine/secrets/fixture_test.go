package secrets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// testKey is bytes 0 to 31, as in the conformance vectors; otherKey is not.
func testKey(t testing.TB) Key  { return keyFrom(t, 0) }
func otherKey(t testing.TB) Key { return keyFrom(t, 100) }

func keyFrom(t testing.TB, first byte) Key {
	t.Helper()
	key, err := NewKey(rawKey(first))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rawKey(first byte) []byte {
	raw := make([]byte, KeySize)
	for i := range raw {
		raw[i] = first + byte(i)
	}
	return raw
}

func testRing(t testing.TB) *Keyring { return NewKeyring("the test key", testKey(t)) }

// counting is randomness that counts from 100, as in the vectors that were made elsewhere.
type counting struct{ next byte }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 100 + c.next
		c.next++
	}
	return len(p), nil
}

// newStore is a store in a folder of its own, with its key beside it; neither exists yet.
func newStore(t testing.TB) *Keyfile {
	t.Helper()
	dir := t.TempDir()
	return storeIn(dir)
}

func storeIn(dir string) *Keyfile {
	return &Keyfile{Path: filepath.Join(dir, "atlantide.secrets"), Keys: KeyFile{Path: filepath.Join(dir, "atlantide.key")}}
}

func mustSet(t testing.TB, k *Keyfile, values map[string]string) {
	t.Helper()
	for name, value := range values {
		if err := k.Set(context.Background(), name, NewText(value)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeRaw(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func wantUserError(t testing.TB, err error, texts ...string) {
	t.Helper()
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Kind != model.SecretsError || e.Class != model.ClassUser {
		t.Fatalf("error %v; want a SecretsError of the user's", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q; want %q in it", err, text)
		}
	}
}

// vault is a provider that counts how often it is asked.
type vault struct {
	name   string
	values map[string]string
	asked  chan string // nil = nobody listens
	err    error       // of everything that is not in values
}

func (v *vault) Name() string { return v.name }

func (v *vault) Resolve(_ context.Context, name string) (Text, error) {
	if v.asked != nil {
		v.asked <- name
	}
	if value, ok := v.values[name]; ok {
		return NewText(value), nil
	}
	if v.err != nil {
		return Text{}, v.err
	}
	return Text{}, userErrorf("'%s' is not in %s", name, v.name)
}

func mustRegistry(t testing.TB, byDefault string, providers ...Provider) *Registry {
	t.Helper()
	r, err := NewRegistry(byDefault, providers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
