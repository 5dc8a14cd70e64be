package secrets

import (
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Forms of a sealed value, by what its text begins with. This release writes the third,
// and reads the second, which 0.4 wrote. One without a prefix is of release 0.3 and is
// read only while a snapshot of it is imported (SC-8, SC-11).
const (
	secondPrefix = "v2:"
	secondScheme = "atlantide/sealed/v2"
	thirdPrefix  = "v3:"
	thirdScheme  = "atlantide/sealed/v3"
)

// maxSealed bounds a value at rest, in bytes.
const maxSealed = 16 << 20

// place is what a sealed value is bound to: it opens nowhere else.
type place struct {
	partition string
	owner     string // the uid of a row, or the key of a committed output
	field     string // "" of a committed output
}

func (p place) String() string {
	if p.field == "" {
		return "the output '" + sourcetree.Shown(p.owner) + "'"
	}
	return "the field '" + sourcetree.Shown(p.field) + "' of " + sourcetree.Shown(p.owner)
}

// additional is what is authenticated beside the ciphertext. Its parts hold no NUL, so no
// two places have the same.
func (p place) additional() (string, error) {
	parts := []string{thirdScheme, p.partition, p.owner, p.field}
	for _, part := range parts {
		if strings.ContainsRune(part, 0) {
			return "", userErrorf("%s cannot be sealed: a name in it holds a NUL; rename it", p)
		}
	}
	return strings.Join(parts, "\x00"), nil
}

// seal encrypts any value. Its plain form keeps integers and floats apart, so that what is
// opened is what was sealed.
func (r *Keyring) seal(v model.Value, at place, random io.Reader) (model.Value, error) {
	additional, err := at.additional()
	if err != nil {
		return nil, err
	}
	plain, err := model.EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxSealed {
		return nil, userErrorf("%s cannot be sealed: it is longer than %d bytes", at, maxSealed)
	}
	key := r.current()
	sealed, err := key.encrypt(random, plain, additional)
	if err != nil {
		return nil, err
	}
	return map[string]any{model.KeySealed: thirdPrefix + key.id + ":" + base64.StdEncoding.EncodeToString(sealed)}, nil
}

// opener opens sealed values of one place.
type opener struct {
	ring     func() (*Keyring, error) // asked for a sealed value only
	at       place
	imported bool // from a snapshot of release 0.3
}

// open is v with all that is sealed in it opened, at any depth; the rest passes through.
func (o opener) open(v model.Value) (model.Value, error) { return replaced(v, o.unseal) }

// reseal is v with all that is sealed in it opened, and sealed again by seal.
func (o opener) reseal(v model.Value, seal func(plain model.Value) (model.Value, error)) (model.Value, error) {
	return replaced(v, func(sealed any) (model.Value, error) {
		plain, err := o.unseal(sealed)
		if err != nil {
			return nil, err
		}
		return seal(plain)
	})
}

// replaced is v with what f makes of all that is sealed in it, at any depth.
func replaced(v model.Value, f func(sealed any) (model.Value, error)) (model.Value, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = replaced(item, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if sealed, ok := v[model.KeySealed]; ok && len(v) == 1 {
			return f(sealed)
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			var err error
			if out[key], err = replaced(item, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (o opener) unseal(sealed any) (model.Value, error) {
	text, ok := sealed.(string)
	if !ok {
		return nil, o.malformed()
	}
	ring, err := o.ring()
	if err != nil {
		return nil, err
	}
	if body, ok := strings.CutPrefix(text, thirdPrefix); ok {
		return o.unsealThird(ring, body)
	}
	body, second := strings.CutPrefix(text, secondPrefix)
	additional := secondScheme
	switch {
	case second:
	case o.imported:
		additional = ""
	default:
		return nil, userErrorf("the sealed value of %s is of no form that is read here; releases before 0.4 wrote such, import their snapshot", o.at)
	}
	data, ok := decodeSealed(body)
	if !ok {
		return nil, o.malformed()
	}
	plain, err := ring.decrypt(data, additional)
	if err != nil || !utf8.Valid(plain) {
		return nil, o.undecryptable(ring.origin)
	}
	return string(plain), nil
}

// unsealThird reads "{key id}:{base64}".
func (o opener) unsealThird(ring *Keyring, body string) (model.Value, error) {
	id, body, ok := strings.Cut(body, ":")
	data, decoded := decodeSealed(body)
	if !ok || !decoded || len(id) != keyIDLength {
		return nil, o.malformed()
	}
	key, ok := ring.key(id)
	if !ok {
		return nil, userErrorf("the value of %s was sealed with another key, %s, than the ones of %s; provide that key", o.at, sourcetree.Shown(id), ring.origin)
	}
	additional, err := o.at.additional()
	if err != nil {
		return nil, err
	}
	plain, err := key.decrypt(data, additional)
	if err != nil {
		return nil, o.undecryptable(ring.origin)
	}
	v, err := model.DecodeJSON(plain)
	if err != nil {
		return nil, o.malformed()
	}
	return v, nil
}

// decodeSealed accepts one text per data only, so that no byte of it can be changed.
func decodeSealed(text string) ([]byte, bool) {
	if len(text) > base64.StdEncoding.EncodedLen(maxSealed+64) {
		return nil, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil && base64.StdEncoding.EncodedLen(len(data)) == len(text)
}

func (o opener) malformed() error {
	return userErrorf("the sealed value of %s is damaged; restore it, or replace what it belongs to", o.at)
}

func (o opener) undecryptable(origin string) error {
	return userErrorf("the sealed value of %s does not open with %s: another key sealed it, or it is damaged, or was moved here from another place; "+
		"provide the key that wrote this state", o.at, origin)
}
