package pytext_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

//go:embed testdata/format.tsv
var formatted string

// The table is what CPython makes of the same values and specifications.
func TestFormat(t *testing.T) {
	lines := 0
	for line := range strings.Lines(formatted) {
		lines++
		var c [4]string // type, value, specification, result
		for i, cell := range strings.Split(strings.TrimSpace(line), "\t") {
			if err := json.Unmarshal([]byte(cell), &c[i]); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		got, err := format(c[0], c[1], c[2])
		if e, ok := errors.AsType[*pytext.Error](err); ok {
			got = "!" + e.Name
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c[3] {
			t.Errorf("format(%s(%q), %q) = %q (%v), want %q", c[0], c[1], c[2], got, err, c[3])
		}
	}
	if lines < 3000 {
		t.Errorf("the table has %d lines", lines)
	}
}

// format is format(type(value), spec).
func format(typeName, value, spec string) (string, error) {
	f, err := pytext.ParseSpec(spec, typeName)
	if err != nil {
		return "", err
	}
	switch typeName {
	case "str":
		return f.Text(value)
	case "float":
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return "", err
		}
		return f.Float(v, typeName)
	case "bool":
		value = map[string]string{"True": "1", "False": "0"}[value]
	}
	i, ok := new(big.Int).SetString(value, 10)
	if !ok {
		return "", errors.New("not an int: " + value)
	}
	return f.Int(i, typeName)
}

func TestIntText(t *testing.T) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(pytext.MaxIntDigits), nil)
	largest := new(big.Int).Sub(limit, big.NewInt(1))
	for _, c := range []struct {
		why    string
		number *big.Int
		digits int // 0 = refused
	}{
		{"a small one", big.NewInt(-12), 3},
		{"the most digits there may be", largest, pytext.MaxIntDigits},
		{"a sign is no digit", new(big.Int).Neg(largest), pytext.MaxIntDigits + 1},
		{"one digit more", limit, 0},
		{"far more", new(big.Int).Lsh(limit, 1<<20), 0},
	} {
		text, err := pytext.IntText(c.number)
		if len(text) != c.digits || (err == nil) != (c.digits > 0) {
			t.Errorf("%s: %d digits, %v", c.why, len(text), err)
		}
	}
	if _, err := pytext.IntFloat(limit); err == nil {
		t.Error("10**4300 became a float")
	}
}

func TestCodePoints(t *testing.T) {
	lone := string(pytext.AppendRune(nil, 0xD800))
	for _, c := range []struct {
		text string
		n    int64
	}{{"", 0}, {"aé日😀", 4}, {lone, 1}, {"a" + lone + lone + "b", 4}, {"\xED", 1}, {"\xff", 1}} {
		if n := pytext.Len(c.text); n != c.n {
			t.Errorf("%+q has %d code points, want %d", c.text, n, c.n)
		}
		if all, n := pytext.Prefix(c.text, math.MaxInt64); all != c.text || n != c.n {
			t.Errorf("the whole of %+q is %+q with %d code points", c.text, all, n)
		}
	}
	if r, size := pytext.DecodeRune(lone + "x"); r != 0xD800 || size != 3 {
		t.Errorf("a lone surrogate decodes to %#x of %d bytes", r, size)
	}
	if cut, n := pytext.Prefix("é"+lone+"x", 2); cut != "é"+lone || n != 2 {
		t.Errorf("cut to %+q, %d code points", cut, n)
	}
}

func FuzzFormat(f *testing.F) {
	for _, spec := range []string{"", ">10", "é^5,.2f", "#06b", "z.1", "=+012,", "99999999999999999999x", "\xff<3"} {
		f.Add(spec, int64(-5), 2.5, "é")
	}
	f.Fuzz(func(t *testing.T, spec string, i int64, x float64, s string) {
		const limit = 1 << 12
		for name, render := range map[string]func(pytext.Spec) (string, error){
			"int":   func(f pytext.Spec) (string, error) { return f.Int(big.NewInt(i), "int") },
			"float": func(f pytext.Spec) (string, error) { return f.Float(x, "float") },
			"str":   func(f pytext.Spec) (string, error) { return f.Text(s) },
		} {
			f, err := pytext.ParseSpec(spec, name)
			if err != nil || f.Width > limit || f.Precision > limit {
				continue
			}
			text, err := render(f)
			if err != nil {
				continue
			}
			// Bytes that are no text may join to one code point; no config can make them.
			if n := pytext.Len(text); n < f.Width && utf8.ValidString(spec) && utf8.ValidString(s) {
				t.Errorf("%s under %q has %d code points, less than its width", name, spec, n)
			}
			if utf8.ValidString(spec) && utf8.ValidString(s) && f.Kind != 'c' && !utf8.ValidString(text) {
				t.Errorf("%s under %q is not UTF-8: %+q", name, spec, text)
			}
		}
	})
}
