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
	if err := m.Charge(satAdd(out(digitRuns(spec)), int64(len(spec))/64)); err != nil {
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
		if i, ok := asInt(x); ok {
			if err := m.chargeDigits(i); err != nil {
				return "", err
			}
		}
		return formatScalar(x, f)
	default:
		if _, err := Repr(t, x); err != nil {
			return "", err
		}
		return "", TypeErrorf("unsupported format string passed to %s.__format__", TypeName(x))
	}
}

// chargeDigits takes what writing an int costs. The digits of one of a machine word are
// free.
func (m *Meter) chargeDigits(i starlark.Int) error {
	if err := m.chargeBits(i, i); err != nil {
		return err
	}
	return m.Reserve(bitLen(i))
}

func convert(t *thread, x value, conv byte) (string, error) {
	switch conv {
	case 'r':
		return Repr(t, x)
	case 'a':
		text, err := Repr(t, x)
		if err != nil {
			return "", err
		}
		return asciiText(MeterOf(t), text)
	default:
		return Str(t, x)
	}
}

// digitRuns is the sum of the numbers in a specification.
func digitRuns(spec string) int64 {
	total, run := int64(0), int64(0)
	for _, r := range spec {
		if d, ok := pytext.DecimalDigit(r); ok {
			run = satAdd(satMul(run, 10), int64(d))
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
