package scrub

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// mode is how a view reads a text.
type mode int

const (
	asWritten mode = iota
	// unescaped reads an escape as what it stands for, and no backslash. However often a text
	// is quoted, as Go, JSON or Python do, it reads the same: a backslash before an escape may
	// be its own or a character of the text, and whichever it is it is not read.
	unescaped
	// bare reads besides only what messages show as it is: no control character, nothing that
	// is not UTF-8, and neither of the two signs that these are replaced by.
	bare
)

// folded is a text as a view reads it, and where in the text each byte of it comes from.
type folded struct {
	text     string
	from, to []int // nil = it is the text itself
}

// span is where in the text some bytes of what was read come from; there is one at least.
func (f folded) span(from, to int) span {
	if f.from == nil {
		return span{from, to}
	}
	return span{f.from[from], f.to[to-1]}
}

// fold reads a text. The law that all else rests on: what a text reads as does not change
// when it is quoted.
func fold(text string, m mode) folded {
	if m == asWritten || !strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || m == bare && dropped(r) }) {
		return folded{text: text}
	}
	var out strings.Builder
	f := folded{from: make([]int, 0, len(text)), to: make([]int, 0, len(text))}
	for at := 0; at < len(text); {
		what, size := unit(text[at:])
		if r, _ := utf8.DecodeRuneInString(what); m != bare || !dropped(r) {
			out.WriteString(what)
			for range len(what) {
				f.from, f.to = append(f.from, at), append(f.to, at+size)
			}
		}
		at += size
	}
	f.text = out.String()
	return f
}

// dropped reports whether a message may show something else in place of a character.
func dropped(r rune) bool { return r == '?' || r == utf8.RuneError || !unicode.IsPrint(r) }

// unit is the first character of a text, with the backslashes before it, and what it stands
// for; "" for backslashes before a character that stands for itself.
func unit(text string) (what string, size int) {
	slashes := backslashes(text)
	if slashes == 0 {
		_, size = utf8.DecodeRuneInString(text)
		return text[:size], size
	}
	what, size = escape(text[slashes:])
	return what, slashes + size
}

func backslashes(text string) int { return len(text) - len(strings.TrimLeft(text, `\`)) }

var controls = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// escape is what the start of a text means behind a backslash; "" and 0 = itself.
func escape(text string) (what string, size int) {
	if text == "" {
		return "", 0
	}
	switch text[0] {
	case 'x':
		if value, ok := figures(text[1:], 2); ok {
			return string([]byte{byte(value)}), 3
		}
	case 'u':
		if value, ok := figures(text[1:], 4); ok {
			return surrogates(value, text[5:])
		}
	case 'U':
		if value, ok := figures(text[1:], 8); ok {
			return string(value), 9
		}
	default:
		if control, ok := controls[text[0]]; ok {
			return control, 1
		}
	}
	return "", 0
}

// surrogates is the character of \u with a value, of which rest may hold the other half.
func surrogates(value rune, rest string) (what string, size int) {
	if slashes := backslashes(rest); utf16.IsSurrogate(value) && slashes > 0 && strings.HasPrefix(rest[slashes:], "u") {
		if low, ok := figures(rest[slashes+1:], 4); ok {
			if r := utf16.DecodeRune(value, low); r != utf8.RuneError {
				return string(r), 5 + slashes + 5
			}
		}
	}
	return string(value), 5
}

// figures is a number of so many hexadecimal digits.
func figures(text string, count int) (rune, bool) {
	if len(text) < count {
		return 0, false
	}
	value, err := strconv.ParseUint(text[:count], 16, 32)
	if err != nil {
		return 0, false
	}
	if value > unicode.MaxRune {
		return utf8.RuneError, true
	}
	return rune(value), true
}

// Forms are the ways in which others write a text: as it is, as Go and as JSON quote it, and
// these quoted once more, as where an error holds the body of an answer.
func Forms(text string) []string {
	forms := map[string]bool{text: true}
	for range 2 {
		for form := range maps.Clone(forms) {
			forms[unquoted(strconv.Quote(form))] = true
			forms[unquoted(string(model.AppendText(nil, form)))] = true
			if quoted, err := json.Marshal(form); err == nil {
				forms[unquoted(string(quoted))] = true
			}
		}
	}
	return slices.Collect(maps.Keys(forms))
}

func unquoted(text string) string { return text[1 : len(text)-1] }
