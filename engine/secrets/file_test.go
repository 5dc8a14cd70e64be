package secrets

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// T-207d: until a file gets its name there is the old one, and then it is whole; a write
// that fails leaves nothing behind.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	writeRaw(t, path, []byte("old"), 0o644)
	full := errors.New("the disk is full")
	for _, tc := range []struct {
		why     string
		publish func(from, to string) error
		want    string
		err     error
	}{
		{"it fails at the last step", func(string, string) error { return full }, "old", full},
		{"it succeeds", os.Rename, "new", nil},
	} {
		err := writeFile("the file", path, []byte("new"), func(from, to string) error {
			before, err := os.ReadFile(to)
			must(t, err)
			written, err := os.ReadFile(from)
			must(t, err)
			info, err := os.Stat(from)
			must(t, err)
			if string(before) != "old" || string(written) != "new" || info.Mode().Perm() != 0o600 || filepath.Dir(from) != filepath.Dir(to) {
				t.Errorf("%s: before it is named, %s holds %q with mode %v beside %q", tc.why, from, written, info.Mode(), before)
			}
			return tc.publish(from, to)
		})
		if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
			t.Errorf("%s: error %v", tc.why, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.why, got, err, tc.want)
		}
		if got := listed(t, filepath.Dir(path)); !cmp.Equal(got, []string{"file"}) {
			t.Errorf("%s: the folder holds %v", tc.why, got)
		}
	}
}
