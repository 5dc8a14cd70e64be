package py

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// What the work of one expression costs, beside what the evaluator charges for its
// nodes (lang.md §7.1).
func TestFuelCharged(t *testing.T) {
	text := func(n int) starlark.Value { return starlark.String(strings.Repeat("a", n)) }
	list := func(n int) starlark.Value {
		elems := make([]starlark.Value, n)
		for i := range elems {
			elems[i] = starlark.MakeInt(i)
		}
		return starlark.NewList(elems)
	}
	names := starlark.StringDict{
		"t10": text(10), "t2000": text(2000), "t6400": text(6400),
		"l10": list(10), "l2000": list(2000), "big": starlark.MakeInt(1).Lsh(6400),
		"f": NewNative("f", func(*thread, tuple, kwargsT) (value, error) { return starlark.None, nil }),
		"d": mustDict(t, 10),
	}
	cases := []costCase{
		{"f(1, None)", 2, "one per scalar argument"},
		{"f(t10)", 11, "a text counts its length"},
		{"f(k=t10)", 11, "keywords too"},
		{"f(l10)", 21, "a list: one, its length, its elements"},
		{"f([t6400])", 1 + 1 + 1 + 100, "below the top a text counts a 64th"},
		{"f(d)", 1 + 10 + 20, "a dict: keys and values"},
		{"f(range(50))", 51 + 1, "a range counts its length; range(50) itself costs one"},
		{"f([l10, l10])", 1 + 2 + 2*21, "shared parts count each time"},
		{"len(l2000), len(t10)", 2, "len: one per argument"},
		{"l10.append(1)", 1, "append: one per argument"},
		{"l10.count(1)", 1 + 23, "other methods also walk their receiver"},
		{"d.get(1)", 1, "get: one per argument"},
		{"d.get((1, 2))", 1 + 5, "and the walk over a tuple key"},
		{"d.update({})", 1, "update walks its argument, not its receiver"},
		{"t10.upper()", 11, "a method of a text walks it"},
		{"1 + 2, 3 * 4, 1 < 2", 0, "small ints are free"},
		{"big + 1", 6402 / 64, "a big int costs its size in words"},
		{"big * big", 12802 / 64, "a product the sum of both"},
		{"t10 * 5", 50, "repetition costs the result"},
		{"l10 * 5", 11 * 5, "of lists as well"},
		{"t2000 + t10", 2010 / 16, "a large concatenation a sixteenth"},
		{"t10 + t10", 0, "a small one nothing"},
		{"l2000 + l10", 2011 / 16, "lists likewise"},
		{"t6400 == t6400", 100, "texts compare 64 at a step"},
		{"l10 == l2000", 11 + 11 + 1, "containers by the smaller one"},
		{"1 in l10", 11, "membership of a list: its length times the item"},
		{"1 in d, (1, 2) in d", 1 + 5, "of a dict: the key"},
		{"t10 in t6400", 6410 / 64, "of a text: both lengths"},
		{"t6400[:3200]", 50 + 6400/16/4, "a slice of a text a 64th, and its index once"},
		{"l2000[:1600]", 100, "a slice of a list a sixteenth"},
		{"'%s' % 1", 2, "the format's length"},
		{"'%100d' % 1", 5 + 6, "and widths"},
		{"t10.ljust(3200)", 11 + 1 + 200, "padding costs its width"},
		{"fmt(l10, '', '')", 23, "rendering a container walks it"},
		{"fmt(1, '', '>3200')", 200, "a width in a specification"},
		{"list(set_([1, 2]))", 5 + 5, "a set argument: its walk as argument and for its order"},
		{"f(*l10)", 11 + 11, "a starred argument its length, beside the call's own cost"},
	}
	runCosts(t, names, cases)
}

