package lang

import (
	"math"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What is read leniently as a scalar, and what is not (providers.md 1.14, facts of the
// conformance vectors).
func TestCoerceScalar(t *testing.T) {
	const refused = "refused"
	meter := py.NewMeter(t.Context(), py.Limits{})
	defer meter.Close()
	thread := &starlark.Thread{}
	meter.Attach(thread)
	huge := "1" + strings.Repeat("0", 400)
	for _, group := range []struct {
		kind  model.TypeKind
		cases map[starlark.Value]string
	}{
		{model.KindInt, map[starlark.Value]string{
			starlark.String("7"): "7", starlark.String(" 7 "): "7", starlark.String("\t7\n"): "7", starlark.String("+5"): "5", starlark.String("-5"): "-5",
			starlark.String("1_0"): "10", starlark.String("1_000_000"): "1000000", starlark.String("60.0"): "60", starlark.String("60.000"): "60",
			starlark.String("007"): "7", starlark.String("-0"): "0", starlark.String("9007199254740993"): "9007199254740993",
			starlark.True: "1", starlark.False: "0", starlark.Float(60): "60", starlark.Float(1e3): "1000", starlark.Float(math.Copysign(0, -1)): "0",
			starlark.Float(1 << 60): "1152921504606846976",

			starlark.String(""): refused, starlark.String(" "): refused, starlark.String("x"): refused, starlark.String("1.5"): refused,
			starlark.String("1e3"): refused, starlark.String("0x10"): refused, starlark.String("0b1"): refused, starlark.String("+-5"): refused,
			starlark.String("--5"): refused, starlark.String("- 5"): refused, starlark.String("_1"): refused, starlark.String("1_"): refused,
			starlark.String("1__0"): refused, starlark.String("1,000"): refused, starlark.String("1 0"): refused, starlark.String(".0"): refused,
			starlark.String("१"): refused, starlark.String("true"): refused, starlark.String("None"): refused, starlark.String(huge): refused,
			starlark.Float(5.5): refused, starlark.Float(math.Inf(1)): refused, starlark.Float(math.NaN()): refused, starlark.None: refused,
			py.Bytes("7"): refused,
		}},
		{model.KindFloat, map[starlark.Value]string{
			starlark.Float(1.5): "1.5", starlark.MakeInt(2): "2.0", starlark.True: "1.0", starlark.String("1.5"): "1.5", starlark.String(" 1e3 "): "1000.0",
			starlark.String("1_0.5"): "10.5", starlark.String("-.5"): "-0.5", starlark.String("+2"): "2.0",

			starlark.String(""): refused, starlark.String("0x1p2"): refused, starlark.String("1_"): refused, starlark.String("a"): refused, starlark.None: refused,
		}},
		{model.KindBool, map[starlark.Value]string{
			starlark.True: "True", starlark.MakeInt(1): "True", starlark.MakeInt(0): "False", starlark.Float(1): "True", starlark.Float(0): "False",
			starlark.String("true"): "True", starlark.String("YES"): "True", starlark.String("On"): "True", starlark.String("t"): "True", starlark.String("Y"): "True", starlark.String("1"): "True",
			starlark.String("false"): "False", starlark.String("no"): "False", starlark.String("OFF"): "False", starlark.String("F"): "False", starlark.String("n"): "False", starlark.String("0"): "False",

			starlark.MakeInt(2): refused, starlark.MakeInt(-1): refused, starlark.Float(0.5): refused, starlark.String(""): refused, starlark.String(" true"): refused,
			starlark.String("maybe"): refused, starlark.String("1.0"): refused, starlark.None: refused,
		}},
		{model.KindString, map[starlark.Value]string{
			starlark.String(""): "", starlark.String("é"): "é",

			starlark.MakeInt(5): refused, starlark.True: refused, starlark.Float(1): refused, starlark.None: refused, py.Bytes("a"): refused,
		}},
	} {
		for given, want := range group.cases {
			got := refused
			if v := coerceScalar(group.kind, given); v != nil {
				text, err := py.Str(thread, v)
				if err != nil {
					t.Fatal(err)
				}
				got = text
			}
			if got != want {
				t.Errorf("kind %d: %v gives %s, want %s", group.kind, given, got, want)
			}
		}
	}
}
