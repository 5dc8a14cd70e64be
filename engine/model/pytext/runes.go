package pytext

import (
	"strings"
	"unicode/utf8"
)

// DecodeRune is the first code point of s, which is not empty, and its length in bytes.
// A lone surrogate is one code point of three bytes.
func DecodeRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if n == 1 && r == utf8.RuneError && IsSurrogate(s) {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, n
}

// IsSurrogate reports whether s begins with a lone surrogate.
func IsSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

// AppendRune writes a code point, a surrogate included, as a str holds it.
func AppendRune(b []byte, r rune) []byte {
	if r >= 0xD800 && r <= 0xDFFF {
		return append(b, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(b, r)
}

// Len is the number of code points of s.
func Len(s string) int64 {
	if strings.IndexByte(s, 0xED) < 0 || utf8.ValidString(s) {
		return int64(utf8.RuneCountInString(s))
	}
	n := int64(0)
	for len(s) > 0 {
		_, size := DecodeRune(s)
		s = s[size:]
		n++
	}
	return n
}

// Prefix is the first n code points of s, and how many there are.
func Prefix(s string, n int64) (string, int64) {
	at, count := 0, int64(0)
	for ; at < len(s) && count < n; count++ {
		_, size := DecodeRune(s[at:])
		at += size
	}
	return s[:at], count
}
