package py

import (
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestTextForms(t *testing.T) {
	runCases(t, []exprCase{
		{"'plain', \"it's\", 'say \"hi\"', 'both \\' and \"'", `('plain', "it's", 'say "hi"', 'both \' and "')`, "double quotes only around a single one"},
		{`"tab\t", "nul\x00", "\x7f", "é", "\u200b", "\\", "\r\n", "😀", "\u00a0"`, `('tab\t', 'nul\x00', '\x7f', 'é', '\u200b', '\\', '\r\n', '😀', '\xa0')`, "what is not printable is escaped"},
		{"surrogate", `'a\ud800b'`, "a lone surrogate"},
		{"[1, 'a', None, True], (1,), (), {}, {'k': [1.0]}, set(), set_([7]), range(3), range(1, 9, 2)", "([1, 'a', None, True], (1,), (), {}, {'k': [1.0]}, set(), {7}, range(0, 3), range(1, 9, 2))", "containers show the repr of their parts"},
		{"str([set_([10, 9])]), str(frozenset([3, 1])), str(set()), str(frozenset())", "('[{10, 9}]', 'frozenset({1, 3})', 'set()', 'frozenset()')", "sets are in order of their elements' repr, at any depth (LX-12)"},
		{"str({'k': 1}.keys()), str({'k': set_([3, 1])}.values()), str({'z': 1}.items())", `("dict_keys(['k'])", 'dict_values([{1, 3}])', "dict_items([('z', 1)])")`, "views"},
		{"1e15, 1e16, 1e22, 123456789.123, 0.0001, 0.00001, 100.0, -0.0, 5e-324, 1.7976931348623157e308", "(1000000000000000.0, 1e+16, 1e+22, 123456789.123, 0.0001, 1e-05, 100.0, -0.0, 5e-324, 1.7976931348623157e+308)", "shortest digits, exponents below -4 and from 16"},
		{"float('inf'), float('-inf'), float('nan')", "(inf, -inf, nan)", "no digits"},
		{"str(str), str(len)", "!LanguageError", "a function has no text that is the same in every run"},
		{"str(str), [int]", "(\"<class 'str'>\", [<class 'int'>])", "a built-in type has one"},
		{"fmt([map(str, [1])], '', '')", "!LanguageError", "an iterator has none, at any depth"},
		{"'%s' % to_json", "!LanguageError", "nor through %"},
		{"str({'a': 'x'.upper})", "!LanguageError", "nor has a method"},
		{"fmt('é', 'a', ''), fmt('日', 'a', ''), fmt('😀', 'a', ''), fmt(['é'], 'a', '')", `("'\\xe9'", "'\\u65e5'", "'\\U0001f600'", "['\\xe9']")`, "!a escapes what is not ASCII"},
		{"str(1 << 14286 - 1)", "!ValueError", "more than 4300 digits"},
	})
}

// Every set of small values reads the same whatever the order it was made in.
func TestSetTextIgnoresInsertionOrder(t *testing.T) {
	th := newThread(t, Limits{Fuel: 100_000_000})
	rapid.Check(t, func(r *rapid.T) {
		elems := rapid.SliceOfNDistinct(rapid.IntRange(-50, 50), 0, 12, rapid.ID[int]).Draw(r, "elems")
		shuffled := rapid.Permutation(elems).Draw(r, "shuffled")
		text := func(ints []int) string {
			list := make(starlark.Tuple, len(ints))
			for i, n := range ints {
				list[i] = starlark.MakeInt(n)
			}
			s, err := NewSet(th, list)
			if err != nil {
				r.Fatal(err)
			}
			text, err := Repr(th, s)
			if err != nil {
				r.Fatal(err)
			}
			return text
		}
		if a, b := text(elems), text(shuffled); a != b {
			r.Fatalf("%s and %s", a, b)
		}
	})
}

func TestShow(t *testing.T) {
	th := newThread(t, Limits{})
	long := starlark.String(make([]byte, 300))
	cases := []struct {
		v    starlark.Value
		want string
		why  string
	}{
		{starlark.String("a"), "'a'", "plain data by repr"},
		{BoolType, "<class 'bool'>", "a type by its name"},
		{Builtins()["len"], "<function len>", "a native without an address"},
		{function(t, "def f(): pass", "f"), "<function f>", "a function of the config"},
		{function(t, "g = lambda: 1", "g"), "<lambda>", "a lambda"},
		{newIteratorForTest(th), "<map object>", "an iterator"},
	}
	for _, c := range cases {
		if got := Show(th, c.v); got != c.want {
			t.Errorf("Show = %s, want %s (%s)", got, c.want, c.why)
		}
	}
	if got := Show(th, long); len(got) != 203 || got[200:] != "..." {
		t.Errorf("a long value is cut at 200 characters, got %d", len(got))
	}
}

func newIteratorForTest(th *starlark.Thread) starlark.Value {
	v, _ := makeMap(th, tuple{StrType, tuple{}}, nil)
	return v
}

// function is what the name denotes after the source has run.
func function(t testing.TB, source, name string) starlark.Value {
	t.Helper()
	globals, err := starlark.ExecFileOptions(&fileOptions, &starlark.Thread{}, "f", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return globals[name]
}
