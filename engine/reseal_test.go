package engine_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
	"github.com/atlantide-org/atlantide-operator/engine/state/sqlite"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

var (
	_ engine.StateSecrets  = (*secrets.Session)(nil)
	_ engine.ImportSecrets = (*secrets.Session)(nil)
)

// rawInstallKey is 32 times the byte; each makes another key.
func rawInstallKey(b byte) []byte { return bytes.Repeat([]byte{b}, secrets.KeySize) }

func sealingIn(t *testing.T, partition string, key byte) *secrets.Session {
	t.Helper()
	k, err := secrets.NewKey(rawInstallKey(key))
	if err != nil {
		t.Fatal(err)
	}
	return secrets.NewSession(secrets.Options{Keys: secrets.NewKeyring("a test key", k), Partition: partition})
}

// sealedPlace is a place whose partition has a name and, unless key is 0, a key.
func sealedPlace(t *testing.T, partition string, key byte) place {
	t.Helper()
	p := newPlace(t, partition, memory.New())
	p.Partition = partition
	p.Locker.(*lease.Stored).Partition = partition
	if key != 0 {
		session := sealingIn(t, partition, key)
		p.Secrets, p.Recorder = session, session.Recorder()
	}
	return p
}

const (
	sealedRow = "s:random.Password:p"
	rowUID    = "9d8a4a50-0000-4000-8000-000000000001"
)

// confidential is a state with everything that a state seals, and what it holds in plain.
func confidential(t *testing.T, seal func(v any, owner, field string) (any, error)) (sealed state.Batch, plain map[string]any) {
	t.Helper()
	sealedOf := func(v any, owner, field string) any {
		out, err := seal(v, owner, field)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	row := func(value any) *state.Row {
		return &state.Row{ID: sealedRow, Type: "random.Password", Kind: model.KindResource, Provider: "random", Status: state.StatusCreated, RowUID: rowUID,
			Outputs: map[string]any{"result": value, "open": "x", "deep": []any{map[string]any{"in": sealedOf("sentinel-3", rowUID, "deep")}}}}
	}
	plain = map[string]any{"row": "sentinel-1", "old": map[string]any{"a": []any{int64(1), 1.5, "sentinel-2"}}, "output": "sentinel-4"}
	return state.Batch{
		PutRows:    []*state.Row{row(sealedOf(plain["row"], rowUID, "result"))},
		PutPending: []*state.PendingDestroy{{NodeID: sealedRow, Row: row(sealedOf(plain["old"], rowUID, "result")), Mode: state.CreateBeforeDestroy}},
		SetOutputs: map[string]state.Output{"s:o": {Value: sealedOf(plain["output"], "s:o", ""), Sensitive: true, SourceNodes: []string{sealedRow}}, "s:open": {Value: "x"}},
	}, plain
}

// opens reports what a state holds in plain, opened as in the partition that it lies in.
func opens(t *testing.T, s *state.Snapshot, by *secrets.Session) map[string]any {
	t.Helper()
	open := func(v any, owner, field string) any {
		if m, ok := v.(map[string]any); !ok || m[model.KeySealed] == nil {
			t.Errorf("%s of %s is not sealed: %v", field, owner, v)
		}
		out, err := by.Unseal(v, owner, field)
		if err != nil {
			t.Errorf("%s of %s: %v", field, owner, err)
		}
		return out
	}
	row, old := s.Rows[sealedRow], s.Pending[sealedRow].Row
	if deep, err := by.Unseal(row.Outputs["deep"], rowUID, "deep"); err != nil || !cmp.Equal(deep, any([]any{map[string]any{"in": "sentinel-3"}})) {
		t.Errorf("in the depths: %v, %v", deep, err)
	}
	if row.Outputs["open"] != "x" || s.Outputs["s:open"].Value != "x" {
		t.Errorf("what is open was changed: %v, %v", row.Outputs, s.Outputs)
	}
	return map[string]any{"row": open(row.Outputs["result"], rowUID, "result"), "old": open(old.Outputs["result"], rowUID, "result"), "output": open(s.Outputs["s:o"].Value, "s:o", "")}
}

// SC-11: what is brought to another partition is sealed for it, with its own key; the source
// stays as it is.
func TestSealedStateMoves(t *testing.T) {
	d := newDesk(t)
	from, to, third := sealedPlace(t, "one", 1), sealedPlace(t, "two", 2), sealedPlace(t, "three", 1)
	batch, plain := confidential(t, from.Recorder.Seal)
	from.write(t, batch)
	before := from.load(t)
	if _, err := d.migrate(t, from, to, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, opens(t, to.load(t), sealingIn(t, "two", 2))); diff != "" {
		t.Errorf("migrated (-want +got):\n%s", diff)
	}
	sameState(t, "the source", before, from.load(t))
	restore, err := d.engine.PreviewRestore(third.load(t), to.load(t), true)
	if err != nil {
		t.Fatal(err)
	}
	restore.From = &to.StatePlace
	if err := d.engine.RestoreState(t.Context(), third.StatePlace, restore); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, opens(t, third.load(t), sealingIn(t, "three", 1))); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if _, err := sealingIn(t, "three", 1).Unseal(before.Rows[sealedRow].Outputs["result"], rowUID, "result"); err == nil {
		t.Error("a seal of another partition opens: the test proves nothing")
	}
}

