package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

func encode(t testing.TB, s *state.Snapshot) []byte {
	t.Helper()
	data, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// row is version 3's row, ready to be changed by replacing a piece of it.
const row = `"s:local.File:a":{"dependencies":["s:local.Null:b"],"depends_on":[],"id":"s:local.File:a","input_hash":"ab","outputs":{"x":1},` +
	`"prevent_destroy":true,"properties":{"p":"caf\u00e9 \ud83d\ude00"},"provider":"local","provider_version":"1","ref_digests":{"p":"sha256:00"},` +
	`"secret_digests":{"s":"5e"},"status":"created","type":"local.File"}`

func document(version, nodes string) string {
	return `{"fences":{},"gen":0,"journal":{"epoch":"","format":1},"max_fence":0,"nodes":{` + nodes + `},"outputs":{"s:o":[1.0,null]},"owm":{},"serial":7,"version":` + version + `,"wm":{}}`
}

// T-161a, T-161b: the bytes of another release's file come back as they were.
func TestBytesOfTheFormat(t *testing.T) {
	for _, nodes := range []string{"", row} {
		want := document("3", nodes)
		got, err := Decode([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(encode(t, got.Snapshot))); diff != "" {
			t.Errorf("bytes (-want +got):\n%s", diff)
		}
	}
}

// ST-4, ST-6: everything that is recorded survives, small and large, and equal states
// have equal bytes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := statetest.DrawSnapshot(rt)
		data, err := Encode(want)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			rt.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(want, got.Snapshot, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("snapshot (-want +got):\n%s", diff)
		}
		again, err := Encode(got.Snapshot)
		if err != nil || !bytes.Equal(data, again) {
			rt.Fatalf("a second writing differs, %v", err)
		}
	})
}

// T-161e: both sides of the threshold read alike.
func TestCompression(t *testing.T) {
	for _, size := range []int{0, compressFrom - 400, compressFrom + 400} {
		want := &state.Snapshot{Serial: 1, Outputs: map[string]state.Output{"s:o": {Value: strings.Repeat("x", size)}}}
		data := encode(t, want)
		if packed := bytes.HasPrefix(data, []byte{0x1f, 0x8b}); packed != (size > compressFrom) {
			t.Errorf("%d bytes: compressed %v", size, packed)
		}
		if !bytes.Equal(data, encode(t, want)) {
			t.Errorf("%d bytes: two writings differ", size)
		}
		got, err := Decode(data)
		if err != nil || got.Outputs["s:o"].Value != want.Outputs["s:o"].Value {
			t.Errorf("%d bytes: %v", size, err)
		}
		if len(data) < compressFrom && size > compressFrom {
			if _, err := Decode(data[:len(data)/2]); !model.IsKind(err, model.StateError) {
				t.Errorf("half of a compressed file: %v", err)
			}
		}
	}
}

