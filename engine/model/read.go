package model

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// readJSON reads a document straight into a Value, several times as fast as by way of
// encoding/json, which decides in all that is not plain: where readJSON says no, nothing
// is known of the document, and where it says yes, the value is the one that encoding/json
// would have given. State is read with it, ten thousand rows at a time.
func readJSON(data []byte) (v Value, ok bool) {
	r := reader{data: data}
	if v, ok = r.value(0); !ok {
		return nil, false
	}
	r.space()
	return v, r.at == len(data)
}

// maxRead is how deep lists and objects lie in each other before encoding/json looks.
const maxRead = 100

type reader struct {
	data []byte
	at   int
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next is the first byte after space, which stays unread; 0 = there is none.
func (r *reader) next() byte {
	r.space()
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

func (r *reader) value(depth int) (Value, bool) {
	if depth > maxRead {
		return nil, false
	}
	switch c := r.next(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		return r.text()
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	default:
		return r.number()
	}
}

func (r *reader) word(w string) bool {
	if !bytes.HasPrefix(r.data[r.at:], []byte(w)) {
		return false
	}
	r.at += len(w)
	return true
}

// object reads an object; of a key that is there twice the last counts.
func (r *reader) object(depth int) (Value, bool) {
	out := map[string]any{}
	r.at++
	if r.next() == '}' {
		r.at++
		return out, true
	}
	for {
		if r.next() != '"' {
			return nil, false
		}
		key, ok := r.text()
		if !ok || r.next() != ':' {
			return nil, false
		}
		r.at++
		if out[key], ok = r.value(depth + 1); !ok {
			return nil, false
		}
		switch r.next() {
		case ',':
			r.at++
		case '}':
			r.at++
			return out, true
		default:
			return nil, false
		}
	}
}

func (r *reader) list(depth int) (Value, bool) {
	out := []any{}
	r.at++
	if r.next() == ']' {
		r.at++
		return out, true
	}
	for {
		item, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, item)
		switch r.next() {
		case ',':
			r.at++
		case ']':
			r.at++
			return out, true
		default:
			return nil, false
		}
	}
}

// text reads a text, the quote before it included.
func (r *reader) text() (string, bool) {
	begin := r.at + 1
	literal := true // it stands in the document as it is
	for i := begin; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.at = i + 1
			inside := r.data[begin:i]
			if literal || utf8.Valid(inside) && bytes.IndexByte(inside, '\\') < 0 {
				return string(inside), true
			}
			var s string
			err := json.Unmarshal(r.data[begin-1:r.at], &s)
			return s, err == nil
		case c < ' ':
			return "", false
		case c == '\\':
			literal = false
			i++ // what it escapes ends no text
		case c >= utf8.RuneSelf:
			literal = false
		}
	}
	return "", false
}

// number reads what RFC 8259 calls one.
func (r *reader) number() (Value, bool) {
	begin := r.at
	r.skip('-', '-')
	if first := r.at; r.digits() == 0 || r.data[first] == '0' && r.at > first+1 {
		return nil, false
	}
	whole := true
	if r.skip('.', '.') {
		whole = false
		if r.digits() == 0 {
			return nil, false
		}
	}
	if r.skip('e', 'E') {
		whole = false
		_ = r.skip('+', '-')
		if r.digits() == 0 {
			return nil, false
		}
	}
	text := string(r.data[begin:r.at])
	if whole {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// skip passes over one of two bytes, if it is there.
func (r *reader) skip(one, other byte) bool {
	if r.at == len(r.data) || r.data[r.at] != one && r.data[r.at] != other {
		return false
	}
	r.at++
	return true
}

// digits passes over digits and counts them.
func (r *reader) digits() int {
	begin := r.at
	for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at - begin
}
