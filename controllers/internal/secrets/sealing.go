package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// Keys of the Secret's data (SC-22).
const (
	currentKey     = "key"
	previousPrefix = "key-"
)

// maxKeys bounds how many keys are read with; every comparison of a digest tries each.
const maxKeys = 64

// ErrSealingKey is in the chain of an error about the operator's keys that only a person
// can mend; an operator that gets it is not ready.
var ErrSealingKey = errors.New("the sealing key is not usable")

// Records keeps which key an installation seals with, beside what is sealed with it.
type Records interface {
	// SealingKey is the id of the recorded key, "" before the first.
	SealingKey(ctx context.Context) (string, error)
	// RecordSealingKey records another one if the recorded one is still was, and reports
	// whether it did.
	RecordSealingKey(ctx context.Context, was, id string) (bool, error)
	// HoldsKeyed reports whether anything recorded needs a key.
	HoldsKeyed(ctx context.Context) (bool, error)
}

// sealing is the operator's keys: one Secret of its own namespace (SC-22).
type sealing struct {
	secrets         typedcorev1.SecretInterface
	namespace, name string
	records         Records
	rand            io.Reader

	mu    sync.Mutex
	known *secrets.Keyring // as last read and compared with the record; nil = not yet
}

// keys are those that were read before, while the current one of them is the recorded one:
// whoever seals with another records it first. Else they are read.
func (s *sealing) keys(ctx context.Context) (*secrets.Keyring, error) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known == nil {
		return s.load(ctx)
	}
	recorded, err := s.records.SealingKey(ctx)
	if err != nil || recorded == known.IDs()[0] {
		return known, err
	}
	return s.load(ctx)
}

// load reads the keys as they are now, so that a rotation needs no restart. A first key is
// made where nothing was ever recorded with one. Keys that the recorded one is not among
// are refused: with them everything sealed would be lost and every secret would read as
// rotated (N-38).
func (s *sealing) load(ctx context.Context) (*secrets.Keyring, error) {
	ctx, cancel := unlogged(ctx)
	defer cancel()
	secret, err := s.secrets.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret, err = s.make(ctx)
	}
	if err != nil {
		return nil, s.unreadable(err)
	}
	ring, err := s.ring(secret)
	if err != nil {
		return nil, err
	}
	if err := s.confirm(ctx, ring.IDs()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = ring
	return ring, nil
}

// make creates the Secret with a first key. Of several operators one succeeds.
func (s *sealing) make(ctx context.Context) (*corev1.Secret, error) {
	recorded, err := s.records.SealingKey(ctx)
	if err != nil {
		return nil, err
	}
	holds := recorded != ""
	if !holds {
		if holds, err = s.records.HoldsKeyed(ctx); err != nil {
			return nil, err
		}
	}
	if holds {
		return nil, s.errorf("is not there, and what is recorded needs the key that it held; restore it from a backup")
	}
	raw := make([]byte, secrets.KeySize)
	if _, err := io.ReadFull(s.rand, raw); err != nil {
		return nil, s.errorf("cannot be made: there is no randomness: %w", err)
	}
	created, err := s.secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: s.name,
			Labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.LabelPartOfValue},
		},
		Data: map[string][]byte{currentKey: raw},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return s.secrets.Get(ctx, s.name, metav1.GetOptions{})
	}
	return created, err
}

// ring is the keys of the Secret.
func (s *sealing) ring(secret *corev1.Secret) (*secrets.Keyring, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(secret.Data)), func(name string) bool { return !strings.HasPrefix(name, previousPrefix) })
	if len(names) >= maxKeys {
		return nil, s.errorf("has more than %d keys; remove those that nothing was recorded with for long", maxKeys)
	}
	if len(secret.Data[currentKey]) == 0 {
		return nil, s.errorf("has no data key '%s'; put the key that is to be sealed with there, %d random bytes", currentKey, secrets.KeySize)
	}
	keys := make([]secrets.Key, 0, len(names)+1)
	for _, name := range append([]string{currentKey}, names...) {
		key, err := secrets.NewKey(secret.Data[name])
		if err != nil {
			return nil, s.errorf("is of no use: data key '%s': %w", sourcetree.Shown(name), err)
		}
		keys = append(keys, key)
	}
	return secrets.NewKeyring("Secret "+s.namespace+"/"+s.name, keys[0], keys[1:]...), nil
}

// confirm compares the keys with the recorded one, and records the current one.
func (s *sealing) confirm(ctx context.Context, ids []string) error {
	const tries = 5 // others may be at it
	for range tries {
		recorded, err := s.records.SealingKey(ctx)
		if err != nil {
			return err
		}
		if recorded != "" && !slices.Contains(ids, recorded) {
			return s.errorf("does not have the key %s, which what is recorded was sealed with last, only %s; add that key under a name that begins with '%s'",
				sourcetree.Shown(recorded), strings.Join(ids, ", "), previousPrefix)
		}
		done := recorded == ids[0]
		if !done {
			if done, err = s.records.RecordSealingKey(ctx, recorded, ids[0]); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
	}
	return passing("which key is sealed with is changed by others all the time; it is tried again")
}

// unreadable is err of the API server, or of the store as it is.
func (s *sealing) unreadable(err error) error {
	if _, typed := errors.AsType[*model.Error](err); typed {
		return err
	}
	if apierrors.IsForbidden(err) {
		return s.errorf("may not be read or made by the operator's account; allow it get on that Secret, and create on secrets of that namespace or make it yourself: "+
			"head -c %d /dev/urandom > %s && kubectl -n %s create secret generic %s --from-file=%s: %w", secrets.KeySize, currentKey, s.namespace, s.name, currentKey, err)
	}
	return passing("cannot read Secret %s/%s with the sealing key: %w", s.namespace, s.name, err)
}

// errorf is an error that an administrator mends. It passes by itself then.
func (s *sealing) errorf(format string, args ...any) error {
	what := fmt.Errorf(format, args...) //nolint:err113 // it becomes the message of the error below
	e := passing("Secret %s/%s with the sealing key %s", s.namespace, s.name, what)
	e.Cause = ErrSealingKey
	return e
}
