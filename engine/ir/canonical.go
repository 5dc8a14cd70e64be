package ir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// CanonicalJSON writes v in its canonical form, RFC 8785. It streams the bytes that
// jcs.Transform would make of v's JSON; a property and a fuzz target hold the two
// equal.
//
// v is a model.Value, or a map or list of such with Go's int, []string and
// map[string]string in it. An integer outside ±(2^53−1), a number that is not finite
// and text that is not UTF-8 are an IRError.
func CanonicalJSON(v any) ([]byte, error) {
	var e encoder
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.out, nil
}

// Equal compares two values by their canonical bytes, as hashes do: 1 and 1.0 are one
// value (DF-5). A value without a canonical form, as a provider may record one, equals
// only what is stored the same.
func Equal(a, b any) bool {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return ok && x == y
	}
	x, errX := CanonicalJSON(a)
	y, errY := CanonicalJSON(b)
	if errX != nil && errY != nil {
		x, errX = model.EncodeJSON(a)
		y, errY = model.EncodeJSON(b)
	}
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Digest is the hex SHA-256 of v's canonical form.
func Digest(v any) (string, error) {
	data, err := CanonicalJSON(v)
	if err != nil {
		return "", err
	}
	return hexSHA256(data), nil
}

// DigestPrefix begins a digest as it is shown, approved and recorded outside of the IR.
const DigestPrefix = "sha256:"

// PrefixedDigest is DigestPrefix and the Digest of v.
func PrefixedDigest(v any) (string, error) {
	digest, err := Digest(v)
	if err != nil {
		return "", err
	}
	return DigestPrefix + digest, nil
}

// SHA256 is DigestPrefix and the hex SHA-256 of data.
func SHA256(data []byte) string { return DigestPrefix + hexSHA256(data) }

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

const (
	// maxSafeInteger is the largest integer that every reader of doubles keeps.
	maxSafeInteger = 1<<53 - 1
	// maxDepth bounds recursion over values; evaluation refuses deeper ones before.
	maxDepth = 10_000
)

// encoder appends canonical JSON to out. It can be reused after out is cut to 0.
type encoder struct {
	out  []byte
	keys []string // a stack: the keys of every map that is open
}

func (e *encoder) value(v any, depth int) error {
	if depth > maxDepth {
		return model.Errorf(model.IRError, model.ClassUser, "a value is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case string:
		return e.text(v)
	case int64:
		return e.integer(v)
	case int:
		return e.integer(int64(v))
	case float64:
		return e.number(v)
	case []any:
		return list(e, v, func(item any) error { return e.value(item, depth+1) })
	case []string:
		return list(e, v, e.text)
	case map[string]any:
		return object(e, v, func(item any) error { return e.value(item, depth+1) })
	case map[string]string:
		return object(e, v, e.text)
	default:
		return model.Errorf(model.IRError, model.ClassUser, "a value of type %T has no canonical form", v)
	}
	return nil
}

func list[T any](e *encoder, items []T, write func(T) error) error {
	e.out = append(e.out, '[')
	for i, item := range items {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := write(item); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func object[T any](e *encoder, members map[string]T, write func(T) error) error {
	base := len(e.keys)
	for key := range members {
		e.keys = append(e.keys, key)
	}
	slices.SortFunc(e.keys[base:], compareUTF16)
	e.out = append(e.out, '{')
	for i := range len(members) {
		key := e.keys[base+i] // inner maps may have moved the stack
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.text(key); err != nil {
			return err
		}
		e.out = append(e.out, ':')
		if err := write(members[key]); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	e.keys = e.keys[:base]
	return nil
}

func (e *encoder) integer(i int64) error {
	if i > maxSafeInteger || i < -maxSafeInteger {
		return model.Errorf(model.IRError, model.ClassUser,
			"the integer %d is outside ±(2^53 - 1), which canonical JSON can hold; write it as text", i)
	}
	e.out = strconv.AppendInt(e.out, i, 10)
	return nil
}

func (e *encoder) number(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return model.Errorf(model.IRError, model.ClassUser, "a number that is not finite has no canonical form")
	}
	text, err := jcs.NumberToJSON(f)
	if err != nil {
		return model.Errorf(model.IRError, model.ClassUser, "number without a canonical form: %w", err)
	}
	e.out = append(e.out, text...)
	return nil
}

const hexDigits = "0123456789abcdef"

func (e *encoder) text(s string) error {
	if !utf8.ValidString(s) {
		return model.Errorf(model.IRError, model.ClassUser, "the text %+.40q holds a lone surrogate or is not UTF-8", s)
	}
	e.out = append(e.out, '"')
	written := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		e.out = append(e.out, s[written:i]...)
		written = i + 1
		switch c {
		case '"', '\\':
			e.out = append(e.out, '\\', c)
		case '\b':
			e.out = append(e.out, '\\', 'b')
		case '\t':
			e.out = append(e.out, '\\', 't')
		case '\n':
			e.out = append(e.out, '\\', 'n')
		case '\f':
			e.out = append(e.out, '\\', 'f')
		case '\r':
			e.out = append(e.out, '\\', 'r')
		default:
			e.out = append(e.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	e.out = append(e.out, s[written:]...)
	e.out = append(e.out, '"')
	return nil
}

// compareUTF16 orders UTF-8 texts by their UTF-16 code units. That is byte order,
// save that a character beyond U+FFFF (a lead byte from F0) comes before one from
// U+E000 on (EE, EF): its surrogates are smaller.
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x < 0xF0) != (y < 0xF0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}
