package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// KeySize is the length of an install key, in bytes (SC-7).
const KeySize = 32

// The texts that what is derived from a key begins with.
const (
	keyIDScheme = "atlantide/key-id/v1"
	saltScheme  = "atlantide/secret-salt/v1"
)

const keyIDLength = 8 // hex digits

// Key is an install key and what follows from it. It shows its id only; the rest is behind
// a function, where neither fmt nor reflection reaches it, whatever a Key is part of.
type Key struct {
	id  string
	use func() material
}

type material struct {
	salt []byte
	aead cipher.AEAD
}

// NewKey takes the 32 raw bytes of a key, and keeps none of them.
func NewKey(raw []byte) (Key, error) {
	if len(raw) != KeySize {
		return Key{}, userErrorf("an install key has %d bytes, not %d; provide the key as it was made", KeySize, len(raw))
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return Key{}, userErrorf("the install key cannot be used: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Key{}, userErrorf("the install key cannot be used: %w", err)
	}
	m := material{salt: derived(saltScheme, raw), aead: aead}
	return Key{id: hex.EncodeToString(derived(keyIDScheme, raw))[:keyIDLength], use: func() material { return m }}, nil
}

func derived(scheme string, raw []byte) []byte {
	sum := sha256.Sum256(append([]byte(scheme), raw...))
	return sum[:]
}

// ID tells keys apart without saying anything of them: it stands in every sealed value.
func (k Key) ID() string { return k.id }

// Format writes the id, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { conceal(f, "key "+k.id) }

func (k Key) salt() []byte { return k.use().salt }

// encrypt is nonce, ciphertext and tag.
func (k Key) encrypt(random io.Reader, plain []byte, additional string) ([]byte, error) {
	aead := k.use().aead
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, userErrorf("there is no randomness to encrypt with: %w", err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(additional)), nil
}

var errUndecryptable = errors.New("does not decrypt")

// Keyring is the key that is written with, and those that are read with as well.
// A Keyring does not change.
type Keyring struct {
	origin string
	keys   []Key // the current one first
}

// NewKeyring takes the name of where the keys are, which errors say, the current key and
// those before it (SC-22).
func NewKeyring(origin string, current Key, previous ...Key) *Keyring {
	return &Keyring{origin: origin, keys: append([]Key{current}, previous...)}
}

// IDs are those of its keys, the current one's first.
func (r *Keyring) IDs() []string {
	ids := make([]string, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id
	}
	return ids
}

// Load makes a Keyring a source of itself.
func (r *Keyring) Load() (*Keyring, error) { return r, nil }

// Make makes a Keyring a source of itself.
func (r *Keyring) Make() (*Keyring, error) { return r, nil }

// Format writes where the keys are, whatever the verb.
func (r *Keyring) Format(f fmt.State, _ rune) {
	if r != nil {
		conceal(f, "keys of "+r.origin)
	}
}

func (r *Keyring) current() Key { return r.keys[0] }

// key is the one of an id, or false.
func (r *Keyring) key(id string) (Key, bool) {
	for _, k := range r.keys {
		if k.id == id {
			return k, true
		}
	}
	return Key{}, false
}

// decrypt opens what encrypt made with any of the keys.
func (r *Keyring) decrypt(data []byte, additional string) ([]byte, error) {
	for _, k := range r.keys {
		if plain, err := k.decrypt(data, additional); err == nil {
			return plain, nil
		}
	}
	return nil, errUndecryptable
}

func (k Key) decrypt(data []byte, additional string) ([]byte, error) {
	aead := k.use().aead
	if len(data) < aead.NonceSize()+aead.Overhead() {
		return nil, errUndecryptable
	}
	plain, err := aead.Open(nil, data[:aead.NonceSize()], data[aead.NonceSize():], []byte(additional))
	if err != nil {
		return nil, errUndecryptable
	}
	return plain, nil
}
