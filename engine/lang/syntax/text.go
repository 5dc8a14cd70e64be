package syntax

import (
	"sort"
	"strings"
)

// strings parses adjacent string literals as one expression: a Constant, or a
// JoinedStr when an f-string is among them.
func (p *parser) strings() Expr {
	j := joiner{at: p.here()}
	first := p.tok()
	isBytes, mixed := p.prefix(first, "b"), false
	for h := 0; ; h = max(h, p.height) {
		t := p.tok()
		if t.kind != tString && t.kind != tFStart {
			p.height = h
			break
		}
		mixed = mixed || p.prefix(t, "b") != isBytes
		p.height = 1
		if t.kind == tString {
			j.add(t.pos(), p.stringValue(p.next()))
		} else {
			j.format = true
			p.fstringParts(&j)
		}
	}
	switch {
	case mixed:
		p.fail(p.here(), "cannot mix bytes and text literals")
		return nil
	case isBytes:
		return &Constant{Pos: j.at, Value: Bytes(j.text.String())}
	case j.format:
		j.flush()
		p.grown(j.at, p.height)
		return &JoinedStr{Pos: j.at, Parts: j.parts}
	default:
		return &Constant{Pos: j.at, Value: j.text.String()}
	}
}

// joiner collects the parts of a string, neighbouring texts merged.
type joiner struct {
	at     Pos
	format bool
	parts  []Expr
	textAt Pos
	text   strings.Builder
}

func (j *joiner) add(at Pos, text string) {
	if j.text.Len() == 0 {
		j.textAt = at
	}
	j.text.WriteString(text)
}

func (j *joiner) flush() {
	if j.text.Len() > 0 {
		j.parts = append(j.parts, &Constant{Pos: j.textAt, Value: j.text.String()})
		j.text.Reset()
	}
}

// prefix reports whether the literal t has this prefix letter.
func (p *parser) prefix(t token, letter string) bool {
	for i := t.start; i < t.end && p.src[i] != '\'' && p.src[i] != '"'; i++ {
		if strings.EqualFold(string(p.src[i]), letter) {
			return true
		}
	}
	return false
}

// fstringParts parses one f-string from its tFStart to its tFEnd.
func (p *parser) fstringParts(j *joiner) {
	raw := p.prefix(p.next(), "r")
	h := 1
	for {
		switch t := p.tok(); t.kind {
		case tFMiddle:
			p.i++
			j.add(t.pos(), p.decode(t, p.src[t.start:t.end], escapes{raw: raw}))
		case tFOpen:
			p.field(j, raw)
			h = max(h, p.height)
		case tFEnd:
			p.i++
			p.height = h
			return
		default:
			p.unexpected("f-string: expecting '}'")
		}
	}
}

// field parses one replacement field. The text of "{expr=}" goes before it.
func (p *parser) field(j *joiner, raw bool) {
	open := p.open1()
	if t := p.tok(); t.kind == tFClose || t.kind == tFSpec || t.is("!") || t.is("=") {
		p.fail(t.pos(), "f-string: an expression is required before '%s'", p.shown(t))
	}
	p.enter()
	f := &FormattedValue{Pos: open.pos(), Value: p.yieldOrStar()}
	h := p.height
	debug := p.accept("=")
	if debug {
		j.add(open.pos(), p.sourceWithoutComments(open.end, p.tok().start))
	}
	if p.at("!") {
		f.Conv = p.conversion()
	}
	j.flush()
	if p.is(tFSpec) {
		f.Spec = p.formatSpec(raw)
		h = max(h, p.height)
	} else if debug && f.Conv == 0 {
		f.Conv = 'r'
	}
	if !p.is(tFClose) {
		p.unexpected("f-string: expecting '}'")
	}
	p.i++
	p.level--
	p.leave()
	p.grown(f.Pos, h)
	j.parts = append(j.parts, f)
}

func (p *parser) conversion() byte {
	mark := p.next()
	t := p.tok()
	if t.kind != tName && t.kind != tKeyword {
		p.fail(t.pos(), "f-string: a conversion character is missing")
	}
	if t.start != mark.end {
		p.fail(t.pos(), "f-string: the conversion must follow the '!' directly")
	}
	if t.text != "s" && t.text != "r" && t.text != "a" {
		p.fail(t.pos(), "f-string: invalid conversion '%s': expected 's', 'r' or 'a'", p.shown(t))
	}
	p.i++
	return t.text[0]
}

func (p *parser) formatSpec(raw bool) *JoinedStr {
	j := joiner{at: p.next().pos()}
	h := 1
	for {
		switch t := p.tok(); t.kind {
		case tFMiddle:
			p.i++
			j.add(t.pos(), p.decode(t, p.src[t.start:t.end], escapes{raw: raw}))
		case tFOpen:
			p.field(&j, raw)
			h = max(h, p.height)
		default:
			j.flush()
			p.grown(j.at, h)
			return &JoinedStr{Pos: j.at, Parts: j.parts}
		}
	}
}

func (p *parser) sourceWithoutComments(start, end int32) string {
	var text strings.Builder
	first := sort.Search(len(p.comments), func(i int) bool { return p.comments[i][0] >= start })
	for _, c := range p.comments[first:] {
		if c[0] >= end {
			break
		}
		text.WriteString(string(p.src[start:c[0]]))
		start = c[1]
	}
	text.WriteString(string(p.src[start:end]))
	return text.String()
}
