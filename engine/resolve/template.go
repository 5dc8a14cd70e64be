package resolve

import (
	"strconv"
	"strings"
)

// piece is a part of a template: literal text, or an argument to be formatted.
type piece struct {
	literal    string
	argument   int  // -1 for literal text
	conversion byte // 0, 's', 'r' or 'a'
	spec       []piece
}

// parseTemplate takes a template apart by Python's rules, as far as interpolate
// allows them (lang.md 12). What is wrong with a template was refused at evaluation.
func parseTemplate(template string) ([]piece, error) {
	p := templateParser{template: template, rest: template}
	return p.text(0)
}

type templateParser struct {
	template  string
	rest      string
	automatic int // {} fields so far
	numbered  bool
}

// text reads literal text and fields. Inside a format specification, at depth 1, it
// ends before the brace that closes the field.
func (p *templateParser) text(depth int) ([]piece, error) {
	var pieces []piece
	for {
		i := strings.IndexAny(p.rest, "{}")
		if i < 0 {
			if depth > 0 {
				return nil, p.unbalanced()
			}
			return append(pieces, literal(p.rest)), nil
		}
		brace := p.rest[i]
		pieces = append(pieces, literal(p.rest[:i]))
		p.rest = p.rest[i:]
		switch {
		case brace == '}' && depth > 0:
			return pieces, nil
		case depth == 0 && len(p.rest) > 1 && p.rest[1] == brace:
			pieces = append(pieces, literal(p.rest[:1]))
			p.rest = p.rest[2:]
		case brace == '}':
			return nil, p.unbalanced()
		default:
			p.rest = p.rest[1:]
			field, err := p.field(depth)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, field)
		}
	}
}

func literal(text string) piece { return piece{literal: text, argument: -1} }

// field reads what follows an opening brace, its partner included.
func (p *templateParser) field(depth int) (piece, error) {
	if depth > 1 {
		return piece{}, refused("template '%.60s' nests a field in the format of a field that is nested already", p.template)
	}
	end := strings.IndexAny(p.rest, "{}!:")
	if end < 0 || p.rest[end] == '{' {
		return piece{}, p.unbalanced()
	}
	var f piece
	var err error
	if f.argument, err = p.number(p.rest[:end]); err != nil {
		return f, err
	}
	p.rest = p.rest[end:]
	if p.rest[0] == '!' {
		if len(p.rest) < 3 || strings.IndexByte("sra", p.rest[1]) < 0 || p.rest[2] != ':' && p.rest[2] != '}' {
			return f, refused("template '%.60s' has a conversion other than !s, !r and !a", p.template)
		}
		f.conversion, p.rest = p.rest[1], p.rest[2:]
	}
	if p.rest[0] == ':' {
		p.rest = p.rest[1:]
		if f.spec, err = p.text(depth + 1); err != nil {
			return f, err
		}
	}
	p.rest = p.rest[1:]
	return f, nil
}

// number is the argument that a field names; no name means the next one.
func (p *templateParser) number(name string) (int, error) {
	n := p.automatic
	if name == "" {
		p.automatic++
	} else {
		parsed, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			return 0, refused("field '{%.40s}' is neither {} nor a number", name)
		}
		n, p.numbered = int(parsed), true
	}
	if p.numbered && p.automatic > 0 {
		return 0, refused("template '%.60s' mixes {} and numbered fields", p.template)
	}
	return n, nil
}

func (p *templateParser) unbalanced() error {
	return refused("template '%.60s' has a brace without its partner", p.template)
}
