package py

import (
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// percent is format % x (lang.md §5.10): a tuple gives several arguments, anything
// else one; %(key)s takes from a dict.
func percent(t *thread, format string, x value) (string, error) {
	p := &percentFormat{t: t, m: MeterOf(t), rest: format, source: x}
	if args, ok := x.(tuple); ok {
		p.args = args
	} else {
		p.args = tuple{x}
		p.single = true
	}
	if err := p.charge(format, x); err != nil {
		return "", err
	}
	if err := p.run(); err != nil {
		return "", err
	}
	if p.next < len(p.args) && !p.mapping && (!p.single || !isMapping(x)) {
		return "", TypeErrorf("not all arguments converted during string formatting")
	}
	if err := p.m.Alloc(int64(p.b.Len())); err != nil {
		return "", err
	}
	return p.b.String(), nil
}

// isMapping says which single argument may stay unused.
func isMapping(x value) bool {
	switch x.(type) {
	case *starlark.Dict, *starlark.List, *Range, Bytes:
		return true
	default:
		return false
	}
}

type percentFormat struct {
	t       *thread
	m       *Meter
	b       strings.Builder
	rest    string
	source  value
	args    tuple
	next    int
	single  bool
	mapping bool // a %(key) was seen
}

// charge pays for the text, the widths and precisions in it, and the walk over x.
func (p *percentFormat) charge(format string, x value) error {
	widths := digitRuns(format)
	if strings.Contains(format, "*") {
		largest := int64(0)
		for _, a := range p.args {
			if i, ok := asInt(a); ok {
				n, fits := i.Int64()
				if !fits {
					n = infinite
				}
				largest = max(largest, n, -n)
			}
		}
		widths = satAdd(widths, satMul(largest, int64(strings.Count(format, "*"))))
	}
	if err := p.m.Charge(satAdd(int64(len(format)), widths/16)); err != nil {
		return err
	}
	return p.m.chargeDeep(x)
}

func (p *percentFormat) run() error {
	for {
		at := strings.IndexByte(p.rest, '%')
		if at < 0 {
			p.b.WriteString(p.rest)
			return nil
		}
		p.b.WriteString(p.rest[:at])
		p.rest = p.rest[at+1:]
		if err := p.conversion(); err != nil {
			return err
		}
		if err := p.m.Size(int64(p.b.Len())); err != nil {
			return err
		}
	}
}

// conversion is what follows one "%".
func (p *percentFormat) conversion() error {
	if strings.HasPrefix(p.rest, "%") {
		p.b.WriteByte('%')
		p.rest = p.rest[1:]
		return nil
	}
	arg, keyed, err := p.key()
	if err != nil {
		return err
	}
	f := pytext.Spec{Fill: " ", Align: '>', Precision: -1}
	zeros := p.flags(&f)
	if f.Width, err = p.number(0); err != nil {
		return err
	}
	if f.Width < 0 {
		f.Align, f.Width = '<', -f.Width
	}
	if strings.HasPrefix(p.rest, ".") {
		p.rest = p.rest[1:]
		if f.Precision, err = p.number(0); err != nil {
			return err
		}
		f.Precision = max(f.Precision, 0)
	}
	if p.rest != "" && strings.IndexByte("hlL", p.rest[0]) >= 0 {
		p.rest = p.rest[1:]
	}
	if p.rest == "" {
		return ValueErrorf("incomplete format")
	}
	r, n := decode(p.rest)
	p.rest = p.rest[n:]
	if !keyed {
		if arg, err = p.argument(); err != nil {
			return err
		}
	}
	if r > 0x7F || strings.IndexByte("diouxXeEfFgGcrsa", byte(r)) < 0 {
		return ValueErrorf("unsupported format character '%c' (0x%x)", r, r)
	}
	f.Kind = byte(r)
	if err := p.m.Size(satMul(satAdd(f.Width, max(f.Precision, 0)), 4)); err != nil {
		return err
	}
	text, err := p.one(arg, f, zeros, keyed)
	p.b.WriteString(text)
	return err
}

// key reads "(name)" and gives the value it names.
func (p *percentFormat) key() (value, bool, error) {
	if !strings.HasPrefix(p.rest, "(") {
		return nil, false, nil
	}
	d, ok := p.source.(*starlark.Dict)
	if !ok {
		return nil, false, TypeErrorf("format requires a mapping")
	}
	depth := 0
	for i := range len(p.rest) {
		switch p.rest[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			name := p.rest[1:i]
			p.rest = p.rest[i+1:]
			p.mapping = true
			v, err := dictItem(p.t, p.m, d, starlark.String(name))
			return v, true, err
		}
	}
	return nil, false, ValueErrorf("incomplete format key")
}

// flags reads the flags into f and says whether zeros fill the width.
func (p *percentFormat) flags(f *pytext.Spec) (zeros bool) {
	left := false
	for ; p.rest != ""; p.rest = p.rest[1:] {
		switch p.rest[0] {
		case '-':
			left = true
		case '+':
			f.Sign = '+'
		case ' ':
			if f.Sign == 0 {
				f.Sign = ' '
			}
		case '#':
			f.Alternate = true
		case '0':
			zeros = true
		default:
			if left {
				f.Align = '<'
			}
			return zeros && !left
		}
	}
	return zeros && !left
}

// number reads a width or precision; "*" takes it from the arguments.
func (p *percentFormat) number(absent int64) (int64, error) {
	if strings.HasPrefix(p.rest, "*") {
		p.rest = p.rest[1:]
		arg, err := p.argument()
		if err != nil {
			return 0, err
		}
		i, ok := asInt(arg)
		if !ok {
			return 0, TypeErrorf("* wants int")
		}
		n, ok := i.Int64()
		if !ok {
			return 0, OverflowErrorf("a width is too large")
		}
		return n, nil
	}
	n, rest, err := pytext.ParseNumber(p.rest, absent)
	p.rest = rest
	return n, err
}

func (p *percentFormat) argument() (value, error) {
	if p.next >= len(p.args) || p.mapping {
		return nil, TypeErrorf("not enough arguments for format string")
	}
	p.next++
	return p.args[p.next-1], nil
}

// text is the text form of an argument. The walk over x has paid for one of each; what a
// key names may be asked for again and again.
func (p *percentFormat) text(arg value, kind byte, keyed bool) (string, error) {
	if keyed {
		return convert(p.t, arg, kind)
	}
	if s, ok := arg.(starlark.String); ok && kind == 's' {
		return string(s), nil
	}
	text, err := reprOf(p.t, p.m, arg)
	if err != nil || kind != 'a' {
		return text, err
	}
	return asciiText(p.m, text)
}

func (p *percentFormat) one(arg value, f pytext.Spec, zeros, keyed bool) (string, error) {
	switch f.Kind {
	case 's', 'r', 'a':
		text, err := p.text(arg, f.Kind, keyed)
		if err != nil {
			return "", err
		}
		return f.Cut(text), nil
	case 'c':
		return percentCharacter(arg, f)
	}
	if zeros {
		f.Fill, f.Align = "0", '='
	}
	switch f.Kind {
	case 'e', 'E', 'f', 'F', 'g', 'G':
		v, ok, err := asNumber(arg)
		if !ok {
			return "", TypeErrorf("must be real number, not %s", TypeName(arg))
		}
		if err != nil {
			return "", err
		}
		if f.Precision < 0 {
			f.Precision = 6
		}
		return f.Float(v, "float")
	default:
		return percentInt(p.m, arg, f)
	}
}

func percentCharacter(arg value, f pytext.Spec) (string, error) {
	if s, ok := arg.(starlark.String); ok {
		if countRunes(string(s)) != 1 {
			return "", TypeErrorf("%%c requires an int or a unicode character, not a string of length %d", countRunes(string(s)))
		}
		return f.Pad("", string(s), 1), nil
	}
	i, ok := asInt(arg)
	if !ok {
		return "", TypeErrorf("%%c requires an int or a unicode character, not %s", TypeName(arg))
	}
	text, err := pytext.Character(i.BigInt())
	if err != nil {
		return "", err
	}
	return f.Pad("", text, 1), nil
}

func percentInt(m *Meter, arg value, f pytext.Spec) (string, error) {
	decimal := f.Kind == 'd' || f.Kind == 'i' || f.Kind == 'u'
	i, ok := asInt(arg)
	if v, isFloat := arg.(starlark.Float); isFloat && decimal {
		whole, err := floatInt(float64(v))
		if err != nil {
			return "", err
		}
		i, ok = whole, true
	}
	if !ok {
		what := "a real number"
		if !decimal {
			what = "an integer"
		}
		return "", TypeErrorf("%%%c format: %s is required, not %s", f.Kind, what, TypeName(arg))
	}
	if err := m.chargeDigits(i); err != nil {
		return "", err
	}
	prefix, digits, err := f.Digits(i.BigInt())
	if err != nil {
		return "", err
	}
	if missing := f.Precision - int64(len(digits)); missing > 0 {
		digits = strings.Repeat("0", int(missing)) + digits
	}
	return f.Number(f.SignOf(i.Sign() < 0)+prefix, digits, "", 3), nil
}
