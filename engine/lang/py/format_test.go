package py

import (
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var fileOptions = syntax.FileOptions{Set: true, Recursion: true, TopLevelControl: true, GlobalReassign: true}

func TestFormat(t *testing.T) {
	cases := []struct {
		expr, conv, spec, want, why string
	}{
		{"True", "", ">5", "    1", "a bool formats as an int"},
		{"True", "", "", "True", "but not without a specification"},
		{"-3", "", "05d", "-0003", "zeros go behind the sign"},
		{"0.125", "", ".2f", "0.12", "half to even on the exact value"},
		{"12345.678", "", ",.2f", "12,345.68", "thousands"},
		{"5", "", "#06b", "0b0101", "the base counts in the width"},
		{"1e5", "", "g", "100000", "g without exponent"},
		{"1e6", "", "g", "1e+06", "g with exponent"},
		{"1.0", "", ".3", "1.0", "no type: reads as a float"},
		{"123.0", "", ".3", "1.23e+02", "no type: one digit behind the point must fit"},
		{"1", "", "=+5", "+   1", "padding after the sign"},
		{"'abcdef'", "", ".3", "abc", "precision cuts a text"},
		{"'é'", "", "é>3", "ééé", "the fill is a code point"},
		{"'a'", "r", ">5", "  'a'", "conversion before specification"},
		{"'é'", "a", "", `'\xe9'`, "conversion alone"},
		{"'a'", "", "05", "a0000", "zeros fill a text behind"},
		{"2.5", "", ".0f", "2", "half to even"},
		{"1234567.891", "", "_.1f", "1_234_567.9", "underscores"},
		{"255", "", "#x", "0xff", "lower base"},
		{"255", "", "#X", "0XFF", "upper base"},
		{"0.5", "", "%", "50.000000%", "percent"},
		{"123.456", "", ".4", "123.5", "significant digits"},
		{"'a'", "", "*^7", "***a***", "centred"},
		{"1.5", "", "5", "  1.5", "numbers go right"},
		{"'a'", "", "5", "a    ", "texts go left"},
		{"1000", "", "_x", "3e8", "groups of four in hex"},
		{"1000", "", "012,", "0,000,001,000", "filled zeros are grouped"},
		{"-0.0001", "", "z.1f", "0.0", "z drops the sign of zero"},
		{"65", "", "c", "A", "a character"},
		{"5", "", "٣", "  5", "a width in the digits of another script"},
		{"1.5", "", "1٢.٣f", "       1.500", "or of two"},
		{"5", "", ">١٠٠٠٠٠٠٠٠٠", "!FuelExhaustedError", "is paid for like any other"},
		{"len", "", "5", "!LanguageError", "a function has no text, under a specification either"},
		{"map(str, [])", "", ">5", "!LanguageError", "nor an iterator"},
		{"1e16", "", "", "1e+16", "no specification: str"},
		{"float('nan')", "", "F", "NAN", "upper case"},
		{"set_([2, 1])", "s", ">8", "  {1, 2}", "a set in order"},
		{"1000", "", ",x", "!ValueError", "no commas in hex"},
		{"None", "", ">5", "!TypeError", "None takes no specification"},
		{"[1]", "", ">5", "!TypeError", "nor does a list"},
		{"'a'", "", "d", "!ValueError", "a wrong type letter"},
		{"'a'", "", "=5", "!ValueError", "no sign to pad after"},
		{"1", "", ".2", "!ValueError", "no precision of an int"},
		{"1.5", "", "d", "!ValueError", "no d of a float"},
		{"1", "", "5.", "!ValueError", "a precision without digits"},
		{"1", "", "5dd", "!ValueError", "two types"},
		{"-1", "", "c", "!OverflowError", "no such character"},
		{"1", "", ">1000000000", "!FuelExhaustedError", "a hostile width"},
		{"1.0", "", ".1000000000f", "!FuelExhaustedError", "a hostile precision"},
		{"1", "", "99999999999999999999", "!FuelExhaustedError", "a width beyond a word"},
	}
	for _, c := range cases {
		th := newThread(t, Limits{})
		v, err := evalText(th, c.expr, nil)
		if err != nil {
			t.Fatal(err)
		}
		conv := byte(0)
		if c.conv != "" {
			conv = c.conv[0]
		}
		got, err := Format(th, v, conv, c.spec)
		if err != nil {
			got = "!" + errorName(err)
		}
		if got != c.want {
			t.Errorf("f\"{%s!%s:%s}\" = %q, want %q (%s)", c.expr, c.conv, c.spec, got, c.want, c.why)
		}
	}
}

func TestPercent(t *testing.T) {
	runCases(t, []exprCase{
		{`"%05.1f" % 2.5, "%-08.3f|" % 3.14159, "%.3d" % 5, "%d" % 3.9, "%s" % [1]`, "('002.5', '3.142   |', '005', '3', '[1]')", "flags, width, precision"},
		{`"%(a)s-%(b)03d" % {"a": 1, "b": 2}`, "'1-002'", "keys"},
		{`"%*d|%-*d|" % (4, 1, 4, 2)`, "'   1|2   |'", "widths from the arguments"},
		{`"%x %X %o %#x %+d % d" % (255, 255, 8, 255, 5, 5)`, "'ff FF 10 0xff +5  5'", "bases and signs"},
		{`"%e|%G|%g" % (12345.678, 1e-10, 0.0001)`, "'1.234568e+04|1E-10|0.0001'", "floats"},
		{`"%c%c%%" % ("é", 128512)`, "'é😀%'", "characters and a literal %"},
		{`"%r %a %.2s" % ("é", "é", "abc")`, `"'é' '\\xe9' ab"`, "conversions"},
		{`"%s|%r" % (set_([2, 1]), set_([9, 8]))`, "'{1, 2}|{8, 9}'", "sets in order"},
		{`"abc" % {}, "abc" % [1]`, "('abc', 'abc')", "a mapping or list may stay unused"},
		{`"%s" % (1, 2)`, "!TypeError", "too many arguments"},
		{`"%s %s" % 1`, "!TypeError", "too few"},
		{`"abc" % 5`, "!TypeError", "one too many"},
		{`"%d" % "3"`, "!TypeError", "no number"},
		{`"%x" % 3.5`, "!TypeError", "no int"},
		{`"%ld %hx" % (5, 255)`, "'5 ff'", "one length of C is passed over"},
		{`"%lld" % 1`, "!ValueError", "two are not"},
		{`"%٣d" % 1`, "!ValueError", "no digits of other scripts"},
		{`"%y" % 1`, "!ValueError", "an unknown conversion"},
		{`"%" % 1`, "!ValueError", "no conversion"},
		{`"%(a)s" % 1`, "!TypeError", "keys need a dict"},
		{`"%(b)s" % {"a": 1}`, "!KeyError", "a key that is not there"},
		{`"%*d" % (1000000000, 1)`, "!FuelExhaustedError", "a hostile width from an argument"},
		{`"%1000000000d" % 1`, "!FuelExhaustedError", "a hostile width in the text"},
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"", ">10", "é^5,.2f", "#06b", "z.1", "=+012,", "99999999999999999999x"} {
		f.Add(s, int64(-5), 2.5, "é")
	}
	f.Fuzz(func(t *testing.T, spec string, i int64, x float64, s string) {
		th := newThread(t, Limits{Fuel: 100_000})
		for _, v := range []starlark.Value{starlark.MakeInt64(i), starlark.Float(x), starlark.String(s)} {
			text, err := Format(th, v, 0, spec)
			if err == nil && int64(len(text)) > DefaultLimits().MaxValueBytes {
				t.Fatalf("%d bytes from a specification of %q", len(text), spec)
			}
			_, _ = Binary(th, "%", starlark.String(spec), v)
		}
	})
}
