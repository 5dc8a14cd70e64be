package py

import (
	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// Format is one replacement field of an f-string: value, then conversion (0, 's', 'r'
// or 'a'), then the format specification (lang.md §5.10).
func Format(t *starlark.Thread, x starlark.Value, conv byte, spec string) (string, error) {
	switch conv {
	case 'r', 'a', 's':
		text, err := convert(t, x, conv)
		if err != nil || spec == "" {
			return text, err
		}
		x = starlark.String(text)
	default:
		if spec == "" {
			return Str(t, x)
		}
	}
	m := MeterOf(t)
	if err := m.Charge(out(digitRuns(spec))); err != nil {
		return "", err
	}
	switch x := x.(type) {
	case starlark.String, starlark.Int, starlark.Bool, starlark.Float:
		f, err := pytext.ParseSpec(spec, TypeName(x))
		if err != nil {
			return "", err
		}
		if err := m.Alloc(satMul(satAdd(f.Width, max(f.Precision, 0)), 4)); err != nil {
			return "", err
		}
		return formatScalar(x, f)
	default:
		return "", TypeErrorf("unsupported format string passed to %s.__format__", TypeName(x))
	}
}

func convert(t *thread, x value, conv byte) (string, error) {
	switch conv {
	case 'r':
		return Repr(t, x)
	case 'a':
		return asciiRepr(t, x)
	default:
		return Str(t, x)
	}
}

// digitRuns is the sum of the numbers in a specification.
func digitRuns(spec string) int64 {
	total, run := int64(0), int64(0)
	for i := range len(spec) {
		if isDigit(spec[i]) {
			run = satAdd(satMul(run, 10), int64(spec[i]-'0'))
			continue
		}
		total, run = satAdd(total, run), 0
	}
	return satAdd(total, run)
}

func formatScalar(x value, f pytext.Spec) (string, error) {
	switch x := x.(type) {
	case starlark.String:
		return f.Text(string(x))
	case starlark.Float:
		return f.Float(float64(x), "float")
	default:
		i, _ := asInt(x)
		return f.Int(i.BigInt(), TypeName(x))
	}
}
