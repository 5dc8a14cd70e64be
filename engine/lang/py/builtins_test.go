package py

import "testing"

func TestBuiltins(t *testing.T) {
	runCases(t, []exprCase{
		{`int("42"), int(" -7 "), int("1_000"), int("ff", 16), int("0b101", 2), int("0x1f", 0), int(True), int(-3.99), int("٣٤"), int()`, "(42, -7, 1000, 255, 5, 31, 1, -3, 34, 0)", "int"},
		{`int("3.5")`, "!ValueError", "no fraction"},
		{`int("")`, "!ValueError", "nothing"},
		{`int(" 1 "), int("\u20281"), int("\x1c１"), float("\u30001.5")`, "(1, 1, 1, 1.5)", "whitespace around it, of Unicode beside other such characters"},
		{`int("\x1c1")`, "!ValueError", "a separator of ASCII is no whitespace of a number"},
		{`float("1\x1f")`, "!ValueError", "of a float likewise"},
		{`int("1__0")`, "!ValueError", "one underscore at a time"},
		{`int(float("nan"))`, "!ValueError", "NaN is no int"},
		{`int(float("inf"))`, "!OverflowError", "nor is infinity"},
		{`int(None)`, "!TypeError", "nor None"},
		{`int("1" * 4301)`, "!ValueError", "more than 4300 digits"},
		{`float(" 1_0.5 "), float("1e400"), float("-INFINITY"), float("٣.٥"), float(True)`, "(10.5, inf, -inf, 3.5, 1.0)", "float"},
		{`float("0x1")`, "!ValueError", "no hex"},
		{`float(op("**", 10, 400))`, "!OverflowError", "too large"},
		{"str(), bool(), list(), tuple(), set(), dict(), frozenset()", "('', False, [], (), set(), {}, frozenset())", "empty ones"},
		{"bool('0'), bool([]), bool(0.0), bool(range(0)), bool(frozenset()), bool({}.keys()), bool(len)", "(True, False, False, False, False, False, True)", "truth"},
		{`dict([("k", "v"), ["l", "w"]], m=1), dict(["ab"]), dict({"a": 1}, a=2)`, "({'k': 'v', 'l': 'w', 'm': 1}, {'a': 'b'}, {'a': 2})", "dict"},
		{"dict([1])", "!TypeError", "an element that is no pair"},
		{"dict([(1, 2, 3)])", "!ValueError", "a pair of three"},
		{`len("héé"), len([1]), len({}), len(range(0, 100, 7)), len(set_([1, 1]))`, "(3, 1, 0, 15, 1)", "lengths; texts in code points"},
		{"len(5)", "!TypeError", "no length"},
		{"len(range(100000000000000000000))", "!OverflowError", "too long for an index"},
		{"list(range(4)), list(range(10, 0, -3)), range(5)[2], range(10)[::3], range(10)[2:100]", "([0, 1, 2, 3], [10, 7, 4, 1], 2, range(0, 10, 3), range(2, 10))", "range"},
		{"range(1, 2, 0)", "!ValueError", "no step"},
		{"range(1.0)", "!TypeError", "ints only"},
		{`sorted([3, 1, 2]), sorted("bca", reverse=True), sorted(["bb", "aa", "c"], key=len), sorted({"b": 1, "a": 2})`, "([1, 2, 3], ['c', 'b', 'a'], ['c', 'bb', 'aa'], ['a', 'b'])", "sorted is stable"},
		{"sorted([1, 'a'])", "!TypeError", "mixed types"},
		{"sorted([1], str)", "!TypeError", "key is keyword-only"},
		{`min(3, 1, 2), max([4, 9, 2]), min("pear", "apple"), max([], default=-1), min(["ccc", "a"], key=len), max(*[3, 9])`, "(1, 9, 'apple', -1, 'a', 9)", "extremes"},
		{"max()", "!TypeError", "nothing given"},
		{"max([])", "!ValueError", "nothing in it"},
		{"sum([1, 2], 10), sum([0.1]*10), sum([1, 2.5]), sum([1e100, 1.0, -1e100]), sum(set_([1, 2])), sum([True, True])", "(13, 1.0, 3.5, 1.0, 3, 2)", "floats are compensated (LX-13)"},
		{"sum(['a'])", "!TypeError", "no texts"},
		{"sum(['a'], '')", "!TypeError", "no text start"},
		{"sum([[1], [2]], [])", "!LanguageError", "a list start is quadratic"},
		{"round(2.5), round(0.5), round(-1.5), round(2.675, 2), round(1.005, 2), round(25, -1), round(123.456, -1), round(1350, -2), round(7, None)", "(2, 0, -2, 2.67, 1.0, 20, 120.0, 1400, 7)", "half to even on the exact value"},
		{"round(float('nan'))", "!ValueError", "NaN has no int"},
		{"list(enumerate('ab', 1)), list(enumerate(['p'], start=5))", "([(1, 'a'), (2, 'b')], [(5, 'p')])", "enumerate"},
		{"list(zip([1, 2, 3], 'ab')), list(zip())", "([(1, 'a'), (2, 'b')], [])", "zip stops at the shortest"},
		{"list(zip([1, 2], [1], strict=True))", "!ValueError", "a strict one does not"},
		{"list(filter(None, [0, 1, '', 'a'])), list(map(str, [1, 2]))", "([1, 'a'], ['1', '2'])", "filter and map"},
		{"list(map(list, [set_([3, 1])])), list(map(str, [set_([3, 1])]))", "([[1, 3]], ['{1, 3}'])", "a native called by map gets sets in order, str itself"},
		{"list(reversed('abc')), list(reversed(range(3))), list(reversed(set_([2, 1])))", "(['c', 'b', 'a'], [2, 1, 0], [2, 1])", "reversed; a set arrives as a list"},
		{"divmod(-7, 2), divmod(7.5, -2), abs(-3), abs(True), abs(-0.0)", "((-4, 1), (-4.0, -0.5), 3, 1, 0.0)", "numbers"},
		{"any([]), all([]), any([0, 1]), all([1, 0])", "(False, True, True, False)", "quantifiers"},
		{"(5)()", "!TypeError", "an int is not callable"},
	})
}

