package lang

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// combinators are concat, interpolate and join (lang.md §12): texts that are put
// together at apply.
func combinators() starlark.StringDict {
	return starlark.StringDict{
		"concat":      py.NewNative("concat", concat),
		"interpolate": py.NewNative("interpolate", interpolate),
		"join":        py.NewNative("join", join),
	}
}

func concat(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, py.TypeErrorf("concat() takes no keyword arguments")
	}
	return newTransform("concat", append(starlark.Tuple(nil), args...)...), nil
}

func interpolate(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, py.TypeErrorf("interpolate() takes no keyword arguments; number the fields ({0}) instead of naming them")
	}
	if len(args) == 0 {
		return nil, py.TypeErrorf("interpolate() missing required argument 'template'")
	}
	template, ok := args[0].(starlark.String)
	if !ok {
		return nil, py.TypeErrorf("interpolate() template must be a str, not %s", py.TypeName(args[0]))
	}
	needed, err := templateFields(string(template))
	if err != nil {
		return nil, err
	}
	if given := len(args) - 1; needed > given {
		return nil, languageErrorf("interpolate(): the template needs %d arguments and got %d", needed, given)
	}
	return newTransform("interpolate", append(starlark.Tuple(nil), args...)...), nil
}

func join(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("join", []string{"sep", "parts"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if s, ok := p[1].(starlark.String); ok {
		err := irErrorf("join() parts is the text %s, which would be joined letter by letter", py.Show(t, s))
		err.Hint = "did you mean a list?"
		return nil, err
	}
	if isHandle(p[1]) {
		return newTransform("join", p[0], p[1]), nil
	}
	parts, err := items(t, p[1])
	if err != nil {
		return nil, err
	}
	return newTransform("join", p[0], starlark.NewList(parts)), nil
}

// templateFields checks the template of interpolate and counts the arguments that it
// needs. A field is {} or {N}, with a conversion and a format spec at will.
func templateFields(template string) (needed int, err error) {
	p := templateParser{rest: template}
	if err := p.text(false); err != nil {
		return 0, err
	}
	return p.needed(), nil
}

type templateParser struct {
	rest      string
	automatic int // {} fields
	numbered  int // one more than the highest {N}
	depth     int
}

func (p *templateParser) needed() int { return max(p.automatic, p.numbered) }

// text walks literal text and fields; inside a format spec it ends before the "}"
// of the field that the spec belongs to.
func (p *templateParser) text(inSpec bool) error {
	for {
		i := strings.IndexAny(p.rest, "{}")
		if i < 0 {
			if inSpec {
				return py.ValueErrorf("interpolate(): expected '}' before the end of the template")
			}
			return nil
		}
		brace := p.rest[i]
		p.rest = p.rest[i:]
		switch {
		case brace == '}' && inSpec:
			return nil
		case !inSpec && len(p.rest) > 1 && p.rest[1] == brace:
			p.rest = p.rest[2:]
		case brace == '}':
			return py.ValueErrorf("interpolate(): single '}' in the template; write '}}' for a literal one")
		default:
			p.rest = p.rest[1:]
			if err := p.field(); err != nil {
				return err
			}
		}
	}
}

// field reads what follows a "{".
func (p *templateParser) field() error {
	if p.depth++; p.depth > 2 {
		return py.ValueErrorf("interpolate(): a format spec is nested too deeply")
	}
	defer func() { p.depth-- }()
	i := strings.IndexAny(p.rest, "{}!:")
	if i < 0 {
		return py.ValueErrorf("interpolate(): single '{' in the template; write '{{' for a literal one")
	}
	name := p.rest[:i]
	p.rest = p.rest[i:]
	if p.rest[0] == '{' {
		return py.ValueErrorf("interpolate(): unexpected '{' in a field name")
	}
	if err := p.count(name); err != nil {
		return err
	}
	if p.rest[0] == '!' {
		if len(p.rest) < 3 || !strings.ContainsRune("rsa", rune(p.rest[1])) || p.rest[2] != ':' && p.rest[2] != '}' {
			return py.ValueErrorf("interpolate(): a conversion is !r, !s or !a, before ':' or '}'")
		}
		p.rest = p.rest[2:]
	}
	if p.rest[0] == ':' {
		p.rest = p.rest[1:]
		if err := p.text(true); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(p.rest, "}") {
		return py.ValueErrorf("interpolate(): expected '}' before the end of the template")
	}
	p.rest = p.rest[1:]
	return nil
}

func (p *templateParser) count(name string) error {
	if name == "" {
		p.automatic++
	} else {
		for _, c := range name {
			if c < '0' || c > '9' {
				return languageErrorf("interpolate(): the field {%s} is not allowed; a field is {} or a number like {0}", name)
			}
		}
		n, err := strconv.Atoi(name)
		if err != nil || n > 1_000_000 {
			return languageErrorf("interpolate(): the field {%s} names an argument that cannot be there", name)
		}
		p.numbered = max(p.numbered, n+1)
	}
	if p.automatic > 0 && p.numbered > 0 {
		return languageErrorf("interpolate(): the template mixes {} and {0}; use one of both spellings")
	}
	return nil
}
