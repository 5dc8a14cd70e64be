package py

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What one native costs in units and takes in bytes (lang.md §7). A value made of n parts
// is charged by the part, and nothing that can be repeated is free.
func TestCharges(t *testing.T) {
	for _, c := range []struct {
		expr         string
		units, bytes int64
		why          string
	}{
		{"[1, 2, 3].copy()", 7, 144, "a copy: its references"},
		{"list('abc')", 4, 256, "characters: a box and a slot each"},
		{"list(wide)", 6401, 409856, "the same for those outside ASCII"},
		{"list(range(1000))", 1002, 80289, "a range is made by the slot"},
		{"tuple(ints)", 2001, 16064, "so is a tuple"},
		{"list(map(str, ints))", 3003, 99274, "each call pays for itself, the results by the batch"},
		{"sorted(ints)", 2001, 16064, "sorting copies"},
		{"sorted(ints, key=str)", 3002, 66986, "and keeps the keys"},
		{"sum(ints)", 2001, 32, "the walk over its argument"},
		{"max(ints)", 2001, 32, "likewise"},
		{"text.upper()", 6401, 6528, "a text of the same size"},
		{"text * 2", 12800, 12832, "repetition: the result"},
		{"text + text", 800, 12832, "a sixteenth of a large concatenation"},
		{"text.join(texts)", 46614, 641928, "joining: a sixteenth of the result"},
		{"text.replace('a', 'bb')", 7206, 12896, "replacing: of what it may grow to"},
		{"text.center(10000)", 7027, 10096, "padding: of the width"},
		{"text.zfill(10000)", 7027, 10096, "of the width"},
		{"tabs.expandtabs(100)", 733, 10196, "of what the tabs come to"},
		{"text.split('a')", 6403, 409760, "a part takes a box and a slot"},
		{"lines.splitlines()", 101, 6560, "also of lines"},
		{"text.find('b')", 6503, 64, "a search walks its text"},
		{"text.count('b')", 6503, 64, "counting as well"},
		{"text[::2]", 150, 6432, "a slice makes its characters"},
		{"wide[::2]", 450, 64064, "with all of them apart, when they are of several bytes"},
		{"text[5]", 100, 32, "one character: a box"},
		{"'%10000d' % 1", 632, 10065, "a width"},
		{"fmt(1, '', '>10000')", 625, 40065, "in a specification too"},
		{"fmt(1, '', '0' * 6400)", 6500, 6497, "a specification is read"},
		{"fmt(big, '', 'x')", 2000, 64064, "digits of a big int"},
		{"'%x' % big", 2002, 80064, "in a format too"},
		{"str(10 * 10)", 1, 35, "a text of two characters"},
		{"str(ints)", 4002, 4922, "text of a list: its walk"},
		{"str([nuls])", 8, 436, "escapes take four for one"},
		{"to_json([nuls])", 41, 668, "six in JSON, and a sixteenth of the result"},
		{"to_json(dict)", 362, 1055, "keys are sorted"},
		{"from_json(json)", 302, 70432, "an empty dict is not small"},
		{"from_json(escaped)", 203, 164, "escapes are undone"},
		{"ints == ints.copy()", 4002, 16096, "comparison: the smaller one"},
		{"text == twin", 100, 0, "texts by the word"},
		{"cmp('is', text, twin)", 100, 0, "also by identity, which is equality for texts"},
		{"big == other", 1000, 0, "and big ints"},
		{"big < other", 1000, 0, "in order"},
		{"big < f", 1000, 0, "against floats"},
		{"big + 1", 1000, 8096, "arithmetic: the words of the result, kept"},
		{"big // 7", 1000, 8095, "division"},
		{"big / other", 1000, 32, "true division reads both"},
		{"-big", 0, 8096, "a copy"},
		{"~big", 0, 8096, "likewise"},
		{"big.bit_count()", 1001, 64, "counting reads it"},
		{"round(big, -10)", 2002, 8128, "rounding"},
		{"1099511627776 + 1", 0, 96, "an int beyond 32 bits is kept"},
		{"1 + 1", 0, 0, "one within is not"},
		{"f + f", 0, 32, "a float has a box"},
		{"set_([1, 2])", 0, 608, "an empty set is not small"},
		{"{}", 0, 608, "nor an empty dict"},
		{"dict.copy()", 301, 15392, "entries by the table"},
		{"dict | dict", 0, 15328, "a union"},
		{"merge(dict, dict)", 620, 34240, "merging"},
		{"set | set", 0, 15936, "of sets: both"},
		{"set & set", 0, 18272, "an intersection"},
		{"frozen == frozen", 201, 0, "sets compare by the element"},
		{"big in set", 2, 0, "a key is hashed"},
		{"set.copy()", 201, 15392, "entries of a set"},
		{"sorted(set)", 402, 9918, "order of a set: its texts"},
		{"frozenset(set)", 402, 26558, "the order of the argument comes first"},
		{"dict.items()", 0, 64, "a view"},
		{"list(dict.items())", 301, 14560, "pairs"},
		{"list(enumerate(ints))", 2002, 128384, "pairs again"},
		{"list(zip(ints, ints))", 4003, 128512, "and again"},
		{"range(big)", 1001, 8192, "a range of big ints"},
		{"big in range(big)", 2001, 8192, "asking it"},
		{"dict.popitem()", 6, 64, "the way to the last entry"},
		{"ints.pop(0)", 4, 64, "moving the rest"},
		{"ints.append(1)", 1, 112, "one step, and room to grow"},
		{"ints.extend(ints)", 2001, 32128, "the argument, not the receiver"},
		{"ints.insert(0, 1)", 2003, 64, "what moves"},
		{"ints.reverse()", 2001, 64, "the receiver"},
		{"ints.index(999)", 2002, 64, "the receiver"},
		{"ints.count(1)", 2002, 64, "the receiver"},
		{"999 in ints", 1000, 0, "the length times the item"},
		{"slugify(arabic)", 307, 3460, "a character may become eighteen"},
		{"sha256_hex(text)", 6401, 32, "the argument"},
		{"b64encode(text)", 6401, 8600, "the result is kept"},
		{"b64decode(b64encode(text))", 14938, 17200, "both ways"},
		{"uuid5(text, text)", 12802, 32, "both arguments"},
		{"int('9' * 4300)", 8869, 6245, "a sixteenth of the digits"},
		{"float('9' * 4300)", 8601, 4364, "the argument"},
		{"op('**', f, 0.1)", 256, 32, "a fractional power: its roots"},
		{"list[int]", 0, 0, "a type expression"},
		{"text.isidentifier()", 6401, 64, "the receiver"},
		{"text.startswith((text, text))", 6706, 64, "all candidates"},
		{"text.strip('b')", 6403, 64, "the receiver and the set"},
		{"text.title()", 6401, 6528, "a text of the same size"},
		{"len(text)", 101, 32, "one step, and the index once"},
	} {
		th := newThread(t, Limits{})
		if _, err := evalText(th, c.expr, hostileNames(t)); err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		if m := MeterOf(th); m.Used() != c.units || m.bytes != c.bytes {
			t.Errorf("%s costs %d units and %d bytes, want %d and %d (%s)", c.expr, m.Used(), m.bytes, c.units, c.bytes, c.why)
		}
	}
}

