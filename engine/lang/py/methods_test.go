package py

import "testing"

func TestStrMethods(t *testing.T) {
	runCases(t, []exprCase{
		{`"abc".center(6), "ab".center(5), "ab".center(5, "*"), "-5".zfill(4), "+7".zfill(4), "7".zfill(3)`, "(' abc  ', '  ab ', '**ab*', '-005', '+007', '007')", "padding"},
		{`" a b ".split(None, 1), "".split(), "".split(","), "a b  c ".split(" ")`, "(['a', 'b '], [], [''], ['a', 'b', '', 'c', ''])", "split"},
		{`"a,b,,".rsplit(",", 1), " x y ".rsplit(None, 1)`, "(['a,b,', ''], [' x', 'y'])", "rsplit"},
		{`"abc".split("")`, "!ValueError", "an empty separator"},
		{`"a\r\nb\x0bc\u2028d".splitlines(), "a\nb\n".splitlines(True), "".splitlines()`, `(['a', 'b', 'c', 'd'], ['a\n', 'b\n'], [])`, "line ends of Unicode"},
		{`"they're bill's".title(), "aBC".capitalize(), "hello World-42".swapcase()`, `("They'Re Bill'S", 'Abc', 'HELLO wORLD-42')`, "case by character"},
		{`"ß".upper(), "İ".lower(), "Straße".casefold(), "ΑΣ ΑΣΑ".lower(), "ﬁ".title(), "Ꭰ".casefold()`, "('SS', 'i̇', 'strasse', 'ας ασα', 'Fi', 'Ꭰ')", "special casing"},
		{`"abc".replace("", "-"), "aaa".replace("a", "b", 2), "éa".replace("", "-", 2)`, "('-a-b-c-', 'bba', '-é-a')", "replace"},
		{`"abc".count(""), "aaaa".count("aa"), "banana".find("an"), "banana".rfind("an"), "日本a".find("a"), "a".find("", 2)`, "(4, 2, 1, 3, 2, -1)", "positions are code points"},
		{`"abc".index("z")`, "!ValueError", "index must find"},
		{`",".join({"a": 1}), "-".join("héé"), "".join([])`, "('a', 'h-é-é', '')", "join takes any iterable"},
		{`"-".join(set_(["b", "a"]))`, "'a-b'", "a set arrives in order"},
		{`",".join([1])`, "!TypeError", "of texts only"},
		{`"k=v=w".partition("="), "k=v=w".rpartition("="), "kv".partition("="), "kv".rpartition("=")`, "(('k', '=', 'v=w'), ('k=v', '=', 'w'), ('kv', '', ''), ('', '', 'kv'))", "partition"},
		{`"xyabyx".lstrip("xy"), "abc..".rstrip("."), "\u00a0x\x1c".strip(), "ééaé".strip("é")`, "('abyx', 'abc', 'x', 'a')", "strip"},
		{`"preface".removeprefix("pre"), "preface".removesuffix("face"), "a".removeprefix("z")`, "('face', 'pre', 'a')", "affixes"},
		{`"abc".startswith(("x", "a")), "abc".endswith("bc"), "abc".startswith("b", 1), "abc".startswith("", 5)`, "(True, True, True, False)", "tests of the ends"},
		{`"a\tb".expandtabs(4), "\tx".expandtabs()`, "('a   b', '        x')", "tab stops"},
		{`"٣".isdigit(), "²".isdigit(), "²".isdecimal(), "Ⅷ".isnumeric(), "一".isnumeric(), "".isalpha(), "é1".isalnum()`, "(True, True, False, True, True, False, True)", "classes of characters"},
		{`"a_1".isidentifier(), "1a".isidentifier(), "for".isidentifier(), "A Bc".istitle(), "abc1".islower(), "\u200b".isprintable()`, "(True, False, True, True, True, False)", "classes of texts"},
		{`sorted(["b", "A"], key=str.lower), list(map(str.upper, ["a"]))`, "(['A', 'b'], ['A'])", "a method of the type"},
		{`str.upper(1)`, "!TypeError", "of another type's value"},
		{`"a".encode`, "!AttributeError", "there is no bytes type"},
		{`"a".format`, "!AttributeError", "nor format"},
		{"'a,b'.split(',', 100000000000000000000)", "!OverflowError", "a count beyond a machine word"},
		{"'a'.replace('a', 'b', -100000000000000000000)", "!OverflowError", "on the other side as well"},
		{"'a'.center(-100000000000000000000)", "!OverflowError", "as is a width"},
		{"'a'.ljust(100000000000000000000)", "!FuelExhaustedError", "while a large one is paid for"},
	})
}

