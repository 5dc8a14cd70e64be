package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
)

// Items 102 to 104.
func TestStateBackupAndRestore(t *testing.T) {
	onBothStores(t, func(d *desk) {
		d.run("backup-empty", exitOK, "backup", "empty.atlas-state")
		record(t, d.target, d.recorded())
		before := d.load()
		d.run("backup", exitOK, "backup", "kept.atlas-state")
		if info, err := os.Stat("kept.atlas-state"); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		kept := read(t, "kept.atlas-state")
		if strings.Contains(kept, sealedText) {
			t.Error("the snapshot holds what is sealed as plain text")
		}
		d.run("restore-same", exitOK, "restore", "kept.atlas-state", "-y")
		sameState(t, "restored over itself", before, d.load())

		extra := &state.Row{ID: "demo:local.Null:extra", Type: "local.Null", Kind: "resource", Provider: "local", InputHash: "cd", Status: state.StatusCreated, RowUID: "1e4c6d2a-0b5f-4a51-9d8e-000000000009"}
		record(t, d.target, state.Batch{PutRows: []*state.Row{extra}, DeleteRows: []string{statePassword}, RemoveOutputs: []string{"demo:n"}})
		d.run("restore-serial", exitError, "restore", "kept.atlas-state", "-y")
		d.run("restore-unasked", exitError, "restore", "kept.atlas-state", "--force")
		if d.load().Rows[extra.ID] == nil {
			t.Error("it was restored unasked")
		}
		serial := d.load().Serial
		d.run("restore-force", exitOK, "restore", "kept.atlas-state", "--force", "-y")
		sameState(t, "restored by force", before, d.load())
		if now := d.load().Serial; now <= serial {
			t.Errorf("the serial went from %d to %d", serial, now)
		}
		d.run("restore-empty", exitOK, "restore", "empty.atlas-state", "--force", "-y")
		if s := d.load(); len(s.Rows)+len(s.Pending)+len(s.Outputs) > 0 {
			t.Errorf("left: %+v", s)
		}
		d.free()
	})
}

var defaultName = regexp.MustCompile(`^atlantide-state-1-\d{8}T\d{6}Z\.atlas-state$`)

// Item 104: a snapshot takes the place of no other file, unless it is told to.
func TestStateBackupFiles(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		for range 3 { // within a second, too
			if _, stderr, code := atlantide(t.Context(), "state", "backup"); code != exitOK {
				t.Fatal(stderr)
			}
		}
		kept := snapshots(t)
		for _, name := range kept {
			if !defaultName.MatchString(name) || read(t, name) != read(t, kept[0]) {
				t.Errorf("%s", name)
			}
		}
		if len(kept) != 3 {
			t.Fatalf("snapshots: %v", kept)
		}
		want := read(t, kept[0])
		write(t, "other", "precious")
		link(t, "other", "link")
		mkdir(t, "folder")
		for _, c := range []struct {
			reason, path string
			force        bool
			mentions     string // "" = done
		}{
			{"a file that is there", "other", false, "--force"},
			{"a link", "link", false, "--force"},
			{"a link gives its name away, and nothing is written where it leads", "link", true, ""},
			{"a file, by force", "kept", true, ""},
			{"a folder", "folder", true, "folder"},
			{"a folder that is not there", "no/such", true, "no/such"},
			{"the project file", project.FileName, true, "of the project itself"},
			{"the key", "atlantide.key", true, "of the project itself"},
			{"no name", "", true, "empty"},
			{"no name that a file can have", "a\x00", true, "NUL"},
		} {
			args := []string{"state", "backup", c.path}
			if c.force {
				args = append(args, "--force")
			}
			before := entries(t, ".")
			stdout, stderr, code := atlantide(t.Context(), args...)
			if (code == exitOK) != (c.mentions == "") || !strings.Contains(stderr, c.mentions) {
				t.Errorf("%s: exit code %d: %s%s", c.reason, code, stdout, stderr)
			}
			if c.mentions == "" && read(t, c.path) != want {
				t.Errorf("%s: %s is no snapshot", c.reason, c.path)
			}
			if diff := cmp.Diff(before, entries(t, ".")); c.mentions != "" && diff != "" {
				t.Errorf("%s: something was left (-before +after):\n%s", c.reason, diff)
			}
		}
		if read(t, "other") != "precious" {
			t.Error("a snapshot was written through a link")
		}
		if d.store == project.BackendLocal {
			for _, name := range []string{"atlantide.db", "atlantide.db-wal", "./atlantide.db-shm", "atlantide.db-journal", "atlantide.key", "atlantide.secrets"} {
				if _, stderr, code := atlantide(t.Context(), "state", "backup", name, "--force"); code != exitError || !strings.Contains(stderr, "of the project itself") {
					t.Errorf("%s: exit code %d: %s", name, code, stderr)
				}
			}
		}
		sameState(t, "a backup changes nothing", d.load(), loadState(t, d.target))
		d.free()
	})
}

