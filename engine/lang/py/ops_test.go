package py

import (
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestOperators(t *testing.T) {
	runCases(t, []exprCase{
		{"-7//2, -7%3, 7%-3, -7.5//2, 7//2", "(-4, 2, -2, -4.0, 3)", "// and % floor, the sign is the divisor's"},
		{`op("**", 2, -1), op("**", 2, op("**", 3, 2)), op("**", 0, 0), op("**", -2, 3)`, "(0.5, 512, 1, -8)", "a negative exponent gives a float"},
		{`op("**", 0, -1)`, "!ZeroDivisionError", "0 has no inverse"},
		{`op("**", -8, 0.5)`, "!ValueError", "there are no complex numbers"},
		{`op("**", 64, 2.5), op("**", 10, -2.5)`, "(32768.0, 0.0031622776601683794)", "fractional powers are correctly rounded"},
		{`op("**", 1e200, 2)`, "!OverflowError", "** overflows, unlike *"},
		{"1e200 * 1e200, -1e308 - 1e308", "(inf, -inf)", "float overflow is infinite"},
		{"1/0, 1", "!ZeroDivisionError", "int division by zero"},
		{"1.0//0", "!ZeroDivisionError", "float floor division by zero"},
		{"1 % 0", "!ZeroDivisionError", "modulo by zero"},
		{"7/2, 4/2, True/2", "(3.5, 2.0, 0.5)", "/ is a float always"},
		{`10000000000000000000001/10000000000000000000000, op("**", 10, 400)/op("**", 10, 399)`, "(1.0, 10.0)", "big ints divide correctly rounded"},
		{`op("**", 10, 400)/1`, "!OverflowError", "a quotient beyond the floats"},
		{"0 / -7, 0 / -100000000000000000000, 0 / 3", "(-0.0, -0.0, 0.0)", "zero by a negative number keeps the sign"},
		{`op("**", 1.0000001, 5e6), op("**", 1.0000001, -1e9), op("**", 0.999, 1e9), op("**", -1.0, 1e9)`, "(1.6487212299634166, 3.7200943592418933e-44, 0.0, 1.0)", "large exponents are correctly rounded too"},
		{`op("**", 1.0000001, 1e300)`, "!OverflowError", "until the result is beyond a float"},
		{"True + 1, True * 3, False - 1, neg('~', True), neg('-', True)", "(2, 3, -1, -2, -1)", "a bool is an int"},
		{"True & False, True | False, True ^ True, True & 1, 6 & 3", "(False, True, False, 1, 2)", "bit operators on two bools give a bool"},
		{"1 << 12, 4096 >> 5, -9 >> 1, 1 << True", "(4096, 128, -5, 2)", "shifts"},
		{"1 << -1", "!ValueError", "a negative shift count"},
		{"1.5 & 1", "!TypeError", "no bit operators on floats"},
		{"'a' + 'b', [1] + [2], (1,) + (2,)", "('ab', [1, 2], (1, 2))", "concatenation of equal types"},
		{"'n=' + 3", "!TypeError", "no implicit text"},
		{"[1] + (2,)", "!TypeError", "list and tuple do not mix (LX-2)"},
		{"'ab' * 2, 2 * [1, 2], (1,) * 0, 'ab' * -1, [0] * True", "('abab', [1, 2, 1, 2], (), '', [0])", "repetition takes an int, a bool counts"},
		{"'a' * 1.5", "!TypeError", "no fractional repetition"},
		{"[] * 100000000000000000000", "!OverflowError", "a count beyond a machine word, whatever is repeated"},
		{"'a' * -100000000000000000000", "!OverflowError", "on the other side as well"},
		{"{'x': 1} | {'y': 2, 'x': 3}", "{'x': 3, 'y': 2}", "the right dict wins, keys keep their place"},
		{"set_([1, 2]) | set_([2, 3]), set_([1, 2]) & set_([2]), set_([1, 2]) - set_([2]), set_([1, 2]) ^ set_([2, 3])", "({1, 2, 3}, {2}, {1}, {1, 3})", "set algebra"},
		{"frozenset([1]) | set_([2]), set_([2]) | frozenset([1])", "(frozenset({1, 2}), {1, 2})", "the left operand gives the type"},
		{"set_([1]) | [2]", "!TypeError", "set operators need sets on both sides"},
		{"neg('-', 'a')", "!TypeError", "no unary minus on a text"},
		{"op('-', {}, {})", "!TypeError", "no difference of dicts"},
		{"op('**', 2, 65535).bit_length()", "65536", "the largest power allowed"},
		{"op('**', 2, 65536)", "!FuelExhaustedError", "a bit more is refused before it is computed"},
		{"1 << 65536", "!FuelExhaustedError", "so is a shift"},
		{"op('**', 2, 65535) * 1", "!FuelExhaustedError", "the bound of a product is the sum of the lengths"},
		{"(op('**', 2, 65535) % 1000003), op('**', 2, 65535) // op('**', 2, 65530)", "(762552, 32)", "division stays within its operand"},
		{"op('**', 1, 10000000000000000000000), op('**', -1, 10000000000000000000001)", "(1, -1)", "powers of one cost nothing"},
		{"1 >> 10000000000000000000000, -1 >> 10000000000000000000000", "(0, -1)", "a shift count beyond a word"},
		{"str | None", "str | None", "a type expression, for var to refuse"},
		{"list[str]", "list[str]", "another"},
	})
}

func TestComparison(t *testing.T) {
	runCases(t, []exprCase{
		{"True == 1, 1 == 1.0, 0 == False, 1 == '1', 1 in [True]", "(True, True, True, False, True)", "numbers compare by value"},
		{"[1] == (1,), (1,) == (1.0,), [1, [2]] == [1, [2]]", "(False, True, True)", "list is not tuple; elements compare"},
		{"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}, set_([1]) == frozenset([True])", "(True, True)", "dicts ignore order, sets compare by content"},
		{"float('nan') == float('nan'), [float('nan')] == [float('nan')]", "(False, False)", "NaN equals nothing"},
		{"10000000000000000000000 == 1e22, 9007199254740993 == 9007199254740992.0, 9007199254740993 > 9007199254740992.0", "(True, False, True)", "ints and floats compare exactly"},
		{"'Z' < 'a', '\\uffff' < '\\U00010000', 'a' < 'ab'", "(True, True, True)", "by code point"},
		{"(1, 2) < (1, 3), [1] < [1, 0], [2] > [1, 5], (1, 'a') < (2, 0)", "(True, True, True, True)", "lexicographic; the first difference decides"},
		{"set_([1]) < set_([1, 2]), set_([1]) <= set_([1]), set_([1]) < set_([2]), set_([1, 2]) > set_([1])", "(True, True, False, True)", "subset"},
		{"1 < 'a'", "!TypeError", "no order across types"},
		{"None < None", "!TypeError", "None has no order"},
		{"{} < {}", "!TypeError", "dicts have no order"},
		{"[1] < (1,)", "!TypeError", "nor list with tuple"},
		{"1 < float('nan'), float('nan') > 1", "(False, False)", "NaN is ordered with nothing"},
		{"cmp('is', 1, 1), cmp('is', 1, True), cmp('is', 1, 1.0), cmp('is', 'a', 'a'), cmp('is not', None, None)", "(True, False, False, True, False)", "is on scalars: same type and equal"},
		{"cmp('is', [], []), cmp('is', (), ()), cmp('is', int, int)", "(False, True, True)", "is on containers: identity"},
		{"'b' in 'abc', '' in 'a', 2 in (1, 2), 'a' in {'a': 1}, 3 not in [1]", "(True, True, True, True, True)", "membership"},
		{"1 in 'abc'", "!TypeError", "a text contains texts"},
		{"1 in 5", "!TypeError", "an int contains nothing"},
		{"[] in {}", "!TypeError", "an unhashable key"},
		{"cmp('in', set_([1]), set_([frozenset([1])]))", "True", "a set is looked up as a frozenset"},
		{"3 in range(5), 3.0 in range(5), 2.5 in range(5), 7 in range(0, 10, 2), 'a' in range(3), -1 in range(3)", "(True, True, False, False, False, False)", "range membership is arithmetic"},
		{"range(0) == range(2, 2), range(0, 3, 2) == range(0, 4, 2), range(3) == [0, 1, 2]", "(True, True, False)", "ranges compare by sequence"},
		{"{'a': 1}.keys() == set_(['a']), {'a': 1}.items() == {'a': 1.0}.items(), {'a': 1}.values() == {'a': 1}.values()", "(True, True, False)", "keys and items are like sets, values are not"},
		{"2 in map(int, ['1', '2'])", "True", "an iterator is searched onwards"},
	})
}

func TestKeys(t *testing.T) {
	runCases(t, []exprCase{
		{"{1: 'a', 1.0: 'b', True: 'c'}", "{1: 'c'}", "one key: the first spelling, the last value"},
		{"{True: 1, 1: 2, 0: 3, False: 4}", "{True: 2, 0: 4}", "a bool first"},
		{"{(1, True): 1, (True, 1.0): 2}", "{(1, True): 2}", "inside a tuple too"},
		{"{(0, 1, 0, 1, 0, 1): 1, (False, True, 0.0, 1.0, False, True): 2}", "{(0, 1, 0, 1, 0, 1): 2}", "also when there are many spellings"},
		{"{(1, (True, 'a')): 'x'}[(True, (1.0, 'a'))]", "'x'", "nested, at lookup"},
		{"set_([True, 1, 1.0, 0, False])", "{0, True}", "a set likewise"},
		{"frozenset([1]) in {frozenset([True]): 1}", "True", "frozensets hash alike"},
		{"{1: 2}[True], {1: 2}[1.0], {True: 1}.get(1), {1: 2}.pop(True)", "(2, 2, 1, 2)", "every way in"},
		{"put({True: 'a'}, 1, 'b')", "{True: 'b'}", "assignment keeps the key"},
		{"{[1]: 2}", "!TypeError", "a list is unhashable"},
		{"{(1, [2]): 3}", "!TypeError", "also within a tuple"},
		{"set_([{}])", "!TypeError", "a dict is unhashable"},
		{"{'b': 1}['a']", "!KeyError", "a miss"},
		{"set_([float('nan'), float('nan')])", "!LanguageError", "two NaN would render alike (§5.7)"},
	})
}

func TestDivisionLaw(t *testing.T) {
	th := newThread(t, Limits{Fuel: 100_000_000})
	rapid.Check(t, func(r *rapid.T) {
		x := starlark.MakeInt64(rapid.Int64().Draw(r, "x"))
		y := starlark.MakeInt64(rapid.Int64().Filter(func(y int64) bool { return y != 0 }).Draw(r, "y"))
		q, err := Binary(th, "//", x, y)
		if err != nil {
			r.Fatal(err)
		}
		m, err := Binary(th, "%", x, y)
		if err != nil {
			r.Fatal(err)
		}
		if sum := q.(starlark.Int).Mul(y).Add(m.(starlark.Int)); !isSame(sum, x) {
			r.Fatalf("(%s // %s) * %s + remainder = %s", x, y, y, sum)
		}
		if s := m.(starlark.Int).Sign(); s != 0 && s != y.Sign() {
			r.Fatalf("%s %% %s = %s has the wrong sign", x, y, m)
		}
	})
}

func BenchmarkBinaryIntAdd(b *testing.B) {
	th := newThread(b, Limits{Fuel: 100_000_000})
	var x starlark.Value = starlark.MakeInt(1)
	b.ReportAllocs()
	for range b.N {
		if _, err := Binary(th, "+", x, x); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBinaryTextAdd(b *testing.B) {
	var x starlark.Value = starlark.String("name-")
	th := newThread(b, Limits{})
	b.ReportAllocs()
	for i := range b.N {
		if i%1_000_000 == 0 {
			th = newThread(b, Limits{})
		}
		if _, err := Binary(th, "+", x, x); err != nil {
			b.Fatal(err)
		}
	}
}