func mustDict(t *testing.T, n int) starlark.Value {
	t.Helper()
	d := starlark.NewDict(n)
	for i := range n {
		if err := d.SetKey(starlark.MakeInt(i), starlark.None); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestMeterBudget(t *testing.T) {
	m := NewMeter(context.Background(), Limits{Fuel: 10})
	if err := m.Charge(10); err != nil {
		t.Fatalf("the whole budget may be spent: %v", err)
	}
	err := m.Charge(1)
	if !model.IsKind(err, model.FuelExhaustedError) || model.ClassOf(err) != model.ClassUser || !m.Exhausted() {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"10 steps", "--fuel", "[lang] fuel"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestMeterMemory(t *testing.T) {
	m := NewMeter(context.Background(), Limits{MaxValueBytes: 100, MaxTotalBytes: 250 + 3*valueBytes})
	for range 2 {
		if err := m.Alloc(100); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Alloc(101); !model.IsKind(err, model.FuelExhaustedError) {
		t.Errorf("one value over its limit: %v", err)
	}
	if err := m.Alloc(60); !model.IsKind(err, model.FuelExhaustedError) {
		t.Errorf("the total over its limit: %v", err)
	}
	if err := m.Alloc(50); err != nil {
		t.Errorf("what was refused was not counted: %v", err)
	}
}

// The VM and the natives draw on one budget, and a second thread goes on where the
// first one stopped.
func TestMeterSharesTheBudgetWithTheVM(t *testing.T) {
	m := NewMeter(context.Background(), Limits{Fuel: 1000})
	t.Cleanup(m.Close)
	th := &starlark.Thread{}
	m.Attach(th)
	const loop = "for i in range(300):\n    pass\n"
	if _, err := starlark.ExecFileOptions(&fileOptions, th, "f", loop, nil); err != nil {
		t.Fatal(err)
	}
	used := m.Used()
	if used == 0 {
		t.Fatal("the VM's steps are not counted")
	}
	second := &starlark.Thread{}
	m.Attach(second)
	if m.Used() != used {
		t.Errorf("a second thread starts at %d, not at %d", m.Used(), used)
	}
	_, err := starlark.ExecFileOptions(&fileOptions, second, "f", "for i in range(10000):\n    pass\n", nil)
	if err == nil || !m.Exhausted() || !model.IsKind(m.Cause(), model.FuelExhaustedError) {
		t.Errorf("the loop ended with %v, cause %v", err, m.Cause())
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	m := NewMeter(ctx, Limits{})
	t.Cleanup(m.Close)
	th := &starlark.Thread{}
	m.Attach(th)
	stop := errors.New("shutting down")
	cancel(stop)
	for _, expr := range []string{"list(map(str, range(1000)))", "sum(range(200000))", "sorted(range(3000))"} {
		_, err := evalText(th, expr, nil)
		if !errors.Is(err, stop) || model.ClassOf(err) != model.ClassTransient {
			t.Errorf("%s: %v", expr, err)
		}
	}
	if !errors.Is(m.Cause(), stop) {
		t.Errorf("cause %v", m.Cause())
	}
}

// Expressions that would run or grow without end are refused before they do.
func TestHostileSizes(t *testing.T) {
	shared := starlark.NewList([]starlark.Value{starlark.MakeInt(1)})
	for range 60 {
		shared = starlark.NewList([]starlark.Value{shared, shared})
	}
	cyclic := starlark.NewList(nil)
	_ = cyclic.Append(cyclic)
	twin := starlark.NewList(nil)
	_ = twin.Append(twin)
	loop := starlark.NewDict(1)
	_ = loop.SetKey(starlark.String("d"), loop)
	deepTuple := starlark.Tuple{}
	for range 100_000 {
		deepTuple = starlark.Tuple{deepTuple}
	}
	names := starlark.StringDict{
		"shared": shared, "cyclic": cyclic, "twin": twin, "loop": loop, "deepTuple": deepTuple,
		"mb": starlark.String(strings.Repeat("x", 1<<20)),
	}
	exprs := []string{
		"list(range(1000000000000))", "list(range(100000000000000000000))", "sum(range(50000000))",
		"'a' * 1000000000", "[0] * 1000000000", "(1,) * 1000000000", "'ab' * 10000000", "'a' * 100000000000000000000",
		"op('**', 2, 10000000)", "op('**', 10, 100000000000000000000)", "1 << 10000000000", "int('f' * 100000, 16)",
		"str(shared)", "shared == [shared]", "to_json(shared)", "len(str(shared))", "fmt(shared, '', '')", "'%s' % [shared]",
		"str(cyclic)", "cyclic == twin", "to_json(cyclic)", "to_json(loop)", "merge(loop, loop)", "loop == {'d': loop}", "cyclic < twin", "[cyclic].count(twin)", "cyclic in [twin]",
		"{deepTuple: 1}", "{}.get(deepTuple)", "deepTuple in set_([1])", "str(deepTuple)", "deepTuple == deepTuple", "to_json(deepTuple)",
		"'a'.zfill(1000000000)", "'a'.center(1000000000)", "'a'.ljust(100000000000000000000)", "'\\t'.expandtabs(1000000000)",
		"fmt(1, '', '>1000000000')", "'%*d' % (1000000000, 1)", "max(*range(1000000000))",
		"mb.replace('x', mb)", "mb.join(mb)", "mb * 17", "mb + mb * 16", "','.join(map(str, range(10000000)))",
		"list(zip(range(10000000), range(10000000)))", "tuple(enumerate(range(10000000)))", "set(range(10000000))", "dict.fromkeys(range(10000000))",
		"b64encode(mb) * 100", "from_json('[' * 100000)", "mb.split('x')*100",
	}
	for _, expr := range exprs {
		if got := run(newThread(t, Limits{}), expr, names); got != "!FuelExhaustedError" {
			t.Errorf("%s gives %.60s", expr, got)
		}
	}
}

// A list that grows while it is iterated is stopped by the fuel.
func TestEndlessIteration(t *testing.T) {
	names := starlark.StringDict{"x": starlark.NewList([]starlark.Value{starlark.MakeInt(1)})}
	if got := run(newThread(t, Limits{}), "list(map(x.append, x))", names); got != "!FuelExhaustedError" {
		t.Errorf("got %.60s", got)
	}
}

func TestNestedIterators(t *testing.T) {
	th := newThread(t, Limits{})
	var it starlark.Value = starlark.Tuple{}
	var err error
	for range 2000 {
		if it, err = Call(th, Builtins()["map"], tuple{StrType, it}, nil); err != nil {
			break
		}
	}
	if !model.IsKind(err, model.FuelExhaustedError) {
		t.Errorf("a chain of iterators ends with %v", err)
	}
}
