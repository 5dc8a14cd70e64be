package py

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// decode is the first code point of s and its length in bytes.
func decode(s string) (rune, int) { return pytext.DecodeRune(s) }

// decodeLast is the last code point of s and its length in bytes.
func decodeLast(s string) (rune, int) {
	if n := len(s); n >= 3 && pytext.IsSurrogate(s[n-3:]) {
		return 0xD000 | rune(s[n-2]&0x3F)<<6 | rune(s[n-1]&0x3F), 3
	}
	return utf8.DecodeLastRuneInString(s)
}

// AppendRune writes a code point, a surrogate included, as a str holds it.
func AppendRune(b []byte, r rune) []byte { return pytext.AppendRune(b, r) }

func isASCII(s string) bool {
	for len(s) >= 8 {
		word := *(*[8]byte)(unsafe.Pointer(unsafe.StringData(s))) //nolint:gosec // s has 8 bytes or more, and they are only read
		if (word[0]|word[1]|word[2]|word[3]|word[4]|word[5]|word[6]|word[7])&0x80 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// markEvery is the distance, in code points, of the marks of a text index.
const markEvery = 64

// textIndex finds code points in a text.
type textIndex struct {
	s     string
	n     int     // code points
	marks []int32 // byte offsets of every markEvery-th code point; nil for ASCII
	ascii bool
}

// index is the index of s. That of the last long text is kept, so that a loop over
// its positions stays linear.
func (m *Meter) index(s string) (textIndex, error) {
	if len(s) <= markEvery {
		return indexText(s), nil
	}
	if len(m.text.s) == len(s) && unsafe.StringData(m.text.s) == unsafe.StringData(s) { //nolint:gosec // addresses are compared, nothing is read through them
		return m.text, nil
	}
	if err := m.Charge(out(int64(len(s))) / 4); err != nil {
		return textIndex{}, err
	}
	m.text = indexText(s)
	return m.text, nil
}

func indexText(s string) textIndex {
	if isASCII(s) {
		return textIndex{s: s, n: len(s), ascii: true}
	}
	x := textIndex{s: s, marks: make([]int32, 0, len(s)/markEvery+1)}
	for at := 0; at < len(s); x.n++ {
		if x.n%markEvery == 0 {
			x.marks = append(x.marks, int32(at))
		}
		_, size := decode(s[at:])
		at += size
	}
	return x
}

// offset is the byte offset of code point i, 0 <= i <= n.
func (x textIndex) offset(i int) int {
	if x.ascii {
		return i
	}
	if i >= x.n {
		return len(x.s)
	}
	at := int(x.marks[i/markEvery])
	for range i % markEvery {
		_, size := decode(x.s[at:])
		at += size
	}
	return at
}

// at is the code point i as a text.
func (x textIndex) at(i int) string {
	from := x.offset(i)
	_, size := decode(x.s[from:])
	return x.s[from : from+size]
}

// slice is the text of code points lo up to hi.
func (x textIndex) slice(lo, hi int) string {
	if lo >= hi {
		return ""
	}
	return x.s[x.offset(lo):x.offset(hi)]
}

// count is the number of code points of s.
func countRunes(s string) int {
	n := utf8.RuneCountInString(s)
	if strings.IndexByte(s, 0xED) < 0 || utf8.ValidString(s) {
		return n
	}
	return indexText(s).n
}

// runesOf is s as code points.
func runesOf(s string) []rune {
	runes := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, size := decode(s)
		runes = append(runes, r)
		s = s[size:]
	}
	return runes
}

// encodeUTF8 is the bytes of s, which a lone surrogate has not.
func encodeUTF8(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, &Error{Name: "UnicodeEncodeError", Message: "the text holds a lone surrogate, which UTF-8 cannot encode"}
	}
	return []byte(s), nil
}