func hostileNames(t *testing.T) starlark.StringDict {
	t.Helper()
	list := func(n int, v value) value {
		elems := make([]value, n)
		for i := range elems {
			elems[i] = v
		}
		return starlark.NewList(elems)
	}
	ints := make([]value, 1000)
	for i := range ints {
		ints[i] = starlark.MakeInt(i)
	}
	set := starlark.NewSet(0)
	for _, i := range ints[:100] {
		if err := set.Insert(i); err != nil {
			t.Fatal(err)
		}
	}
	big := starlark.MakeInt(3).Lsh(63_998)
	return starlark.StringDict{
		"text": starlark.String(strings.Repeat("a", 6400)), "twin": starlark.String(strings.Repeat("a", 6399) + "a"),
		"wide": starlark.String(strings.Repeat("é", 6400)), "tabs": starlark.String(strings.Repeat("\t", 100)),
		"lines": starlark.String(strings.Repeat("\n", 100)), "nuls": starlark.String(strings.Repeat("\x00", 100)),
		"ints": starlark.NewList(ints), "texts": list(100, starlark.String("ab")), "set": set, "frozen": newFrozenSet(set),
		"dict": mustDict(t, 100), "big": big, "other": big.Add(intOne), "f": starlark.Float(1.5),
		"json": starlark.String("[" + strings.Repeat("{},", 99) + "{}]"), "escaped": starlark.String(`"` + strings.Repeat(`\n`, 100) + `"`),
		"arabic": starlark.String(strings.Repeat("ﷺ", 100)), "range": Builtins()["range"],
	}
}

