package py

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// fromJSON is from_json(s): strict JSON and the bare NaN and Infinity.
func fromJSON(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("from_json", []string{"s"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	s, ok := bound[0].(starlark.String)
	if !ok {
		return nil, TypeErrorf("the JSON object must be str, bytes or bytearray, not %s", TypeName(bound[0]))
	}
	p := &jsonParser{m: MeterOf(t), s: string(s)}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.s) {
		return nil, p.fail("Extra data", p.at)
	}
	return v, nil
}

type jsonParser struct {
	m  *Meter
	s  string
	at int
}

// fail is the error at a place, which it gives in code points.
func (p *jsonParser) fail(what string, at int) error {
	before := p.s[:min(at, len(p.s))]
	line := strings.Count(before, "\n") + 1
	column := countRunes(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{
		Name:    "JSONDecodeError",
		Message: fmt.Sprintf("%s: line %d column %d (char %d)", what, line, column, countRunes(before)),
	}
}

func (p *jsonParser) space() {
	for p.at < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.at]) >= 0 {
		p.at++
	}
}

func (p *jsonParser) has(text string) bool {
	if !strings.HasPrefix(p.s[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

var jsonWords = []struct {
	word string
	v    value
}{
	{"null", starlark.None},
	{"true", starlark.True},
	{"false", starlark.False},
	{"NaN", starlark.Float(math.NaN())},
	{"Infinity", starlark.Float(math.Inf(1))},
	{"-Infinity", starlark.Float(math.Inf(-1))},
}

func (p *jsonParser) value(depth int) (value, error) {
	if depth > maxDepth {
		return nil, errTooDeep()
	}
	if err := p.m.tick(); err != nil {
		return nil, err
	}
	if p.at >= len(p.s) {
		return nil, p.fail("Expecting value", p.at)
	}
	switch c := p.s[p.at]; {
	case c == '"':
		p.at++
		s, err := p.text()
		return starlark.String(s), err
	case c == '{':
		p.at++
		return p.object(depth)
	case c == '[':
		p.at++
		return p.array(depth)
	case isDigit(c), c == '-' && p.at+1 < len(p.s) && isDigit(p.s[p.at+1]):
		return p.number()
	}
	for _, w := range jsonWords {
		if p.has(w.word) {
			return w.v, nil
		}
	}
	return nil, p.fail("Expecting value", p.at)
}

func (p *jsonParser) array(depth int) (value, error) {
	elems := []value{}
	if p.space(); p.has("]") {
		return starlark.NewList(elems), nil
	}
	for {
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := p.m.Reserve(partBytes); err != nil {
			return nil, err
		}
		elems = append(elems, v)
		if p.space(); p.has("]") {
			return starlark.NewList(elems), nil
		}
		if !p.has(",") {
			return nil, p.fail("Expecting ',' delimiter", p.at)
		}
	}
}

func (p *jsonParser) object(depth int) (value, error) {
	if err := p.m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	d := starlark.NewDict(0)
	if p.space(); p.has("}") {
		return d, nil
	}
	for {
		p.space()
		if !p.has(`"`) {
			return nil, p.fail("Expecting property name enclosed in double quotes", p.at)
		}
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if p.space(); !p.has(":") {
			return nil, p.fail("Expecting ':' delimiter", p.at)
		}
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := dictSet(p.m, d, starlark.String(key), v); err != nil {
			return nil, err
		}
		if p.space(); p.has("}") {
			return d, nil
		}
		if !p.has(",") {
			return nil, p.fail("Expecting ',' delimiter", p.at)
		}
	}
}

// number reads a number whose first character, or the one after its sign, is a digit.
func (p *jsonParser) number() (value, error) {
	start := p.at
	p.has("-")
	if !p.has("0") {
		p.digits()
	}
	whole := true
	if rest := p.s[p.at:]; len(rest) > 1 && rest[0] == '.' && isDigit(rest[1]) {
		whole = false
		p.at++
		p.digits()
	}
	if rest := strings.TrimLeft(p.s[p.at:min(p.at+1, len(p.s))], "eE"); rest == "" && p.at < len(p.s) {
		mark := p.at
		p.at++
		if !p.has("+") {
			p.has("-")
		}
		if p.at < len(p.s) && isDigit(p.s[p.at]) {
			whole = false
			p.digits()
		} else {
			p.at = mark
		}
	}
	text := p.s[start:p.at]
	if !whole {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, p.fail("Expecting value", start)
		}
		return starlark.Float(f), nil
	}
	if len(strings.TrimPrefix(text, "-")) > pytext.MaxIntDigits {
		return nil, pytext.TooManyDigits()
	}
	if small, err := strconv.ParseInt(text, 10, 64); err == nil {
		return starlark.MakeInt64(small), nil
	}
	i, _ := new(big.Int).SetString(text, 10)
	n := starlark.MakeBigInt(i)
	return n, p.m.number(n)
}

func (p *jsonParser) digits() {
	for p.at < len(p.s) && isDigit(p.s[p.at]) {
		p.at++
	}
}

// text reads a string whose opening quote is read.
func (p *jsonParser) text() (string, error) {
	start := p.at - 1
	from := p.at
	var b []byte
	for {
		end := p.at
		for end < len(p.s) && p.s[end] != '"' && p.s[end] != '\\' && p.s[end] >= ' ' {
			end++
		}
		if end >= len(p.s) {
			return "", p.fail("Unterminated string starting at", start)
		}
		part := p.s[p.at:end]
		p.at = end + 1
		switch p.s[end] {
		case '"':
			if b == nil {
				return p.s[from:end], nil
			}
			b = append(b, part...)
			if err := p.m.Alloc(int64(len(b))); err != nil {
				return "", err
			}
			return string(b), nil
		case '\\':
			b = append(b, part...)
			r, err := p.escape(start)
			if err != nil {
				return "", err
			}
			b = AppendRune(b, r)
		default:
			return "", p.fail("Invalid control character at", end)
		}
	}
}

func (p *jsonParser) escape(start int) (rune, error) {
	if p.at >= len(p.s) {
		return 0, p.fail("Unterminated string starting at", start)
	}
	c := p.s[p.at]
	p.at++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, p.fail(`Invalid \escape`, p.at-2)
	}
	high, err := p.hex()
	if err != nil || high < 0xD800 || high > 0xDBFF || !strings.HasPrefix(p.s[p.at:], `\u`) {
		return high, err
	}
	mark := p.at
	p.at += 2
	low, err := p.hex()
	if err != nil {
		return 0, err
	}
	if low < 0xDC00 || low > 0xDFFF {
		p.at = mark
		return high, nil
	}
	return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00), nil
}

func (p *jsonParser) hex() (rune, error) {
	if p.at+4 > len(p.s) {
		return 0, p.fail(`Invalid \uXXXX escape`, p.at-1)
	}
	n, err := strconv.ParseUint(p.s[p.at:p.at+4], 16, 32)
	if err != nil || p.s[p.at] == '+' || p.s[p.at] == '-' {
		return 0, p.fail(`Invalid \uXXXX escape`, p.at-1)
	}
	p.at += 4
	return rune(n), nil
}
