package py

import (
	"sort"
	"strings"
	"unicode"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Str is str(x): a text as it is, anything else its repr (lang.md §5.5).
func Str(t *starlark.Thread, x starlark.Value) (string, error) {
	if s, ok := x.(starlark.String); ok {
		return string(s), nil
	}
	return Repr(t, x)
}

// Repr is the text form of x. It is the same in every run: sets are in order, and a
// value whose text would show an address is refused.
func Repr(t *starlark.Thread, x starlark.Value) (string, error) {
	m := MeterOf(t)
	if i, ok := x.(starlark.Int); ok {
		text, err := intText(i)
		if err != nil {
			return "", err
		}
		return text, m.Alloc(int64(len(text)))
	}
	if err := m.chargeDeep(x); err != nil {
		return "", err
	}
	return reprOf(t, m, x)
}

// reprOf is Repr of what is paid for.
func reprOf(t *thread, m *Meter, x value) (string, error) {
	w := textWriter{t: t, m: m}
	if err := w.repr(x, 0); err != nil {
		return "", err
	}
	if err := m.Alloc(int64(w.b.Len())); err != nil {
		return "", err
	}
	return w.b.String(), nil
}

type textWriter struct {
	t *thread
	m *Meter
	b strings.Builder
}

func (w *textWriter) repr(x value, depth int) error {
	if depth > maxDepth {
		return errTooDeep()
	}
	if err := w.m.Size(int64(w.b.Len())); err != nil {
		return err
	}
	if err := w.m.tick(); err != nil {
		return err
	}
	switch x := x.(type) {
	case starlark.String:
		if err := w.m.Size(int64(w.b.Len()) + quotedLen(string(x))); err != nil {
			return err
		}
		quoteTo(&w.b, string(x), quoteText)
	case starlark.Int:
		text, err := intText(x)
		if err != nil {
			return err
		}
		w.b.WriteString(text)
	case starlark.Float:
		w.b.WriteString(model.FloatText(float64(x)))
	case starlark.Bool, starlark.NoneType:
		w.b.WriteString(x.String())
	case *starlark.List:
		return w.sequence("[", "]", x, depth)
	case starlark.Tuple:
		if len(x) == 1 {
			return w.sequence("(", ",)", x, depth)
		}
		return w.sequence("(", ")", x, depth)
	case *starlark.Dict:
		return w.dict(x, depth)
	case *starlark.Set:
		if x.Len() == 0 {
			w.b.WriteString("set()")
			return nil
		}
		return w.set("{", "}", x, depth)
	case *FrozenSet:
		if x.Len() == 0 {
			w.b.WriteString("frozenset()")
			return nil
		}
		return w.set("frozenset({", "})", x.set, depth)
	case *View:
		return w.view(x, depth)
	case *Range, *Type:
		w.b.WriteString(x.String())
	default:
		return w.other(x)
	}
	return nil
}

// other lets a value render itself.
func (w *textWriter) other(x value) error {
	r, ok := x.(Renderer)
	if !ok {
		return LanguageErrorf("cannot render a %s as text: it would differ between runs", TypeName(x))
	}
	if err := w.m.Charge(1); err != nil {
		return err
	}
	if w.m.nested >= w.m.limits.MaxCallDepth {
		return errTooDeep()
	}
	w.m.nested++
	text, err := r.PyRepr(w.t)
	w.m.nested--
	if err != nil {
		return err
	}
	if err := w.m.Charge(out(int64(len(text)))); err != nil {
		return err
	}
	w.b.WriteString(text)
	return nil
}

func (w *textWriter) sequence(open, end string, x starlark.Indexable, depth int) error {
	w.b.WriteString(open)
	for i := range x.Len() {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if err := w.repr(x.Index(i), depth+1); err != nil {
			return err
		}
	}
	w.b.WriteString(end)
	return nil
}

func (w *textWriter) dict(d *starlark.Dict, depth int) error {
	w.b.WriteByte('{')
	first := true
	for k, v := range d.Entries() {
		if !first {
			w.b.WriteString(", ")
		}
		first = false
		if err := w.repr(k, depth+1); err != nil {
			return err
		}
		w.b.WriteString(": ")
		if err := w.repr(v, depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

func (w *textWriter) set(open, end string, s *starlark.Set, depth int) error {
	rendered, err := renderElements(w.t, w.m, s, depth)
	if err != nil {
		return err
	}
	w.b.WriteString(open)
	for i, e := range rendered {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.b.WriteString(e.text)
	}
	w.b.WriteString(end)
	return nil
}

func (w *textWriter) view(v *View, depth int) error {
	w.b.WriteString(v.Type() + "([")
	first := true
	for k, e := range v.d.Entries() {
		if !first {
			w.b.WriteString(", ")
		}
		first = false
		if err := w.repr(v.pick(k, e), depth+1); err != nil {
			return err
		}
	}
	w.b.WriteString("])")
	return nil
}

type renderedElement struct {
	text string
	v    value
}

// renderElements is the elements of a set in ascending order of their repr, the one
// order a set has (lang.md §5.7).
func renderElements(t *thread, m *Meter, s *starlark.Set, depth int) ([]renderedElement, error) {
	rendered := make([]renderedElement, 0, s.Len())
	var total int64
	for v := range s.Elements() {
		w := textWriter{t: t, m: m}
		if err := w.repr(v, depth+1); err != nil {
			return nil, err
		}
		total += int64(w.b.Len())
		if err := m.Size(total); err != nil {
			return nil, err
		}
		rendered = append(rendered, renderedElement{w.b.String(), v})
	}
	if err := m.Reserve(total + int64(len(rendered))*partBytes); err != nil {
		return nil, err
	}
	sort.SliceStable(rendered, func(i, j int) bool { return rendered[i].text < rendered[j].text })
	for i := 1; i < len(rendered); i++ {
		if rendered[i].text == rendered[i-1].text {
			return nil, errRenderAlike(shorten(rendered[i].text))
		}
	}
	return rendered, nil
}

// sortedElements is the elements of a set in order, charged.
func sortedElements(t *thread, s *starlark.Set) ([]value, error) {
	m := MeterOf(t)
	if err := m.Charge(m.deep(s)); err != nil {
		return nil, err
	}
	if err := m.Alloc(int64(s.Len()) * 16); err != nil {
		return nil, err
	}
	elems := make([]value, 0, s.Len())
	if s.Len() == 1 {
		for v := range s.Elements() {
			elems = append(elems, v)
		}
		return elems, nil
	}
	rendered, err := renderElements(t, m, s, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range rendered {
		elems = append(elems, e.v)
	}
	return elems, nil
}

// ASCII is the repr with every character outside ASCII escaped.
func asciiText(m *Meter, text string) (string, error) {
	if isASCII(text) {
		return text, nil
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := decode(text)
		if r < 0x80 {
			b.WriteByte(byte(r))
		} else {
			b.WriteString(model.EscapeRune(r))
		}
		text = text[size:]
	}
	return b.String(), m.Alloc(int64(b.Len()))
}

const hexDigits = "0123456789abcdef"

type quoteMode uint8

const (
	quoteText quoteMode = iota
	quoteBytes
)

// quote is the literal of a text, or of bytes without their prefix.
func quote(s string, mode quoteMode) string {
	var b strings.Builder
	quoteTo(&b, s, mode)
	return b.String()
}

func quoteTo(b *strings.Builder, s string, mode quoteMode) {
	mark := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		mark = '"'
	}
	b.Grow(len(s) + 2)
	if mode == quoteText && len(s) >= longText {
		b.Grow(int(quotedLen(s)) + 2)
	}
	b.WriteByte(mark)
	for len(s) > 0 {
		r, size := rune(s[0]), 1
		if mode == quoteText {
			r, size = decode(s)
		}
		switch {
		case r == rune(mark) || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= ' ' && r < 0x7F, mode == quoteText && isPrintable(r):
			b.WriteString(s[:size])
		case r < 0x80:
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[r>>4])
			b.WriteByte(hexDigits[r&15])
		default:
			b.WriteString(model.EscapeRune(r))
		}
		s = s[size:]
	}
	b.WriteByte(mark)
}

// longText is the length from which a text is measured before it is written out.
const longText = 1 << 16

// quotedLen is how long a text will be when it is quoted, about; that of a short one is
// not worth a look.
func quotedLen(s string) int64 {
	n := int64(len(s))
	if n < longText {
		return n
	}
	for len(s) > 0 {
		r, size := decode(s)
		s = s[size:]
		switch {
		case isPrintable(r):
		case r < 0x100:
			n += int64(len(`\x00`) - size)
		case r < 0x10000:
			n += int64(len(`\u0000`) - size)
		default:
			n += int64(len(`\U00000000`) - size)
		}
	}
	return n
}

func isPrintable(r rune) bool { return r == ' ' || unicode.IsPrint(r) }

// shownLength is how much of a value's text a message shows (lang.md §1).
const shownLength = 200

func shorten(text string) string {
	if countRunes(text) <= shownLength {
		return text
	}
	return indexText(text).slice(0, shownLength) + "..."
}

// Show is how a message shows a value: the repr of plain data, cut at 200
// characters, else a form without an address.
func Show(t *starlark.Thread, x starlark.Value) string {
	switch x := x.(type) {
	case *starlark.Function:
		if name := functionName(x); name != "<lambda>" {
			return "<function " + name + ">"
		}
		return "<lambda>"
	case *Native, *boundMethod, *BoundFunction, *Type:
		return x.String()
	}
	if text, err := Repr(t, x); err == nil {
		return shorten(text)
	}
	return "<" + TypeName(x) + " object>"
}