// Within one partition no key is needed: what is sealed is carried as it is.
func TestSealedStateStays(t *testing.T) {
	d := newDesk(t)
	from, to := sealedPlace(t, "one", 0), sealedPlace(t, "one", 0)
	to.Label = "another store"
	batch, plain := confidential(t, sealingIn(t, "one", 1).Recorder().Seal)
	from.write(t, batch)
	if _, err := d.migrate(t, from, to, false); err != nil {
		t.Fatal(err)
	}
	sameState(t, "to another store", from.load(t), to.load(t))
	restore, err := d.engine.PreviewRestore(to.load(t), from.load(t), true)
	if err == nil {
		err = d.engine.RestoreState(t.Context(), to.StatePlace, restore)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, opens(t, to.load(t), sealingIn(t, "one", 1))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What cannot be sealed for where it goes does not go there, and never in plain.
func TestSealedStateRefuses(t *testing.T) {
	for _, tc := range []struct {
		why      string
		from, to byte // keys
		opens    byte // the key that the source says it has
		text     string
	}{
		{"no key of the source", 1, 2, 0, "provide the install keys"},
		{"no key of the destination", 1, 0, 1, "provide the install keys"},
		{"the key of another source", 1, 2, 3, "does not open"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			d := newDesk(t)
			from, to := sealedPlace(t, "one", tc.opens), sealedPlace(t, "two", tc.to)
			batch, _ := confidential(t, sealingIn(t, "one", tc.from).Recorder().Seal)
			from.write(t, batch)
			_, err := d.migrate(t, from, to, false)
			if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassUser || strings.Contains(err.Error(), "sentinel") {
				t.Fatalf("error %v", err)
			}
			if tc.opens == tc.from && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %q; want %q", err, tc.text)
			}
			if s := to.load(t); len(s.Rows)+len(s.Outputs)+len(s.Pending) > 0 {
				t.Errorf("something was written: %v", s)
			}
			from.free(t)
			to.free(t)
		})
	}
	t.Run("a destination that seals nothing", func(t *testing.T) {
		d := newDesk(t)
		from, to := sealedPlace(t, "one", 1), sealedPlace(t, "two", 0)
		to.Recorder = secrets.NewSession(secrets.Options{Partition: "two"}).Recorder()
		batch, _ := confidential(t, from.Recorder.Seal)
		from.write(t, batch)
		if _, err := d.migrate(t, from, to, false); !model.IsKind(err, model.SecretsError) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("what holds nothing sealed needs no key", func(t *testing.T) {
		d := newDesk(t)
		from, to := sealedPlace(t, "one", 0), sealedPlace(t, "two", 0)
		from.write(t, populated())
		if _, err := d.migrate(t, from, to, false); err != nil {
			t.Error(err)
		}
	})
}

// sealedBy03 is a value as release 0.3 sealed it: bound to nothing, without a version.
func sealedBy03(t *testing.T, key byte, text string) map[string]any {
	t.Helper()
	block, err := aes.NewCipher(rawInstallKey(key))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, aead.NonceSize())
	return map[string]any{model.KeySealed: base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), nil))}
}

