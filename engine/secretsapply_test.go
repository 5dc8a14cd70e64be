package engine_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// T-215, T-216: a handle and a drawn password on their way through an artifact, an apply, the
// files of a database and a second plan. What the provider writes is the value; what anybody
// else holds is not.
func TestSecretsOfAnApply(t *testing.T) {
	const token = "sentinel-token"
	i := newInstall(t, map[string]string{"token": token})
	i.build(random.New(rand.Reader, time.Now))
	at := localPlace(t)
	session := func() *secrets.Session {
		registry, err := secrets.NewRegistry("", i.vault)
		if err != nil {
			t.Fatal(err)
		}
		return secrets.NewSession(secrets.Options{Registry: registry, Keys: secrets.KeyFile{Path: i.key}, Partition: at.Partition})
	}
	c := i.compileText("from atlantide.core import SecretRef, Stack, output\nfrom atlantide.providers.local import File\nfrom atlantide.providers.random import Password\n" +
		"with Stack('s', region='r'):\n    p = Password('p')\n    File('token', path='token', content=SecretRef('token'))\n    File('drawn', path='drawn', content=p.result)\n    output('o', p.result)\n")
	artifact := i.mustBuild(c)
	if n := c.Document.Node("s:local.File:token"); len(n.Dependencies) > 0 {
		t.Errorf("T-216a: the handle makes the edges %v", n.Dependencies)
	}
	if strings.Contains(string(artifact), token) || !strings.Contains(string(artifact), model.KeySecretRef) {
		t.Errorf("T-216a, T-216e: the artifact holds the value, or not the handle:\n%s", artifact)
	}
	run := func() *engine.Result {
		t.Helper()
		s := session()
		result, err := i.engine.Apply(t.Context(), engine.ApplyRequest{Compilation: i.mustLoad(artifact), Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner,
			OnFailure: plan.OnFailureHalt, Secrets: s, Recorder: s.Recorder()})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	run()
	drawn, err := os.ReadFile(filepath.Join(i.dataDir, "drawn"))
	if err != nil || len(drawn) != 32 {
		t.Fatalf("the password is %q, %v", drawn, err)
	}
	i.wantFiles(map[string]string{"token": token, "drawn": string(drawn)})
	if again := run(); again.Report != nil {
		t.Errorf("T-215: the second run did %+v", again.Report)
	}
	row := at.load(t).Rows["s:local.File:token"]
	if same, err := session().Matches(row.SecretDigests["content"], token, row.RowUID+":content"); err != nil || !same || row.Properties["content"] == token {
		t.Errorf("T-216b: the row keeps %v and the digest %v (%v)", row.Properties, row.SecretDigests, err)
	}
	files, err := filepath.Glob(at.Label + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, secret := range map[string]string{"T-216c: the handle's value": token, "T-215: the password": string(drawn)} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s is in %s", what, name)
			}
		}
	}
}

// T-215: a command line without key material records what is drawn as plain text, if it is
// allowed to at all.
func TestUnsealedWithoutKeyMaterial(t *testing.T) {
	for plainSecrets, refused := range map[bool]bool{false: true, true: false} {
		d := newDesk(t)
		d.build(random.New(rand.Reader, time.Now))
		d.engine.PlainSecrets = plainSecrets
		at := localPlace(t)
		s := secrets.NewSession(secrets.Options{Partition: state.CommandLinePartition})
		_, err := d.engine.Apply(t.Context(), engine.ApplyRequest{Compilation: d.compileText("from atlantide.providers.random import Password\nPassword('p', length=8)\n"),
			Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner, OnFailure: plan.OnFailureHalt, Secrets: s, Recorder: s.Recorder()})
		if (err != nil) != refused {
			t.Errorf("plain secrets %t: error %v", plainSecrets, err)
		}
		row := at.load(t).Rows["default:random.Password:p"]
		switch {
		case refused && row != nil:
			t.Errorf("a refused run recorded %v", row.Outputs)
		case !refused:
			if text, ok := row.Outputs["result"].(string); !ok || len(text) != 8 {
				t.Errorf("recorded %v", row.Outputs)
			}
		}
	}
}

// EX-26: a destroy warns of nothing that it finds and deletes: whose address is sealed, it
// knows with the secrets that it is handed, before the lock and under it.
func TestDestroyFindsWhatIsSealed(t *testing.T) {
	i := newInstall(t, nil)
	i.build(random.New(rand.Reader, time.Now))
	at := localPlace(t)
	session := func() *secrets.Session {
		return secrets.NewSession(secrets.Options{Keys: secrets.KeyFile{Path: i.key}, Partition: at.Partition})
	}
	s := session()
	c := i.compileText("from atlantide.core import Stack\nfrom atlantide.providers.local import File\nfrom atlantide.providers.random import Password\n" +
		"with Stack('s', region='r'):\n    p = Password('p', length=12)\n    File('drawn', path=p.result, content='x')\n")
	if _, err := i.engine.Apply(t.Context(), engine.ApplyRequest{Compilation: c, Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner,
		OnFailure: plan.OnFailureHalt, Secrets: s, Recorder: s.Recorder()}); err != nil {
		t.Fatal(err)
	}
	const id = "s:local.File:drawn"
	row := at.load(t).Rows[id]
	row.Status, row.Outputs = state.StatusCreating, map[string]any{} // a run died in its create
	at.write(t, state.Batch{PutRows: []*state.Row{row}})
	blind, err := i.engine.PlanDestroy(t.Context(), at.load(t), nil)
	if err != nil || blind.Leaks[id] == "" {
		t.Errorf("without the key the plan says %v, %v", blind.Leaks, err)
	}
	shown, err := i.engine.PlanDestroy(t.Context(), at.load(t), session())
	if err != nil || len(shown.Warnings) > 0 {
		t.Errorf("with the key the plan warns: %v, %v", shown.Warnings, err)
	}
	result, err := i.engine.Destroy(t.Context(), engine.DestroyRequest{Partition: at.Partition, Store: at.Store, Locker: at.Locker, Owner: owner, Secrets: session()})
	if err != nil || len(result.Plan.Warnings) > 0 || len(result.Report.Orphaned) > 0 {
		t.Errorf("the run warns of %v and reports %+v, %v", result.Plan.Warnings, result.Report, err)
	}
	if left, err := filepath.Glob(filepath.Join(i.dataDir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
