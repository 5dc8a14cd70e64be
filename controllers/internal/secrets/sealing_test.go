package secrets

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

var createOptions = metav1.CreateOptions{}

func objectMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// rawKey is 32 times a letter.
func rawKey(letter string) []byte { return bytes.Repeat([]byte(letter), secrets.KeySize) }

func keyID(t *testing.T, letter string) string {
	t.Helper()
	key, err := secrets.NewKey(rawKey(letter))
	if err != nil {
		t.Fatal(err)
	}
	return key.ID()
}

// SC-22: a first key is made where nothing was recorded with one, once, and is recorded.
func TestSealingKeyIsMade(t *testing.T) {
	w := newTown(t)
	one, two := w.sessions(), w.sessions()
	w.granted(func() error { return one.Check(t.Context()) })
	w.Expect(two.Check(t.Context())).To(gomega.Succeed())
	secret, err := w.CoreV1().Secrets(w.operator).Get(t.Context(), DefaultSealingKey, metav1.GetOptions{})
	w.Expect(err).NotTo(gomega.HaveOccurred())
	key, err := secrets.NewKey(secret.Data["key"])
	if err != nil || key.ID() != w.records.id || len(secret.Data) != 1 {
		t.Errorf("key %v, %v, recorded %q", key, err, w.records.id)
	}
}

// SC-22, N-38: what must not be gone on with: each says what an administrator has to do,
// and nothing is made or recorded.
func TestSealingKeyRefused(t *testing.T) {
	many := map[string][]byte{"key": rawKey("a")}
	for range maxKeys {
		many["key-"+strings.Repeat("x", len(many))] = rawKey("b")
	}
	for _, c := range []struct {
		reason string
		data   map[string][]byte // nil = no Secret
		record *ledger
		want   string
	}{
		{"gone, and one is recorded", nil, &ledger{id: "00000000"}, "restore it from a backup"},
		{"gone, and something was sealed", nil, &ledger{keyed: true}, "restore it from a backup"},
		{"another key than the recorded one", map[string][]byte{"key": rawKey("a")}, &ledger{id: keyID(t, "b")}, "does not have the key " + keyID(t, "b")},
		{"no current key", map[string][]byte{"key-1": rawKey("a")}, &ledger{}, "no data key 'key'"},
		{"the key as text", map[string][]byte{"key": []byte("YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=")}, &ledger{}, "32 bytes, not 44"},
		{"a previous key that is none", map[string][]byte{"key": rawKey("a"), "key-old": []byte("short")}, &ledger{}, "data key 'key-old'"},
		{"more keys than are tried", many, &ledger{}, "more than 64 keys"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newTown(t)
			s := w.sessions()
			w.granted(func() error { return s.Check(t.Context()) })
			w.records.id, w.records.keyed = c.record.id, c.record.keyed
			w.Expect(w.CoreV1().Secrets(w.operator).Delete(t.Context(), DefaultSealingKey, metav1.DeleteOptions{})).To(gomega.Succeed())
			if c.data != nil {
				w.put(w.operator, DefaultSealingKey, c.data)
			}
			next := w.sessions()
			_, err := next.Open(t.Context(), w.stack())
			for _, err := range []error{err, next.Check(t.Context())} {
				if !errors.Is(err, ErrSealingKey) || !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != model.ClassTransient ||
					!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), w.operator+"/"+DefaultSealingKey) {
					t.Errorf("%v, want one with %q", err, c.want)
				}
			}
			if w.records.id != c.record.id {
				t.Errorf("%q was recorded", w.records.id)
			}
			if _, err := w.CoreV1().Secrets(w.operator).Get(t.Context(), DefaultSealingKey, metav1.GetOptions{}); c.data == nil && !apierrors.IsNotFound(err) {
				t.Errorf("a key was made: %v", err)
			}
		})
	}
}

// N-38: a rotation reads what was sealed before and writes with the new key, in every
// operator, from the moment on that one has recorded it; a value opens only where it was
// sealed.
func TestSealingKeyRotation(t *testing.T) {
	w := newTown(t)
	w.put(w.operator, DefaultSealingKey, map[string][]byte{"key": rawKey("a")})
	one, two := w.sessions(), w.sessions()
	w.granted(func() error { return one.Check(t.Context()) })
	w.Expect(two.Check(t.Context())).To(gomega.Succeed())
	stack := w.stack()
	session := w.open(one, stack)
	old, err := session.Recorder().Seal("sentinel", "row", "field")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	digest, err := session.Recorder().Digest("sentinel", "row:field")
	w.Expect(err).NotTo(gomega.HaveOccurred())

	w.put(w.operator, DefaultSealingKey, map[string][]byte{"key": rawKey("b"), "key-before": rawKey("a")})
	w.Expect(one.Check(t.Context())).To(gomega.Succeed())
	if w.records.id != keyID(t, "b") {
		t.Errorf("recorded is %s", w.records.id)
	}
	for _, s := range []*Sessions{one, two} {
		session := w.open(s, stack)
		if v, err := session.Unseal(old, "row", "field"); err != nil || v != "sentinel" {
			t.Errorf("what was sealed before opens as %v, %v", v, err)
		}
		if same, err := session.Matches(digest, "sentinel", "row:field"); err != nil || !same {
			t.Errorf("the digest of before matches: %v, %v", same, err)
		}
		now, err := session.Recorder().Seal("sentinel", "row", "field")
		if text := now.(map[string]any)["$sealed"].(string); err != nil || !strings.HasPrefix(text, "v3:"+keyID(t, "b")+":") {
			t.Errorf("it seals as %s, %v", text, err)
		}
		for _, place := range [][2]string{{"other row", "field"}, {"row", "other field"}} {
			if v, err := session.Unseal(now, place[0], place[1]); err == nil {
				t.Errorf("moved to %v it opens as %v", place, v)
			}
		}
		if v, err := w.open(s, w.stack()).Unseal(now, "row", "field"); err == nil {
			t.Errorf("in another Stack it opens as %v", v)
		}
	}
}