// older is a local database as release 0.3 left it, with a sealed output and a digest that
// was made without a key.
func older(t *testing.T, session engine.ImportSecrets, keep func(context.Context, *state.Snapshot) error) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "atlantide.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := model.EncodeJSON(map[string]any{"result": sealedBy03(t, 1, "sentinel")})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := secrets.NewSession(secrets.Options{}).Digest("hunter2", olderID+":content")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statetest.OlderForm("text", "integer", true) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "update nodes set outputs_json = $1, secret_digests_json = $2", string(outputs), `{"content":"`+digest+`"}`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store := sqlite.New(sqlite.Options{Path: path, Backup: keep, Imported: engine.Imported(session, uuid.NewString)})
	t.Cleanup(func() { _ = store.Close() })
	return newPlace(t, path, store)
}

const olderID = "s:local.File:a"

// ST-22, ST-23, T-212, T-214b: what release 0.3 sealed and digested is ours in every reading
// of its database, in the backup, and after the conversion; no reading makes a key.
func TestImportedSecrets(t *testing.T) {
	session := sealingIn(t, state.CommandLinePartition, 1)
	var kept *state.Snapshot
	p := older(t, session, func(_ context.Context, s *state.Snapshot) error { kept = s; return nil })
	check := func(why string, s *state.Snapshot) {
		t.Helper()
		for _, row := range []*state.Row{s.Rows[olderID], s.Pending[olderID].Row} {
			if v, err := session.Unseal(row.Outputs["result"], row.RowUID, "result"); err != nil || v != "sentinel" {
				t.Errorf("%s: %v opens as %v, %v", why, row.Outputs, v, err)
			}
			if same, err := session.Matches(row.SecretDigests["content"], "hunter2", olderID+":content"); err != nil || !same {
				t.Errorf("%s: the digest does not count: %t, %v", why, same, err)
			}
			if same, err := session.Matches(row.SecretDigests["content"], "hunter3", olderID+":content"); err != nil || same {
				t.Errorf("%s: a rotation is not seen: %t, %v", why, same, err)
			}
		}
	}
	first := p.load(t)
	check("read", first)
	check("read again", p.load(t))
	p.write(t, state.Batch{DeleteRows: []string{"s:local.Null:b"}})
	check("converted", p.load(t))
	check("kept", kept)
	if _, err := session.Unseal(sealedBy03(t, 1, "sentinel"), first.Rows[olderID].RowUID, "result"); err == nil {
		t.Error("T-214b: a seal without a version opens without being imported")
	}
}

// A database whose seals do not open is neither converted nor read as if there were none.
func TestImportedSecretsRefuses(t *testing.T) {
	keyPath := filepath.Join(t.TempDir(), "atlantide.key")
	for why, tc := range map[string]struct {
		session *secrets.Session
		text    string
	}{
		"another key": {sealingIn(t, state.CommandLinePartition, 2), "does not open"},
		"no key yet":  {secrets.NewSession(secrets.Options{Keys: secrets.KeyFile{Path: keyPath}, Partition: state.CommandLinePartition}), keyPath},
	} {
		p := older(t, tc.session, func(context.Context, *state.Snapshot) error { return nil })
		_, err := p.Store.Load(t.Context(), p.Partition)
		if !model.IsKind(err, model.SecretsError) || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), olderID) {
			t.Errorf("%s: error %v", why, err)
		}
		if _, err := os.Lstat(keyPath); err == nil {
			t.Errorf("SC-7: %s: reading made a key", why)
		}
	}
}