// ST-22, X-49: version 1 is read, with nothing known where it says nothing.
func TestFirstVersion(t *testing.T) {
	got, err := Decode([]byte(`{"nodes":{"s:local.File:a":{"dependencies":[],"id":"s:local.File:a","input_hash":"ab","outputs":{},"prevent_destroy":false,` +
		`"properties":{},"provider":"local","provider_version":"1","secret_digests":{},"status":"creating","type":"local.File"}},"outputs":{"s:o":"v"},"serial":3,"version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{Version: 1, Snapshot: &state.Snapshot{Serial: 3,
		Rows: map[string]*state.Row{"s:local.File:a": {ID: "s:local.File:a", Type: "local.File", Provider: "local", ProviderVersion: "1",
			InputHash: "ab", Status: state.StatusCreating}},
		Outputs: map[string]state.Output{"s:o": {Value: "v"}}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// ST-22: the old half of another release's replace is one of ours, with its row or without.
func TestReplacedRows(t *testing.T) {
	old := strings.ReplaceAll(row, "s:local.File:a", "s:local.File:a~replaced")
	for reason, nodes := range map[string]string{"beside its successor": row + "," + old, "alone": old} {
		got, err := Decode([]byte(document("3", nodes)))
		if err != nil {
			t.Fatal(err)
		}
		entry := got.Pending["s:local.File:a"]
		if entry == nil || entry.Row.ID != "s:local.File:a" || entry.Mode != state.CreateBeforeDestroy || entry.Row.Outputs["x"] != int64(1) {
			t.Errorf("%s: pending destroy %+v", reason, entry)
		}
		if wantRows := strings.Count(nodes, `"type"`) - 1; len(got.Rows) != wantRows {
			t.Errorf("%s: %d rows, want %d", reason, len(got.Rows), wantRows)
		}
	}
}

// T-161c, T-161d: nothing is guessed at.
func TestRefusals(t *testing.T) {
	whole := document("3", row)
	swap := func(old, with string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%s is not in the document", old)
		}
		return strings.Replace(whole, old, with, 1)
	}
	for _, c := range []struct{ reason, text, say string }{
		{"a newer version", document("4", row), "upgrade"},
		{"a version that never left its workshop", document("2", row), "version 2"},
		{"a version that is no integer", document("3.0", row), "no integer"},
		{"a truth value for a number", swap(`"serial":7`, `"serial":true`), "no integer"},
		{"a fraction", swap(`"gen":0`, `"gen":0.5`), "no integer"},
		{"another journal", swap(`"format":1`, `"format":2`), "journal"},
		{"no journal", swap(`"journal":{"epoch":"","format":1},`, ``), "journal"},
		{"empty", "", ""},
		{"no JSON", "SQLite format 3\x00", ""},
		{"no object", "[]", "object"},
		{"cut off", whole[:len(whole)-9], ""},
		{"more after the end", whole + "{}", ""},
		{"not UTF-8", swap(`"created"`, "\"\xff\""), "UTF-8"},
		{"half a character", swap(`\ud83d\ude00`, `\ud83d`), "half a character"},
		{"the other half", swap(`\ud83d\ude00`, `\ude00`), "half a character"},
		{"a NUL, which no store takes", swap(`\u00e9`, `\u0000`), "NUL"},
		{"a key twice", swap(`"status":"created"`, `"status":"created","status":"creating"`), "twice"},
		{"a row under another id", swap(`"id":"s:local.File:a"`, `"id":"s:local.File:b"`), "another id"},
		{"a row without a column", swap(`"provider":"local",`, ``), "provider"},
		{"a column of another type", swap(`"prevent_destroy":true`, `"prevent_destroy":1`), "prevent_destroy"},
		{"an unknown status", swap(`"status":"created"`, `"status":"deleting"`), "deleting"},
		{"a mode that nobody knows", swap(`"dependencies"`, `"pending_destroys":[{"mode":"later","row":{}}],"dependencies"`), "mode"},
		{"deeper than a store takes", swap(`"outputs":{"x":1}`, `"outputs":{"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`), "nested"},
		{"more values than a reader keeps in memory", swap(`"outputs":{"x":1}`, `"outputs":{"x":[`+strings.Repeat("0,", MaxValues)+`0]}`), "more than 10000000 values"},
		{"an integer beyond 64 bits", swap(`"x":1`, `"x":99999999999999999999`), "64 bits"},
	} {
		_, err := Decode([]byte(c.text))
		if !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want a user's StateError that says %q", c.reason, err, c.say)
		}
	}
}

// T-161d: arbitrary bytes are refused, or are the same state when they are written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(document("3", row)))
	f.Add([]byte(document("3", "")))
	f.Add([]byte(`{"nodes":{},"outputs":{},"serial":0,"version":1}`))
	f.Add([]byte{0x1f, 0x8b})
	f.Add(encode(f, &state.Snapshot{Outputs: map[string]state.Output{"s:o": {Value: strings.Repeat("x", compressFrom)}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Decode(data)
		if err != nil {
			if !model.IsKind(err, model.StateError) {
				t.Fatalf("%v is no StateError", err)
			}
			return
		}
		again, err := Decode(encode(t, got.Snapshot))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if diff := cmp.Diff(got.Snapshot, again.Snapshot, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}

func TestWrite(t *testing.T) {
	s := &state.Snapshot{Serial: 4, Outputs: map[string]state.Output{"s:o": {Value: "v"}}}
	dir := t.TempDir()
	path := filepath.Join(dir, Name(4, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)))
	if filepath.Base(path) != "atlantide-state-4-20300102T030405Z.atlas-state" {
		t.Errorf("the name is %s", path)
	}
	if err := Write(path, s, false); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Write(path, s, false); !errors.Is(err, fs.ErrExist) || !model.IsKind(err, model.StateError) {
		t.Errorf("a file that exists was written over: %v", err)
	}
	s.Serial = 5
	if err := Write(path, s, true); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || got.Serial != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: temporary files are left", entries, err)
	}
}

// RF-23: what a link leads to is never written.
func TestWriteNeverThroughALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, leads := range []string{target, filepath.Join(dir, "nowhere")} {
		if err := os.Symlink(leads, link); err != nil {
			t.Fatal(err)
		}
		if err := Write(link, &state.Snapshot{}, false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a link to %s was written over: %v", leads, err)
		}
		if err := Write(link, &state.Snapshot{}, true); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the name is still a link: %v", err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
		t.Errorf("the target holds %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file was made where a link led")
	}
}

// What is no file keeps its place, forced or not: a pipe, and so a device.
func TestWriteNeverOverWhatIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, overwrite := range []bool{false, true} {
		if err := Write(pipe, &state.Snapshot{}, overwrite); !model.IsKind(err, model.StateError) {
			t.Errorf("overwrite %t: %v, want a StateError", overwrite, err)
		}
		if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			t.Errorf("overwrite %t: the pipe is gone: %v", overwrite, err)
		}
	}
}

// T-199.
func TestReadRefusals(t *testing.T) {
	dir := t.TempDir()
	for reason, path := range map[string]string{"missing": filepath.Join(dir, "none"), "a folder": dir, "a device": os.DevNull} {
		if _, err := Read(path); !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a user's StateError that names the file", reason, err)
		}
	}
}

// Other writers' keys are passed over, and what we add is passed over by them: it is
// beside the columns, never instead of one.
func TestUnknownKeys(t *testing.T) {
	got, err := Decode([]byte(strings.Replace(document("3", row), `"status":"created"`, `"status":"created","from_the_future":{"a":[1]}`, 1)))
	if err != nil || got.Rows["s:local.File:a"] == nil {
		t.Fatalf("%v", err)
	}
	entry := &state.PendingDestroy{NodeID: "s:local.File:gone", Row: &state.Row{ID: "s:local.File:gone", Status: state.StatusCreated}, Mode: state.DestroyBeforeCreate}
	got.Pending[entry.NodeID] = entry
	var seen struct {
		Nodes map[string]map[string]any `json:"nodes"`
	}
	if err := json.Unmarshal(encode(t, got.Snapshot), &seen); err != nil {
		t.Fatal(err)
	}
	for id, node := range seen.Nodes {
		for _, key := range append(required, "id", "depends_on", "ref_digests") {
			if _, ok := node[key]; !ok {
				t.Errorf("%s has no %s", id, key)
			}
		}
	}
	if seen.Nodes["s:local.File:gone~replaced"] == nil {
		t.Errorf("other readers do not see the old half: %v", fmt.Sprint(seen.Nodes))
	}
}
