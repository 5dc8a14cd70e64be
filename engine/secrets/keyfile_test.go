package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestKeyfileRoundTrip(t *testing.T) {
	ctx := context.Background()
	store := newStore(t)
	values := map[string]string{"b": "sentinel-1", "a/b c": "grün ✓\n", "empty": "", "wide": strings.Repeat("x", MaxValue)}
	mustSet(t, store, values)
	reopened := storeIn(filepath.Dir(store.Path))
	if names, err := reopened.Names(ctx); err != nil || !cmp.Equal(names, []string{"a/b c", "b", "empty", "wide"}) {
		t.Errorf("T-207a: names %q, %v", names, err)
	}
	for name, value := range values {
		if got, err := reopened.Resolve(ctx, name); err != nil || got.Reveal() != value {
			t.Errorf("T-207a: %s is not what was set (%v)", name, err)
		}
	}
	data, err := os.ReadFile(store.Path)
	must(t, err)
	if !bytes.HasPrefix(data, []byte("ATLSTORE1\n")) || bytes.Contains(data, []byte("sentinel")) {
		t.Errorf("T-207c: the file begins %q or holds a value", data[:10])
	}
	if info, err := os.Stat(store.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	mustSet(t, store, map[string]string{"b": "other"})
	if got, err := store.Resolve(ctx, "b"); err != nil || got.Reveal() != "other" {
		t.Errorf("redefined: %v", err)
	}
	for _, want := range []bool{true, false} {
		if found, err := store.Delete(ctx, "b"); err != nil || found != want {
			t.Errorf("T-207b: deleted %t, %v; want %t", found, err, want)
		}
	}
	_, err = store.Resolve(ctx, "b")
	wantUserError(t, err, "'b'", store.Path)
}

func TestAbsentStore(t *testing.T) {
	ctx := context.Background()
	store := newStore(t)
	names, err := store.Names(ctx)
	if err != nil || len(names) > 0 {
		t.Errorf("names %v, %v", names, err)
	}
	if found, err := store.Delete(ctx, "x"); err != nil || found {
		t.Errorf("deleted %t, %v", found, err)
	}
	_, err = store.Resolve(ctx, "x")
	wantUserError(t, err, "'x'")
	for _, name := range listed(t, filepath.Dir(store.Path)) {
		if !strings.HasSuffix(name, ".lock") {
			t.Errorf("SC-7: looking made %s", name)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tc := range []struct{ why, name, value, text string }{
		{"no name", "", "v", "no name"},
		{"a name over two lines", "a\nb", "v", "control character"},
		{"a name with a NUL", "a\x00", "v", "control character"},
		{"a name that is not UTF-8", "\xff", "v", "UTF-8"},
		{"a name that is too long", strings.Repeat("n", maxName+1), "v", "longer than 512"},
		{"a value that is not UTF-8", "n", "v\xff", "base64"},
		{"a value that is too long", "n", strings.Repeat("v", MaxValue+1), "longer than 65536"},
	} {
		store := newStore(t)
		err := store.Set(context.Background(), tc.name, NewText(tc.value))
		if !model.IsKind(err, model.SecretsError) || !strings.Contains(fmt.Sprint(err), tc.text) || strings.Contains(fmt.Sprint(err), "vv") {
			t.Errorf("%s: error %v; want %q", tc.why, err, tc.text)
		}
		if files := listed(t, filepath.Dir(store.Path)); len(files) > 0 {
			t.Errorf("%s: made %v", tc.why, files)
		}
	}
}

// What cannot be a store, or not one of this key, is neither read nor written over.
func TestHostileStores(t *testing.T) {
	whole := func(t *testing.T) []byte {
		t.Helper()
		data, err := encodeStore(map[string]Text{"n": NewText("sentinel")}, testKey(t), &counting{})
		must(t, err)
		return data
	}
	sealed := func(t *testing.T, plain string) []byte {
		t.Helper()
		data, err := testKey(t).encrypt(&counting{}, []byte(plain), storeScheme)
		must(t, err)
		return append([]byte(storeHeader), data...)
	}
	for _, tc := range []struct {
		why  string
		make func(t *testing.T, path string)
		text string
	}{
		{"empty", func(t *testing.T, path string) { writeRaw(t, path, nil, 0o600) }, "damaged"},
		{"nothing but a header", func(t *testing.T, path string) { writeRaw(t, path, []byte(storeHeader), 0o600) }, "damaged"},
		{"truncated", func(t *testing.T, path string) { data := whole(t); writeRaw(t, path, data[:len(data)-1], 0o600) }, "damaged"},
		{"T-213 corrupt", func(t *testing.T, path string) { data := whole(t); data[30] ^= 1; writeRaw(t, path, data, 0o600) }, "damaged"},
		{"without its header, as if of release 0.3", func(t *testing.T, path string) { writeRaw(t, path, whole(t)[len(storeHeader):], 0o600) }, "damaged"},
		{"T-213 of another key", func(t *testing.T, path string) {
			data, err := encodeStore(nil, otherKey(t), &counting{})
			must(t, err)
			writeRaw(t, path, data, 0o600)
		}, "another key"},
		{"a list", func(t *testing.T, path string) { writeRaw(t, path, sealed(t, `["sentinel"]`), 0o600) }, "no map"},
		{"no JSON", func(t *testing.T, path string) { writeRaw(t, path, sealed(t, `{"a":"sentinel"`), 0o600) }, "no map"},
		{"two documents", func(t *testing.T, path string) { writeRaw(t, path, sealed(t, `{}{}`), 0o600) }, "no map"},
		{"a value that is no text", func(t *testing.T, path string) { writeRaw(t, path, sealed(t, `{"a":null}`), 0o600) }, "'a' is no text"},
		{"too large", func(t *testing.T, path string) {
			writeRaw(t, path, nil, 0o600)
			must(t, os.Truncate(path, int64(maxStore+storeOverhead+1)))
		}, "longer than"},
		{"a folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "a folder"},
		{"a pipe, which would block", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, "a pipe"},
		{"a link that leads nowhere", func(t *testing.T, path string) { must(t, os.Symlink(path+"-gone", path)) }, "leads nowhere"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			ctx := context.Background()
			path := filepath.Join(t.TempDir(), "store")
			tc.make(t, path)
			before, _ := os.Lstat(path)
			store := &Keyfile{Path: path, Keys: testRing(t)}
			_, resolved := store.Resolve(ctx, "n")
			_, listed := store.Names(ctx)
			_, deleted := store.Delete(ctx, "n")
			for _, err := range []error{resolved, listed, deleted, store.Set(ctx, "n", NewText("v"))} {
				wantUserError(t, err, tc.text, path)
				if strings.Contains(err.Error(), "sentinel") {
					t.Errorf("%q holds a value", err)
				}
			}
			if check := store.Check(ctx); check.Status != StatusFail || !strings.Contains(check.Detail, tc.text) {
				t.Errorf("check %+v", check)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("it was written over: %v", err)
			}
		})
	}
}

func TestKeyfileCheck(t *testing.T) {
	store := newStore(t)
	want := func(status, detail string) {
		t.Helper()
		check := store.Check(context.Background())
		if check.Name != "secrets: keyfile" || check.Status != status || !strings.Contains(check.Detail, detail) {
			t.Errorf("T-213: check %+v; want %s, %q", check, status, detail)
		}
	}
	want(StatusOK, "no store yet")
	mustSet(t, store, map[string]string{"a": "1", "b": "2"})
	want(StatusOK, "2 secrets")
	must(t, os.Remove(store.Keys.(KeyFile).Path))
	want(StatusFail, store.Keys.(KeyFile).Path)
	writeRaw(t, store.Keys.(KeyFile).Path, rawKey(7), 0o600)
	want(StatusFail, store.Keys.(KeyFile).Path)
	// A lost key is never replaced by a new one, under which nothing would open.
	must(t, os.Remove(store.Keys.(KeyFile).Path))
	wantUserError(t, store.Set(context.Background(), "c", NewText("3")), store.Keys.(KeyFile).Path)
}

func TestLinkedStoreStaysALink(t *testing.T) {
	dir := t.TempDir()
	store := storeIn(dir)
	mustSet(t, store, map[string]string{"a": "1"})
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(store.Path, link))
	linked := &Keyfile{Path: link, Keys: store.Keys}
	mustSet(t, linked, map[string]string{"b": "2"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info, err)
	}
	if names, err := store.Names(context.Background()); err != nil || len(names) != 2 {
		t.Errorf("names %v, %v", names, err)
	}
}

func TestStoreIsBounded(t *testing.T) {
	values := map[string]Text{}
	for i := range maxStore/MaxValue + 1 {
		values[fmt.Sprint(i)] = NewText(strings.Repeat("x", MaxValue))
	}
	_, err := encodeStore(values, testKey(t), &counting{})
	wantUserError(t, err, "longer than 16777216")
}

func TestHostileLocks(t *testing.T) {
	for _, tc := range []struct {
		why  string
		make func(t *testing.T, path string)
	}{
		{"a link, which would make a file elsewhere", func(t *testing.T, path string) { must(t, os.Symlink(path+"-elsewhere", path)) }},
		{"a folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }},
		{"a pipe", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }},
	} {
		store := newStore(t)
		tc.make(t, store.Path+".lock")
		wantUserError(t, store.Set(context.Background(), "n", NewText("v")), ".lock")
		if names := listed(t, filepath.Dir(store.Path)); len(names) != 1 {
			t.Errorf("%s: the folder holds %v", tc.why, names)
		}
	}
}

func TestWaitForTheLockEnds(t *testing.T) {
	store := newStore(t)
	release, err := lockFile(context.Background(), "the secret store", store.Path+".lock")
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("the user gave up")
	done := make(chan error)
	go func() { done <- store.Set(ctx, "n", NewText("v")) }()
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) || model.ClassOf(err) != model.ClassTransient {
		t.Errorf("error %v", err)
	}
	go func() { done <- store.Set(context.Background(), "n", NewText("v")) }()
	release()
	must(t, <-done)
}

// T-207e within a process; TestTwoProcesses has two.
func TestConcurrentWriters(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if err := storeIn(dir).Set(context.Background(), fmt.Sprint(i), NewText("v")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := storeIn(dir).Names(context.Background()); err != nil || len(names) != 12 {
		t.Errorf("T-207e: names %v, %v", names, err)
	}
}

// A run sees the store as it was when it was first asked; the next run sees it as it is.
func TestRunSeesOneStore(t *testing.T) {
	ctx := context.Background()
	store := newStore(t)
	mustSet(t, store, map[string]string{"a": "old", "b": "old"})
	registry := mustRegistry(t, "", store)
	first := NewSession(Options{Registry: registry})
	if got, err := first.Resolve(ctx, model.SecretRef{Name: "a"}); err != nil || got != "old" {
		t.Fatal(got, err)
	}
	mustSet(t, store, map[string]string{"b": "new", "c": "new"})
	if got, err := first.Resolve(ctx, model.SecretRef{Name: "b"}); err != nil || got != "old" {
		t.Errorf("the run sees %q, %v", got, err)
	}
	if _, err := first.Resolve(ctx, model.SecretRef{Name: "c"}); !model.IsKind(err, model.SecretsError) {
		t.Errorf("the run sees what came later: %v", err)
	}
	if got, err := NewSession(Options{Registry: registry}).Resolve(ctx, model.SecretRef{Name: "b"}); err != nil || got != "new" {
		t.Errorf("T-217b: the next run sees %q, %v", got, err)
	}
}

// FuzzStore reads any bytes as a file, and any text as what an authentic file holds.
func FuzzStore(f *testing.F) {
	ring := testRing(f)
	for _, seed := range []string{"", storeHeader, `{"a":"b"}`, `{"a":{"b":[]}}`, "{\"\xff\":\"\xff\"}", strings.Repeat("[", 20000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if values, err := decodeStore(data, ring); err == nil {
			t.Fatalf("%d bytes that nobody encrypted read as %d secrets", len(data), len(values))
		}
		sealed, err := ring.current().encrypt(&counting{}, data, storeScheme)
		must(t, err)
		values, err := decodeStore(append([]byte(storeHeader), sealed...), ring)
		if err != nil {
			return
		}
		again, err := encodeStore(values, ring.current(), &counting{})
		must(t, err)
		reread, err := decodeStore(again, ring)
		if err != nil || len(reread) != len(values) {
			t.Fatalf("%d secrets read back as %d, %v", len(values), len(reread), err)
		}
		for name, value := range values {
			if reread[name].Reveal() != value.Reveal() {
				t.Fatalf("%q reads back as another value", name)
			}
		}
	})
}