// countdown is a context that ends when it has been looked at so many times.
type countdown struct {
	context.Context //nolint:containedctx // it is one
	left            atomic.Int64
	looks           atomic.Int64
}

func (c *countdown) Done() <-chan struct{} { return nil } // nothing but a look can tell

func (c *countdown) Err() error {
	c.looks.Add(1)
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Every native that may work long looks at the context while it does: at least once for
// 65,536 units that it has charged, and it ends with the first look that tells it to.
func TestNativesLookAtTheContext(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct{ what, setup, expr string }{
		{"a range", "", "list(range(1000000))"},
		{"a sum", "", "sum(range(1000000))"},
		{"an iterator", "", "max(map(abs, range(300000)))"},
		{"a sort", "list(reversed(range(300000)))", "sorted(x)"},
		{"a sort by keys", "list(range(300000))", "sorted(x, key=str)"},
		{"a text", "list(range(1000000))", "str(x)"},
		{"a comparison", "list(range(1000000))", "x == list(range(1000000))"},
		{"an order", "list(range(1000000))", "cmp('<', x, list(range(1000000)))"},
		{"a search of a list", "list(range(1000000))", "-1 in x"},
		{"a count", "list(range(1000000))", "x.count(-1)"},
		{"JSON", "list(range(1000000))", "to_json(x)"},
		{"JSON read", "'[' + '1,' * 500000 + '1]'", "from_json(x)"},
		{"a join", "list(map(str, range(300000)))", "','.join(x)"},
		{"a set", "list(range(300000))", "set(x)"},
		{"set operations", "set(range(300000))", "x & x"},
		{"set comparison", "set(range(100000))", "x == x.copy()"},
		{"a dict", "list(range(300000))", "dict.fromkeys(x)"},
		{"dict comparison", "dict.fromkeys(range(100000))", "x == x.copy()"},
		{"a hash", "tuple(range(1000000))", "{x: 1}"},
		{"a chain of arguments", "list(range(1000000))", "max(*x)"},
		{"characters", "'a' * 1000000", "list(x)"},
		{"a slug", "'\u00e9' * 1000000", "slugify(x)"},
	} {
		t.Run(c.what, func(t *testing.T) {
			names := starlark.StringDict{}
			if c.setup != "" {
				x, err := evalText(newThread(t, Limits{Fuel: 100 * million, MaxTotalBytes: 1 << 30}), c.setup, nil)
				if err != nil {
					t.Fatal(err)
				}
				names["x"] = x
			}
			looks, units, err := watched(t, c.expr, names, 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			if looks < units/checkEvery {
				t.Errorf("%d looks for %d units", looks, units)
			}
			half := looks / 2
			if seen, _, err := watched(t, c.expr, names, half); !errors.Is(err, context.Canceled) || seen > half+8 {
				t.Errorf("told to end by look %d, it looked %d times: %v", half, seen, err)
			}
		})
	}
}

// watched evaluates an expression under a context that ends after so many looks.
func watched(t *testing.T, expr string, names starlark.StringDict, left int64) (looks, units int64, err error) {
	t.Helper()
	ctx := &countdown{Context: context.Background()}
	ctx.left.Store(left)
	m := NewMeter(ctx, Limits{Fuel: 100_000_000, MaxTotalBytes: 1 << 30})
	defer m.Close()
	th := &starlark.Thread{}
	m.Attach(th)
	_, err = evalText(th, expr, names)
	if err != nil && !model.IsKind(err, model.AtlantideError) {
		t.Errorf("%s: %v", expr, err)
	}
	return ctx.looks.Load(), m.Used(), err
}
