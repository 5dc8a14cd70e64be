package py

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.starlark.net/starlark"
	"golang.org/x/text/unicode/norm"
)

// Helpers are the pure functions every config sees, also attributes of atlantide
// (lang.md §8.2).
func Helpers() starlark.StringDict {
	return starlark.StringDict{
		"uuid5":           NewNative("uuid5", uuid5),
		"sha256_hex":      NewNative("sha256_hex", sha256Hex),
		"hmac_sha256_hex": NewNative("hmac_sha256_hex", hmacHex),
		"b64encode":       NewNative("b64encode", b64encode),
		"b64decode":       NewNative("b64decode", b64decode),
		"to_json":         NewNative("to_json", toJSON),
		"from_json":       NewNative("from_json", fromJSON),
		"merge":           NewNative("merge", merge),
		"slugify":         NewNative("slugify", slugify),
	}
}

// uuidRoot is the namespace of all namespaces.
var uuidRoot = uuid.NewSHA1(uuid.NameSpaceURL, []byte("atlantide"))

func uuid5(_ *thread, args tuple, kwargs kwargsT) (value, error) {
	texts, err := bindTexts("uuid5", []string{"namespace", "name"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	namespace, err := encodeUTF8(texts[0])
	if err != nil {
		return nil, err
	}
	name, err := encodeUTF8(texts[1])
	if err != nil {
		return nil, err
	}
	return starlark.String(uuid.NewSHA1(uuid.NewSHA1(uuidRoot, namespace), name).String()), nil
}

// encodedArgs binds texts that are encoded, as the reference's .encode() does.
func encodedArgs(name string, params []string, args tuple, kwargs kwargsT) ([][]byte, error) {
	bound, err := BindArgs(name, params, args, kwargs)
	if err != nil {
		return nil, err
	}
	encoded := make([][]byte, len(bound))
	for i, v := range bound {
		s, ok := v.(starlark.String)
		if !ok {
			return nil, AttributeErrorf("'%s' object has no attribute 'encode'", TypeName(v))
		}
		if encoded[i], err = encodeUTF8(string(s)); err != nil {
			return nil, err
		}
	}
	return encoded, nil
}

func sha256Hex(_ *thread, args tuple, kwargs kwargsT) (value, error) {
	texts, err := encodedArgs("sha256_hex", []string{"s"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(texts[0])
	return starlark.String(hex.EncodeToString(sum[:])), nil
}

func hmacHex(_ *thread, args tuple, kwargs kwargsT) (value, error) {
	texts, err := encodedArgs("hmac_sha256_hex", []string{"key", "message"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, texts[0])
	mac.Write(texts[1])
	return starlark.String(hex.EncodeToString(mac.Sum(nil))), nil
}

func b64encode(t *thread, args tuple, kwargs kwargsT) (value, error) {
	texts, err := encodedArgs("b64encode", []string{"s"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := MeterOf(t).Alloc(int64(base64.StdEncoding.EncodedLen(len(texts[0])))); err != nil {
		return nil, err
	}
	return starlark.String(base64.StdEncoding.EncodeToString(texts[0])), nil
}

func b64decode(t *thread, args tuple, kwargs kwargsT) (value, error) {
	texts, err := encodedArgs("b64decode", []string{"s"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := MeterOf(t).Alloc(int64(len(texts[0]))); err != nil {
		return nil, err
	}
	decoded, err := decodeBase64(texts[0])
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(decoded) {
		return nil, &Error{Name: "UnicodeDecodeError", Message: "the decoded bytes are not UTF-8 text"}
	}
	return starlark.String(decoded), nil
}

// decodeBase64 skips what is not of the standard alphabet and stops at the padding.
func decodeBase64(text []byte) ([]byte, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	decoded := make([]byte, 0, len(text)*3/4)
	place, pads, data := 0, 0, 0
	var left byte
	for _, c := range text {
		if c >= 0x80 {
			return nil, ValueErrorf("string argument should contain only ASCII characters")
		}
	}
	for _, c := range text {
		if c == '=' {
			if place >= 2 {
				if pads++; place+pads >= 4 {
					return decoded, nil
				}
			}
			continue
		}
		six := strings.IndexByte(alphabet, c)
		if six < 0 {
			continue
		}
		pads = 0
		data++
		bits := byte(six)
		switch place {
		case 0:
			left = bits
		case 1:
			decoded = append(decoded, left<<2|bits>>4)
			left = bits & 0x0F
		case 2:
			decoded = append(decoded, left<<4|bits>>2)
			left = bits & 0x03
		case 3:
			decoded = append(decoded, left<<6|bits)
		}
		place = (place + 1) % 4
	}
	switch place {
	case 0:
		return decoded, nil
	case 1:
		return nil, ValueErrorf("Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", data)
	default:
		return nil, ValueErrorf("Incorrect padding")
	}
}

// merge is merge(*dicts): later ones win, dict under dict merges, keys keep the order
// in which they were first seen. What is taken unmerged is shared.
func merge(t *thread, args tuple, kwargs kwargsT) (value, error) {
	if len(kwargs) > 0 {
		return nil, TypeErrorf("merge() takes no keyword arguments")
	}
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	merged := starlark.NewDict(0)
	for _, a := range args {
		d, ok := a.(*starlark.Dict)
		if !ok {
			return nil, AttributeErrorf("'%s' object has no attribute 'items'", TypeName(a))
		}
		var err error
		if merged, err = mergeTwo(m, merged, d, 0); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// mergeTwo is a new dict; neither operand changes.
func mergeTwo(m *Meter, x, y *starlark.Dict, depth int) (*starlark.Dict, error) {
	if depth > maxDepth {
		return nil, errTooDeep()
	}
	if err := m.Charge(int64(x.Len()+y.Len()) / 16); err != nil {
		return nil, err
	}
	merged, err := copyDict(m, x)
	if err != nil {
		return nil, err
	}
	for k, v := range y.Entries() {
		before, found, err := dictGet(m, merged, k)
		if err != nil {
			return nil, err
		}
		if found {
			bd, ok1 := before.(*starlark.Dict)
			vd, ok2 := v.(*starlark.Dict)
			if ok1 && ok2 {
				if v, err = mergeTwo(m, bd, vd, depth+1); err != nil {
					return nil, err
				}
			}
		}
		if err := dictSet(m, merged, k, v); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// slugify decomposes, drops what is not ASCII, lowers, and puts "-" for every run of
// other characters, none at the ends.
func slugify(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("slugify", []string{"s"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	s, ok := bound[0].(starlark.String)
	if !ok {
		return nil, TypeErrorf("slugify() argument must be str, not %s", TypeName(bound[0]))
	}
	m := MeterOf(t)
	var slug slugWriter
	var decomposed norm.Iter // by segments: a character may become eighteen
	work := 0
	for decomposed.InitString(norm.NFKD, string(s)); !decomposed.Done(); {
		segment := decomposed.Next()
		if err := m.tick(); err != nil {
			return nil, err
		}
		if work += len(segment); work >= drainBatch {
			if err := m.grow(int64(work)/16, int64(work)); err != nil {
				return nil, err
			}
			work = 0
		}
		for _, c := range segment {
			slug.write(c)
		}
	}
	return starlark.String(slug.b.String()), m.grow(int64(work)/16, int64(work))
}

// slugWriter keeps the letters and digits of a decomposed text.
type slugWriter struct {
	b   strings.Builder
	gap bool
}

func (w *slugWriter) write(c byte) {
	switch {
	case c >= 0x80:
		return
	case c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	case (c < 'a' || c > 'z') && (c < '0' || c > '9'):
		w.gap = true
		return
	}
	if w.gap && w.b.Len() > 0 {
		w.b.WriteByte('-')
	}
	w.gap = false
	w.b.WriteByte(c)
}
