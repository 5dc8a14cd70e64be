package resolve

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// fill writes the text of a template's pieces.
func (e *evaluation) fill(b *strings.Builder, pieces []piece, template string, args []any) error {
	for _, p := range pieces {
		made := p.literal
		if p.argument >= 0 {
			if p.argument >= len(args) {
				return refused("template '%.60s' names argument %d, but there are %d", template, p.argument, len(args))
			}
			var spec strings.Builder
			if err := e.fill(&spec, p.spec, template, args); err != nil {
				return err
			}
			var err error
			if made, err = e.format(args[p.argument], p.conversion, spec.String()); err != nil {
				return err
			}
		}
		if err := e.write(b, made); err != nil {
			return err
		}
	}
	return nil
}

// format is one argument in the form that its field asks for: format(v, spec) of
// Python, by the same code as the language's own.
func (e *evaluation) format(v any, conversion byte, spec string) (string, error) {
	switch conversion {
	case 's':
		v = model.Text(v)
	case 'r':
		v = model.Repr(v)
	case 'a':
		v = ascii(model.Repr(v))
	}
	if spec == "" {
		return model.Text(v), nil
	}
	name := typeName(v)
	if name == "" {
		return "", refused("format '%.40s' does not apply to %s", spec, kind(v))
	}
	f, err := pytext.ParseSpec(spec, name)
	if err != nil {
		return "", refused("format '%.40s' of %s: %s", spec, kind(v), err)
	}
	if f.Precision > int64(e.left) || f.Width > int64(e.left/len(f.Fill)) {
		return "", e.charge(MaxText + 1)
	}
	made, err := formatted(f, v, name)
	if err != nil {
		return "", refused("format '%.40s' does not apply to %s: %s", spec, kind(v), err)
	}
	if !utf8.ValidString(made) {
		return "", refused("format '%.40s' of %s makes a lone surrogate, which no text may hold", spec, kind(v))
	}
	return made, nil
}

// typeName is Python's name of the type of what has a format; "" for anything else.
func typeName(v any) string {
	switch v.(type) {
	case string:
		return "str"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	default:
		return ""
	}
}

func formatted(f pytext.Spec, v any, typeName string) (string, error) {
	switch v := v.(type) {
	case string:
		return f.Text(v)
	case float64:
		return f.Float(v, typeName)
	case int64:
		return f.Int(big.NewInt(v), typeName)
	case bool:
		if v {
			return f.Int(big.NewInt(1), typeName)
		}
	}
	return f.Int(new(big.Int), typeName)
}