func TestUnpack(t *testing.T) {
	runCases(t, []exprCase{
		{"unpack(set_([2, 1]), 2, -1), unpack('xy', 2, -1), unpack({'a': 1}, 1, -1)", "((1, 2), ('x', 'y'), ('a',))", "iteration order"},
		{"unpack([1, 2, 3], 2, 1), unpack('xyz', 2, 0), unpack((1, 2), 3, 1), unpack([1], 2, 1)", "((1, [2, 3]), (['x', 'y'], 'z'), (1, [], 2), (1, []))", "a starred target takes a list"},
		{"unpack([1], 2, -1)", "!LanguageError", "too few"},
		{"unpack(range(100000000), 2, -1)", "!LanguageError", "too many, after one more than needed"},
		{"unpack([1], 3, 1)", "!LanguageError", "too few for the plain targets"},
		{"unpack(5, 2, -1)", "!TypeError", "not iterable"},
		{"unpack(range(100000000), 2, 1)", "!FuelExhaustedError", "a starred target pays for every item"},
	})
}

func TestSubscripts(t *testing.T) {
	runCases(t, []exprCase{
		{"'aéb'[1], 'aéb'[-1], [1, 2][True], (1, 2)[-2], '😀a'[1]", "('é', 'b', 2, 1, 'a')", "indexes count code points"},
		{"'abcdefgh'[5:1:-2], 'héllo'[::-1], 'abc'[10:], 'abc'[-100:2], 'é😀'[::2]", "('fd', 'olléh', '', 'ab', 'é')", "slices of texts"},
		{"[0, 1, 2, 3][::-2], (1, 2, 3)[1:], [0, 1][4:1], [1, 2][None:1]", "([3, 1], (2, 3), [], [1])", "slices of sequences"},
		{"[][0]", "!IndexError", "out of range"},
		{"'a'[1.0]", "!TypeError", "no fractional index"},
		{"[1][::0]", "!ValueError", "no step"},
		{"(5)[0]", "!TypeError", "an int has no items"},
		{"put((1,), 0, 2)", "!TypeError", "a tuple does not change"},
		{"put('a', 0, 'b')", "!TypeError", "nor a text"},
		{"put({}, [], 1)", "!TypeError", "an unhashable key"},
		{"len[0]", "!TypeError", "a function has no items"},
	})
	slices := []struct{ start, lo, hi, step, v, want, why string }{
		{"[1, 2, 3, 4]", "1", "3", "None", "[9]", "[1, 9, 4]", "a slice may shrink the list"},
		{"[1, 2]", "1", "1", "None", "'ab'", "[1, 'a', 'b', 2]", "or grow it, from any iterable"},
		{"[1, 2, 3]", "2", "0", "None", "[9]", "[1, 2, 9, 3]", "an empty slice inserts at its start"},
		{"[1, 2, 3, 4]", "None", "None", "2", "[8, 9]", "[8, 2, 9, 4]", "a stepped slice replaces one by one"},
		{"[1, 2, 3, 4]", "None", "None", "2", "[8]", "!ValueError", "and needs as many"},
		{"[1]", "None", "None", "0", "5", "!ValueError", "the step is looked at before the value"},
		{"[1]", "0", "1", "None", "5", "!TypeError", "only from an iterable"},
	}
	for _, c := range slices {
		th := newThread(t, Limits{})
		vals := map[string]value{}
		for name, expr := range map[string]string{"x": c.start, "lo": c.lo, "hi": c.hi, "step": c.step, "v": c.v} {
			v, err := evalText(th, expr, nil)
			if err != nil {
				t.Fatal(err)
			}
			vals[name] = v
		}
		var got string
		if err := SetItem(th, vals["x"], NewSlice(vals["lo"], vals["hi"], vals["step"]), vals["v"]); err != nil {
			got = "!" + errorName(err)
		} else {
			got = run(th, "x", vals)
		}
		if got != c.want {
			t.Errorf("%s[%s:%s:%s] = %s leaves %s, want %s (%s)", c.start, c.lo, c.hi, c.step, c.v, got, c.want, c.why)
		}
	}
}