// Item 105.
func TestStateRestoreOfWhatIsNoSnapshot(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		before := d.load()
		write(t, "junk", "{")
		write(t, "newer", `{"version":99,"serial":1,"nodes":{},"outputs":{}}`)
		write(t, "large.gz", "\x1f\x8b"+strings.Repeat("x", 100))
		mkdir(t, "folder")
		for _, c := range []struct{ path, mentions string }{
			{"nowhere", "nowhere"}, {"junk", "junk"}, {"newer", "99"}, {"large.gz", "large.gz"}, {"folder", "folder"}, {"", "empty"},
			{filepath.Join("junk", "below"), "junk/below"},
		} {
			stdout, stderr, code := atlantide(t.Context(), "state", "restore", c.path, "--force", "-y")
			if code != exitError || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, c.mentions) {
				t.Errorf("%q: exit code %d: %s%s", c.path, code, stdout, stderr)
			}
		}
		sameState(t, "refused", before, d.load())
		d.free()
	})
}

// A snapshot of one store is one of every store, and of release 0.3 too.
func TestStateSnapshotsGoEverywhere(t *testing.T) {
	onBothStores(t, func(d *desk) {
		record(t, d.target, d.recorded())
		before := d.load()
		if _, stderr, code := atlantide(t.Context(), "state", "backup", "kept"); code != exitOK {
			t.Fatal(stderr)
		}
		if _, stderr, code := atlantide(t.Context(), "state", "restore", "kept", "--state", "other.db", "--force", "-y"); code != exitOK {
			t.Fatal(stderr)
		}
		sameState(t, "in a local database", before, loadState(t, d.opened("other.db")))
		write(t, "first", firstSnapshot(t))
		if _, stderr, code := atlantide(t.Context(), "state", "restore", "first", "--force", "-y"); code != exitOK {
			t.Fatal(stderr)
		}
		if row := d.load().Rows[statePassword]; row == nil || row.RowUID == "" || len(d.load().Rows) != 1 {
			t.Errorf("%+v", row)
		}
		if stdout, stderr, code := atlantide(t.Context(), "state", "show", statePassword, "-r"); code != exitOK || !strings.Contains(stdout, "result = 'of release 0.3'") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
		write(t, "atlantide.key", strings.Repeat("k", 32))
		if stdout, stderr, code := atlantide(t.Context(), "state", "restore", "first", "--force", "-y"); code != exitError || !strings.Contains(stderr, "'result'") {
			t.Errorf("a sealed value that would never open again: exit code %d: %s%s", code, stdout, stderr)
		}
		if file, err := snapshot.Read("first"); err != nil || file.Version != 1 {
			t.Errorf("%+v, %v", file, err)
		}
	})
}

// firstSnapshot is what release 0.3 kept of a password, which it sealed with the key that
// is there.
func firstSnapshot(t *testing.T) string {
	t.Helper()
	block, err := aes.NewCipher([]byte(read(t, "atlantide.key")))
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, sealer.NonceSize())
	sealed := base64.StdEncoding.EncodeToString(sealer.Seal(nonce, nonce, []byte("of release 0.3"), nil))
	return `{"nodes":{"` + statePassword + `":{"dependencies":[],"id":"` + statePassword + `","input_hash":"ab","outputs":{"result":{"$sealed":"` + sealed + `"}},"prevent_destroy":false,` +
		`"properties":{},"provider":"random","provider_version":"1","secret_digests":{},"status":"created","type":"random.Password"}},"outputs":{},"serial":0,"version":1}`
}
