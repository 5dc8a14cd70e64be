package main

import (
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

// olderNode is a node of the database that a release 0.3 left.
const olderNode = "s:local.File:a"

// sealedOlder leaves a database of release 0.3 in the working directory, with an output that
// it sealed with a key of 32 times 'k'.
func sealedOlder(t *testing.T, text string) {
	t.Helper()
	block, err := aes.NewCipher([]byte(strings.Repeat("k", secrets.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, aead.NonceSize())
	sealed := base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), nil))
	db, err := sql.Open("sqlite", "atlantide.db")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(statetest.OlderForm("text", "integer", true), fmt.Sprintf(`update nodes set outputs_json = '{"result":{"$sealed":%q}}'`, sealed)) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// ST-22, ST-23: what release 0.3 sealed opens with its key, before its database is converted
// and after; without the key nothing is converted, and none is made.
func TestSealedByAnOlderRelease(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, project.FileName, "")
	sealedOlder(t, "sentinel")
	refused := func(why string, args ...string) {
		t.Helper()
		stdout, stderr, code := atlantide(t.Context(), args...)
		if code != exitError || !strings.Contains(stderr, "atlantide.key") || strings.Contains(stdout+stderr, "sentinel") {
			t.Errorf("%s: exit code %d: %s%s", why, code, stdout, stderr)
		}
	}
	refused("no key", "state", "show", olderNode)
	refused("no key", "state", "rm", "-y", "--force", "s:local.Null:b")
	if _, err := os.Lstat("atlantide.key"); err == nil {
		t.Fatal("SC-7: a key was made")
	}
	write(t, "atlantide.key", strings.Repeat("x", secrets.KeySize))
	chmod(t, "atlantide.key", 0o600)
	refused("another key", "state", "rm", "-y", "--force", "s:local.Null:b")
	write(t, "atlantide.key", strings.Repeat("k", secrets.KeySize))
	shown := func(why string) {
		t.Helper()
		stdout, stderr, code := atlantide(t.Context(), "state", "show", "--reveal", olderNode)
		if code != exitOK || !strings.Contains(stdout, "sentinel") {
			t.Errorf("%s: exit code %d: %s%s", why, code, stdout, stderr)
		}
		stdout, stderr, code = atlantide(t.Context(), "state", "show", olderNode)
		if code != exitOK || strings.Contains(stdout+stderr, "sentinel") || !strings.Contains(stdout, "(sensitive)") {
			t.Errorf("%s, not revealed: exit code %d: %s%s", why, code, stdout, stderr)
		}
	}
	shown("as it is")
	if stdout, stderr, code := atlantide(t.Context(), "state", "rm", "-y", "--force", "s:local.Null:b"); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	shown("converted")
}