// ST-22: a snapshot of version 1 is made ours before it is restored.
func TestImportedSnapshot(t *testing.T) {
	d := newDesk(t)
	session := sealingIn(t, state.CommandLinePartition, 1)
	sealed := sealedBy03(t, 1, "sentinel")[model.KeySealed].(string)
	file, err := snapshot.Decode([]byte(`{"nodes":{"` + olderID + `":{"dependencies":[],"id":"` + olderID + `","input_hash":"ab","outputs":{"result":{"$sealed":"` + sealed + `"}},"prevent_destroy":false,` +
		`"properties":{},"provider":"local","provider_version":"1","secret_digests":{"content":"5e"},"status":"created","type":"local.File"}},"outputs":{"s:o":{"$sealed":"` + sealed + `"}},"serial":0,"version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Imported(session, uuid.NewString)(t.Context(), file.Snapshot); err != nil {
		t.Fatal(err)
	}
	p := localPlace(t)
	restore, err := d.engine.PreviewRestore(p.load(t), file.Snapshot, false)
	if err == nil {
		err = d.engine.RestoreState(t.Context(), p.StatePlace, restore)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := p.load(t)
	row := s.Rows[olderID]
	got := map[string]any{}
	if got["row"], err = session.Unseal(row.Outputs["result"], row.RowUID, "result"); err != nil {
		t.Error(err)
	}
	if got["output"], err = session.Unseal(s.Outputs["s:o"].Value, "s:o", ""); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]any{"row": "sentinel", "output": "sentinel"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// SC-9: the text of a SourceFile is hidden wherever it is shown, so it lies sealed, and so
// does an output made of it; to plan, to follow and to refresh it is as good as plain.
func TestSourceFileIsSealed(t *testing.T) {
	const config = "from atlantide.core import Stack, concat, output\nfrom atlantide.providers.local import File, SourceFile\n" +
		"with Stack('s', region='r'):\n    src = SourceFile('src', path='motd.txt')\n    File('copy', path='out.txt', content=src.content)\n    output('o', concat('<', src.content))\n"
	d := newDesk(t)
	session := func() *secrets.Session { return sealingIn(t, partition, 1) }
	run := func(text string) *engine.Result {
		t.Helper()
		c, err := d.compileWith(sourcetree.Texts(map[string]string{"motd.txt": text}), config)
		if err != nil {
			t.Fatal(err)
		}
		s := session()
		result, err := d.engine.Apply(t.Context(), engine.ApplyRequest{
			Compilation: c, Partition: partition, Store: d.store, Locker: d.locker, Owner: owner, OnFailure: plan.OnFailureHalt, Secrets: s, Recorder: s.Recorder(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if shown := result.Plan.Text(); strings.Contains(shown, "sentinel") {
			t.Errorf("the plan shows it:\n%s", shown)
		}
		return result
	}
	for _, text := range []string{"sentinel 1\n", "sentinel 2\n"} {
		run(text)
		row, out := d.snapshot().Rows["s:local.SourceFile:src"], d.snapshot().Outputs["s:o"]
		if got, err := session().Unseal(row.Outputs["content"], row.RowUID, "content"); err != nil || got != text || cmp.Equal(row.Outputs["content"], any(text)) {
			t.Errorf("%v is %v, %v", row.Outputs["content"], got, err)
		}
		if got, err := session().Unseal(out.Value, "s:o", ""); err != nil || got != "<"+text || !out.Sensitive || cmp.Equal(out.Value, any("<"+text)) {
			t.Errorf("the output %+v is %v, %v", out, got, err)
		}
		d.wantFiles(map[string]string{"out.txt": text})
		if again := run(text); again.Report != nil {
			t.Errorf("the same text again did %+v", again.Report)
		}
		drift, err := d.engine.Refresh(t.Context(), engine.RefreshRequest{
			Snapshot: d.snapshot(), Owner: owner, Source: sourcetree.Texts(map[string]string{"motd.txt": text}), Secrets: session(),
		})
		if err != nil || len(drift.Nodes) != 2 || len(drift.Nodes[0].Changed)+len(drift.Nodes[1].Changed) > 0 {
			t.Errorf("drift %+v, %v", drift, err)
		}
	}
}
