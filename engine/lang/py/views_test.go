package py

import "testing"

// Keys and items are sets beside any other iterable; values are not.
func TestViewOperators(t *testing.T) {
	runCases(t, []exprCase{
		{"{1: 2, 'a': 3}.keys() & [1, 5]", "{1}", "keys with a list"},
		{"[1, 5] - {1: 2}.keys()", "{5}", "a list with keys"},
		{"{1: 2}.keys() | 'ab'", "{'a', 'b', 1}", "the characters of a text"},
		{"'ab' ^ {'a': 1}.keys()", "{'b'}", "a text first"},
		{"{1: 2}.items() & [(1, 2), (3, 4)]", "{(1, 2)}", "items are pairs"},
		{"{1: 2}.keys() - {1: 5}", "set()", "a dict is its keys"},
		{"{1: 2}.keys() | map(str, [1])", "{'1', 1}", "a one-shot iterator"},
		{"frozenset([1]) | {2: 0}.keys()", "{1, 2}", "a view makes a set even of a frozenset"},
		{"{1: 2}.keys() & {1: 3}.keys()", "{1}", "two views"},
		{"{1: [2]}.items() | []", "!TypeError", "a pair that holds a list is no element"},
		{"{1: 2}.keys() & 5", "!TypeError", "what cannot be iterated"},
		{"{1: 2}.values() & [2]", "!TypeError", "values are no set"},
		{"[1] & set_([1])", "!TypeError", "a set needs a set"},
		{"{1: 2} | {3: 4}.items()", "{(3, 4), 1}", "a dict beside a view is its keys"},
	})
}

func TestViewComparison(t *testing.T) {
	runCases(t, []exprCase{
		{"set_([]) < {1: 2}.keys(), {1: 2}.keys() < set_([1, 3])", "(True, True)", "by subset, either way round"},
		{"{1: 2}.keys() <= {1: 5}.keys(), {1: 2}.keys() > {1: 5}.keys()", "(True, False)", "two views"},
		{"{1: 2}.items() >= set_([(1, 2)]), {1: 2}.items() < set_([(1, 2)])", "(True, False)", "items"},
		{"{(1, 2): 0}.keys() == {1: 2}.items()", "True", "keys that are the pairs"},
		{"{1: 2}.items() == set_([(1, 2)]), set_([(1, 2)]) == {1: 2}.items()", "(True, True)", "items and a set"},
		{"{1: 2}.items() == set_([(1, 3)]), {1: 2}.items() == set_([1])", "(False, False)", "another value, no pair"},
		{"{1: [2]}.items() == {1: [2]}.items()", "True", "values need no hash"},
		{"{1: 2}.values() == {1: 2}.values()", "False", "values by identity"},
		{"{1: 2}.values() in {}, set_([{1: 2}.values()])", "(False, {dict_values([2])})", "so that they can be keys"},
		{"{1: 2}.keys() in {}", "!TypeError", "which keys cannot"},
		{"{1: 2}.keys() < [1]", "!TypeError", "a list has no subset"},
		{"{1: 2}.values() < set_([2])", "!TypeError", "values have no order"},
		{"(1, 2) in {1: 2}.items(), (1, 3) in {1: 2}.items(), 1 in {1: 2}.items()", "(True, False, False)", "membership"},
	})
}
