package py

import (
	"strings"

	"go.starlark.net/starlark"
)

// BindArgs binds the arguments of the native called name to its parameters and gives
// one value per parameter, nil for an absent optional one. A parameter is a name, with
// "?" behind it when it is optional. "/" ends the positional-only parameters, "*"
// begins the keyword-only ones.
func BindArgs(name string, params []string, args starlark.Tuple, kwargs []starlark.Tuple) ([]starlark.Value, error) {
	s := parseParams(params)
	if len(args) > s.positional {
		return nil, TypeErrorf("%s() takes at most %d positional argument%s (%d given)",
			name, s.positional, plural(s.positional), len(args))
	}
	bound := make([]value, len(s.names))
	copy(bound, args)
	for _, kv := range kwargs {
		key := string(kv[0].(starlark.String))
		i := s.find(key)
		if i < 0 {
			return nil, suggesting(TypeErrorf("%s() got an unexpected keyword argument '%s'", name, key), key, s.names[s.positionalOnly:])
		}
		if bound[i] != nil {
			return nil, TypeErrorf("%s() got multiple values for argument '%s'", name, key)
		}
		bound[i] = kv[1]
	}
	for i, v := range bound {
		if v == nil && !s.optional[i] {
			if i >= s.positional {
				return nil, TypeErrorf("%s() missing required keyword-only argument '%s'", name, s.names[i])
			}
			return nil, TypeErrorf("%s() missing required argument '%s' (pos %d)", name, s.names[i], i+1)
		}
	}
	return bound, nil
}

type signature struct {
	names          []string
	optional       []bool
	positional     int // parameters that may be given by position
	positionalOnly int // parameters that may not be given by name
}

func parseParams(params []string) signature {
	s := signature{names: make([]string, 0, len(params)), optional: make([]bool, 0, len(params)), positional: -1}
	for _, p := range params {
		switch p {
		case "/":
			s.positionalOnly = len(s.names)
		case "*":
			s.positional = len(s.names)
		default:
			name, optional := strings.CutSuffix(p, "?")
			s.names = append(s.names, name)
			s.optional = append(s.optional, optional)
		}
	}
	if s.positional < 0 {
		s.positional = len(s.names)
	}
	return s
}

func (s signature) find(name string) int {
	for i := s.positionalOnly; i < len(s.names); i++ {
		if s.names[i] == name {
			return i
		}
	}
	return -1
}

// bindTexts binds and requires every argument given to be a str.
func bindTexts(name string, params []string, args tuple, kwargs kwargsT) ([]string, error) {
	bound, err := BindArgs(name, params, args, kwargs)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(bound))
	for i, v := range bound {
		if v == nil {
			continue
		}
		s, ok := v.(starlark.String)
		if !ok {
			return nil, TypeErrorf("%s() argument %d must be str, not %s", name, i+1, TypeName(v))
		}
		texts[i] = string(s)
	}
	return texts, nil
}

// intArg is an argument that must be an int, or the default when it is absent.
func intArg(v value, absent int64) (int64, error) {
	if v == nil {
		return absent, nil
	}
	i, ok := asInt(v)
	if !ok {
		return 0, errNotInteger(v)
	}
	n, ok := i.Int64()
	switch {
	case ok:
		return n, nil
	case i.Sign() < 0:
		return -infinite, nil
	default:
		return infinite, nil
	}
}

// sizeArg is intArg for what counts or places something: it must fit a machine word.
func sizeArg(v value, absent int64) (int64, error) {
	n, err := intArg(v, absent)
	if err == nil && (n == infinite || n == -infinite) {
		return 0, errIndexSize()
	}
	return n, err
}

// widthArg is the width of a text to be made; one beyond a machine word is infinite.
func widthArg(v value) (int64, error) {
	n, err := intArg(v, 0)
	if err == nil && n == -infinite {
		return 0, errIndexSize()
	}
	return n, err
}

func errIndexSize() error {
	return OverflowErrorf("the int is too large for a size or an index")
}

func errNotInteger(v value) error {
	return TypeErrorf("'%s' object cannot be interpreted as an integer", TypeName(v))
}