func TestContainerMethods(t *testing.T) {
	runCases(t, []exprCase{
		{"[3, 1, 2].pop(), [3, 1, 2].pop(0), [1, 2].pop(-1)", "(2, 3, 2)", "pop"},
		{"[].pop()", "!IndexError", "nothing to pop"},
		{"[1].pop(5)", "!IndexError", "out of range"},
		{"[1].remove(2)", "!ValueError", "nothing to remove"},
		{"[1, 2, 1].index(1, 1), [1, True, 1.0].count(1), (1, 2).index(2)", "(2, 3, 1)", "search by equality"},
		{"[1].index(3)", "!ValueError", "not there"},
		{"[1, 2].foo", "!AttributeError", "unknown"},
		{"{'a': 1}.get('a'), {'a': 1}.get('z'), {'a': 1}.get('z', 0), {'a': 1}.setdefault('a', 9), {}.setdefault('a')", "(1, None, 0, 1, None)", "reads with a default"},
		{"{}.pop('x')", "!KeyError", "a miss"},
		{"{}.pop('x', None), {'a': 1, 'b': 2}.popitem()", "(None, ('b', 2))", "pop and popitem"},
		{"list({'a': 1}.items()), list({'a': 1}.keys()), list({'a': 1}.values())", "([('a', 1)], ['a'], [1])", "views iterate"},
		{"dict.fromkeys('ab'), dict.fromkeys([1, True], 5)", "({'a': None, 'b': None}, {1: 5})", "fromkeys"},
		{"{'a': 1}.keys() & {'a': 2, 'b': 3}.keys()", "{'a'}", "keys are like a set"},
		{"set_([1, 2]).union([3]), set_([1, 2]).intersection([2], [2, 3]), set_([1]).isdisjoint([2]), set_([1]).issubset([1, 2])", "({1, 2, 3}, {2}, True, True)", "methods take any iterable"},
		{"set_([3, 1, 2]).pop()", "1", "pop takes the first in order"},
		{"set().pop()", "!KeyError", "an empty set"},
		{"set_([1]).pop(1)", "!TypeError", "pop takes nothing"},
		{"set_([1]).remove(2)", "!KeyError", "remove must find"},
		{"frozenset([1]).add", "!AttributeError", "a frozenset does not change"},
		{"(255).bit_length(), (-255).bit_count(), True.bit_length(), (2.0).is_integer(), (1.5).is_integer()", "(8, 8, 1, True, False)", "methods of numbers"},
		{"None.x", "!AttributeError", "None has none"},
		{"len.x", "!AttributeError", "a function has none"},
		{"range(0, 10, 3).index(6), range(5).count(2), range(5).count(9), range(5).index(3.0)", "(2, 1, 0, 3)", "a range searches by arithmetic"},
		{"range(5).index(7)", "!ValueError", "what the range does not hold"},
		{"range(5).index('a')", "!ValueError", "nor what is no number"},
		{"{}.fromkeys('ab', 0)", "{'a': 0, 'b': 0}", "a class method through a value"},
		{"[1, 2].index(2, None)", "!TypeError", "the bounds of a search are ints"},
		{"(1, 2).index(2, 0, None)", "!TypeError", "both"},
		{"[1, 2].index(2, -100000000000000000000, 100000000000000000000)", "1", "of any size"},
		{"range(0, 10)[::100000000000000000000], range(10)[1:8:3]", "(range(0, 10, 100000000000000000000), range(1, 8, 3))", "a range keeps its step, whatever its size"},
	})
}

// Methods that change their receiver, and what is left of it.
func TestMutatingMethods(t *testing.T) {
	cases := []struct{ start, call, want, why string }{
		{"[3, 1, 2]", "x.sort()", "[1, 2, 3]", "sort"},
		{"[[1, 'b'], [0, 'a'], [1, 'a']]", "x.sort(key=len, reverse=True)", "[[1, 'b'], [0, 'a'], [1, 'a']]", "reverse keeps equal elements in their order"},
		{"['bb', 'a', 'cc']", "x.sort(key=len, reverse=True)", "['bb', 'cc', 'a']", "stable in reverse"},
		{"[1, 2, 3]", "x.reverse()", "[3, 2, 1]", "reverse"},
		{"[1, 2]", "x.insert(-1, 9)", "[1, 9, 2]", "insert before the last"},
		{"[1]", "x.insert(-100, 0)", "[0, 1]", "an index out of range is an end"},
		{"[1]", "x.insert(100, 2)", "[1, 2]", "the other end"},
		{"[1]", "x.extend('ab')", "[1, 'a', 'b']", "extend takes any iterable"},
		{"[1, 2]", "x.extend(x)", "[1, 2, 1, 2]", "also itself"},
		{"[1, 2, 1]", "x.remove(1)", "[2, 1]", "remove takes the first"},
		{"[1]", "x.clear()", "[]", "clear"},
		{"{'a': 1}", "x.update({'b': 2}, c=3)", "{'a': 1, 'b': 2, 'c': 3}", "update"},
		{"{'a': 1}", "x.update([('a', 2), 'bc'])", "{'a': 2, 'b': 'c'}", "update from pairs"},
		{"{'a': 1, 'b': 2}", "put(x, 'a', 3)", "{'a': 3, 'b': 2}", "re-assigning keeps the place"},
		{"set_([1])", "x.update([2], [3])", "{1, 2, 3}", "update"},
		{"set_([1, 2])", "x.discard(5)", "{1, 2}", "discard need not find"},
		{"set_([1, 2])", "x.intersection_update([2, 3])", "{2}", "in place"},
		{"set_([1, 2])", "x.symmetric_difference_update([2, 3])", "{1, 3}", "in place"},
		{"[1, 2, 3, 4]", "put(x, 1, 'b')", "[1, 'b', 3, 4]", "item"},
	}
	for _, c := range cases {
		th := newThread(t, Limits{})
		x, err := evalText(th, c.start, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]value{"x": x}
		if _, err := evalText(th, c.call, names); err != nil {
			t.Errorf("%s with x = %s: %v", c.call, c.start, err)
		}
		if got := run(th, "x", names); got != c.want {
			t.Errorf("%s with x = %s leaves %s, want %s (%s)", c.call, c.start, got, c.want, c.why)
		}
	}
}
