package secrets

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/scrub"
)

// Options are what a Session works with.
type Options struct {
	Registry *Registry // nil = no handle resolves
	// Keys are the key material. Without any, nothing is sealed, and digests are such as
	// everybody can compute (SC-9, SC-13).
	Keys Keys
	// Partition is the one whose state the run reads and writes: what is sealed in it
	// opens in no other (SC-11).
	Partition string
	Rand      io.Reader // of nonces; nil = crypto/rand
}

// Session is what one run sees of secrets: each is asked for once, and does not change
// under the run. It only reads; a Recorder is for what a run writes. A Session is safe for
// concurrent use and is dropped at the end of its run.
type Session struct {
	options Options

	mu       sync.Mutex
	resolved map[model.SecretRef]*answer
	told     scrub.Set

	// The keys are read under a lock of their own: a file system may hang, and who asks for
	// a secret must still be able to give up.
	loading sync.Mutex
	ring    *Keyring // once it was loaded
}

// NewSession begins a run.
func NewSession(o Options) *Session {
	if o.Registry == nil {
		o.Registry = &Registry{}
	}
	o.Registry = o.Registry.forRun()
	o.Rand = randomOr(o.Rand)
	return &Session{options: o, resolved: map[model.SecretRef]*answer{}}
}

// answer is what a provider said, or will say to who has the turn.
type answer struct {
	turn  chan struct{}
	given bool
	value Text
	err   error
}

// Resolve gives the value that a handle names. What a provider said, also that it has no
// such secret, holds for the rest of the run.
func (s *Session) Resolve(ctx context.Context, ref model.SecretRef) (string, error) {
	if ref.Provider == "" {
		ref.Provider = s.options.Registry.byDefault
	}
	a := s.answer(ref)
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", interrupted(ctx)
	}
	if !a.given {
		value, err := s.options.Registry.Resolve(ctx, ref)
		if err != nil && ctx.Err() != nil {
			return "", interrupted(ctx)
		}
		a.value, a.err, a.given = value, err, true
		if err == nil {
			s.told.Add(value.Reveal())
		}
	}
	if a.err != nil {
		return "", a.err
	}
	return a.value.Reveal(), nil
}

// Check is how the provider is that answers for a handle which names none (RF-27).
func (s *Session) Check(ctx context.Context) Check {
	r := s.options.Registry
	p := r.provider(r.byDefault)
	if p == nil {
		return Check{Name: "secrets", Status: StatusSkip, Detail: "there is no secret provider"}
	}
	return checkedBy(ctx, p)
}

func interrupted(ctx context.Context) error {
	return model.Errorf(model.SecretsError, model.ClassTransient, "waiting for a secret or its store was interrupted: %w", context.Cause(ctx))
}

func (s *Session) answer(ref model.SecretRef) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.resolved[ref]
	if a == nil {
		a = &answer{turn: make(chan struct{}, 1)}
		s.resolved[ref] = a
	}
	return a
}

// Digest is the digest of a secret within a scope. It never makes a key.
func (s *Session) Digest(text, scope string) (string, error) { return s.digest(text, scope, Keys.Load) }

func (s *Session) digest(text, scope string, source func(Keys) (*Keyring, error)) (string, error) {
	if s.options.Keys == nil {
		return digest([]byte(fallbackSalt), scope, text), nil
	}
	ring, err := s.keys(source)
	if err != nil {
		return "", err
	}
	return digest(ring.current().salt(), scope, text), nil
}

// Matches reports whether a recorded digest is that of text under one of the scopes, with
// any key that is loaded. A digest that is absent matches nothing.
func (s *Session) Matches(recorded, text string, scopes ...string) (bool, error) {
	salts := [][]byte{[]byte(fallbackSalt)}
	switch {
	case recorded == "":
		return false, nil
	case s.options.Keys != nil:
		ring, err := s.keys(Keys.Load)
		if err != nil {
			return false, err
		}
		salts = ring.salts()
	}
	return matches(recorded, text, salts, scopes), nil
}

// Unseal opens what is sealed in v, at any depth. owner is the uid of the row whose output
// field it is, or the key of a committed output, field then being "".
func (s *Session) Unseal(v any, owner, field string) (any, error) {
	return s.opener(owner, field, false).open(v)
}

// Reseal is v with what is sealed in it opened as Unseal does and sealed again by seal,
// which is that of the place where v is brought to (SC-11).
func (s *Session) Reseal(v any, owner, field string, seal func(v any, owner, field string) (any, error)) (any, error) {
	return s.opener(owner, field, false).reseal(v, func(plain any) (any, error) { return seal(plain, owner, field) })
}

// Adopt is v, which release 0.3 wrote, with what is sealed in it sealed as this release
// does. It alone opens sealed values that bear no version, and it never makes a key (ST-22).
func (s *Session) Adopt(v any, owner, field string) (any, error) {
	o := s.opener(owner, field, true)
	return o.reseal(v, func(plain any) (any, error) {
		ring, err := o.ring()
		if err != nil {
			return nil, err
		}
		return ring.seal(plain, o.at, s.options.Rand)
	})
}

// AdoptDigest marks a digest that release 0.3 wrote: it counts under the fallback salt as
// well, which one of this release never does (ST-22).
func (s *Session) AdoptDigest(digest string) string { return importedPrefix + digest }

func (s *Session) opener(owner, field string, imported bool) opener {
	return opener{at: place{s.options.Partition, owner, field}, imported: imported, ring: func() (*Keyring, error) {
		if s.options.Keys == nil {
			return nil, userErrorf("%s is sealed, and there is no install key to open it with; provide the one that wrote this state: %w",
				place{s.options.Partition, owner, field}, fs.ErrNotExist)
		}
		return s.keys(Keys.Load)
	}}
}

// keys remembers the keys, but not that there are none: a Recorder may make one.
func (s *Session) keys(source func(Keys) (*Keyring, error)) (*Keyring, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.ring == nil {
		ring, err := source(s.options.Keys)
		if err != nil {
			return nil, err
		}
		s.ring = ring
	}
	return s.ring, nil
}

// Format says no more than what it is, whatever the verb.
func (s *Session) Format(f fmt.State, _ rune) { conceal(f, "secrets of a run") }

// Recorder makes what a run writes of secrets. It is for a run that holds its lock, since
// the first thing that it makes may make the install key (SC-7).
type Recorder struct{ session *Session }

// Recorder is the writing half of the session.
func (s *Session) Recorder() *Recorder { return &Recorder{s} }

// Digest is the digest of a secret within a scope.
func (r *Recorder) Digest(text, scope string) (string, error) {
	return r.session.digest(text, scope, Keys.Make)
}

// Seal is v as it may lie in a store: encrypted whole, whatever it is, and bound to where
// it lies. owner and field are those of Session.Unseal. Without key material it is v.
func (r *Recorder) Seal(v any, owner, field string) (any, error) {
	s := r.session
	if s.options.Keys == nil {
		return v, nil
	}
	ring, err := s.keys(Keys.Make)
	if err != nil {
		return nil, err
	}
	return ring.seal(v, place{s.options.Partition, owner, field}, s.options.Rand)
}

// Seals reports whether what is sealed is encrypted: whether there is key material.
func (s *Session) Seals() bool { return s.options.Keys != nil }
