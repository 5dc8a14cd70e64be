package py

import (
	"context"
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	runCases(t, []exprCase{
		{"'abc'.translate({97: 'x', 98: None, 99: 100})", "'xd'", "a text, nothing, a code point"},
		{"'abc'.translate({97: 'xyz'}), 'abc'.translate({})", "('xyzbc', 'abc')", "a longer text; no entry keeps"},
		{"'aé'.translate(str.maketrans('é', 'e')), 'abcd'.translate(''.maketrans('ab', 'xy', 'd'))", "('ae', 'xyc')", "tables of two and three texts"},
		{"str.maketrans({'a': 'b', 98: None}), str.maketrans('', '')", "({97: 'b', 98: None}, {})", "the table of a dict"},
		{"str.translate('ab', {True: 'x', 97: 'y'})", "'yb'", "as a method of the type"},
		{"'\\x00\\x01\\x02'.translate(['a', 'b'])", "'ab\\x02'", "a list is a table; behind its end nothing changes"},
		{"'ab'.translate(range(98, 99))", "'ab'", "as is a range"},
		{"'a'.translate({97: 1.5})", "!TypeError", "a float is no character"},
		{"'a'.translate({97: 1114112})", "!ValueError", "beyond Unicode"},
		{"'a'.translate({97: -1})", "!ValueError", "below it"},
		{"'a'.translate(None)", "!TypeError", "no table"},
		{"''.translate(None)", "''", "and nothing to look up"},
		{"'a'.translate()", "!TypeError", "the table is required"},
		{"'a'.translate(table={})", "!TypeError", "by position"},
		{"str.maketrans('ab', 'x')", "!ValueError", "texts of two lengths"},
		{"str.maketrans({'ab': 1})", "!ValueError", "a key of two characters"},
		{"str.maketrans({1.5: 1})", "!TypeError", "a key that is no character"},
		{"str.maketrans('ab')", "!TypeError", "one argument must be a dict"},
		{"str.maketrans('a', 1)", "!TypeError", "two must be texts"},
		{"str.maketrans(1, 'a')", "!TypeError", "both"},
	})
}

// A table may turn every character into a long text: the growth is paid for as it comes.
func TestTranslateIsBounded(t *testing.T) {
	m := NewMeter(context.Background(), Limits{})
	th := newThread(t, Limits{})
	m.Attach(th)
	defer m.Close()
	text := "('a' * 100000).translate({97: 'b' * 100000})"
	if got := run(th, text, nil); got != "!FuelExhaustedError" {
		t.Errorf("%s gave %s", strings.TrimSpace(text), got)
	}
	if used := m.bytes; used > 2*m.limits.MaxValueBytes {
		t.Errorf("%d bytes were made before it stopped", used)
	}
}
