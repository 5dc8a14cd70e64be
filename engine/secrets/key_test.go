package secrets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

func TestKeyFileLoad(t *testing.T) {
	for _, tc := range []struct {
		why   string
		make  func(t *testing.T, path string)
		texts []string // nil = it loads
	}{
		{"T-208b a whole key of its owner's", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0), 0o600) }, nil},
		{"nobody can write it", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0), 0o400) }, nil},
		{"by a link", func(t *testing.T, path string) {
			writeRaw(t, path+"-real", rawKey(0), 0o600)
			must(t, os.Symlink(path+"-real", path))
		}, nil},
		{"T-208a the world reads it", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0), 0o604) }, []string{"0604", "chmod"}},
		{"the group reads it", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0), 0o640) }, []string{"0640"}},
		{"the group may run it", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0), 0o610) }, []string{"0610"}},
		{"the world reads it by a link", func(t *testing.T, path string) {
			writeRaw(t, path+"-real", rawKey(0), 0o644)
			must(t, os.Symlink(path+"-real", path))
		}, []string{"0644"}},
		{"too short", func(t *testing.T, path string) { writeRaw(t, path, rawKey(0)[:31], 0o600) }, []string{"32 bytes, not 31"}},
		{"too long", func(t *testing.T, path string) { writeRaw(t, path, append(rawKey(0), '\n'), 0o600) }, []string{"longer than 32", "hex or base64", "bring back"}},
		{"empty", func(t *testing.T, path string) { writeRaw(t, path, nil, 0o600) }, []string{"not 0"}},
		{"a folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, []string{"a folder"}},
		{"a pipe, which would block", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, []string{"a pipe"}},
		{"a device", func(t *testing.T, path string) { must(t, os.Symlink(os.DevNull, path)) }, []string{"a device"}},
		{"SC-7 a link that leads nowhere", func(t *testing.T, path string) { must(t, os.Symlink(path+"-gone", path)) }, []string{"leads nowhere"}},
		{"a link to itself", func(t *testing.T, path string) { must(t, os.Symlink(path, path)) }, []string{"cannot read"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "atlantide.key")
			tc.make(t, path)
			before := listed(t, filepath.Dir(path))
			for what, load := range map[string]func() (*Keyring, error){"Load": KeyFile{Path: path}.Load, "Make": KeyFile{Path: path}.Make} {
				ring, err := load()
				if tc.texts == nil {
					if err != nil || ring.current().ID() != goldenKeyID {
						t.Errorf("%s: %v, %v", what, ring, err)
					}
					continue
				}
				wantUserError(t, err, append(tc.texts, path)...)
			}
			if after := listed(t, filepath.Dir(path)); len(after) != len(before) {
				t.Errorf("the folder holds %v; was %v", after, before)
			}
		})
	}
}

func TestKeyFileMake(t *testing.T) {
	f := KeyFile{Path: filepath.Join(t.TempDir(), "atlantide.key")}
	_, err := f.Load()
	wantUserError(t, err, f.Path)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v does not say that there is no file", err)
	}
	if files := listed(t, filepath.Dir(f.Path)); len(files) > 0 {
		t.Fatalf("SC-7: to look for the key made %v", files)
	}
	made, err := f.Make()
	must(t, err)
	info, err := os.Stat(f.Path)
	must(t, err)
	if info.Mode().Perm() != 0o600 || info.Size() != KeySize {
		t.Errorf("T-207c: mode %v, %d bytes", info.Mode(), info.Size())
	}
	loaded, err := f.Load()
	must(t, err)
	again, err := f.Make()
	must(t, err)
	if loaded.current().ID() != made.current().ID() || again.current().ID() != made.current().ID() {
		t.Error("the key is not the one that was made")
	}
	if files := listed(t, filepath.Dir(f.Path)); len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
	_, err = KeyFile{Path: filepath.Join(filepath.Dir(f.Path), "no", "key")}.Make()
	wantUserError(t, err, "no such file")
	_, err = KeyFile{Path: f.Path + "2", Rand: failing{}}.Make()
	wantUserError(t, err, "randomness")
}

// What a process left that was killed while it made the key holds a raw key; whoever makes
// or finds the key next takes it away, and the lock as well.
func TestKilledKeyMaker(t *testing.T) {
	for why, exists := range map[string]bool{"before the key had its name": false, "after it": true} {
		f := KeyFile{Path: filepath.Join(t.TempDir(), "atlantide.key")}
		dir := filepath.Dir(f.Path)
		if exists {
			writeRaw(t, f.Path, rawKey(0), 0o600)
		} else {
			writeRaw(t, f.Path+".lock", nil, 0o600)
		}
		writeRaw(t, filepath.Join(dir, ".atlantide.key.tmp-1"), rawKey(0), 0o600)
		writeRaw(t, filepath.Join(dir, ".another.key.tmp-1"), rawKey(0), 0o600)
		ring, err := f.Make()
		must(t, err)
		if made := ring.current().ID() != goldenKeyID; made == exists {
			t.Errorf("%s: a key is made: %t", why, made)
		}
		if got := listed(t, dir); !slices.Equal(got, []string{".another.key.tmp-1", "atlantide.key"}) {
			t.Errorf("%s: the folder holds %v", why, got)
		}
	}
}

// T-208c: whoever comes second takes the key of who came first.
func TestKeyFileRace(t *testing.T) {
	f := KeyFile{Path: filepath.Join(t.TempDir(), "atlantide.key")}
	ids := make([]string, 16)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range ids {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			ring, err := f.Make()
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = ring.current().ID()
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("keys %v; want one", ids)
		}
	}
	if files := listed(t, filepath.Dir(f.Path)); len(files) != 1 {
		t.Errorf("the folder holds %v", files)
	}
}

func TestNewKeySize(t *testing.T) {
	for _, n := range []int{0, 16, 31, 33} {
		_, err := NewKey(make([]byte, n))
		wantUserError(t, err, "32 bytes")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listed(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
