package py

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

// loop runs a "for" over what Iterate gives, with x and the natives in reach.
func loop(t *testing.T, x starlark.Value, body string) (string, error) {
	t.Helper()
	th := newThread(t, Limits{})
	iter := starlark.NewBuiltin("iter", func(t *starlark.Thread, _ *starlark.Builtin, args tuple, _ kwargsT) (value, error) {
		return Iterate(t, args[0])
	})
	set := starlark.NewBuiltin("put", func(t *starlark.Thread, _ *starlark.Builtin, args tuple, _ kwargsT) (value, error) {
		return starlark.None, SetItem(t, args[0], args[1], args[2])
	})
	source := "out = []\nfor e in iter(x):\n    out.append(e)\n    " + body + "\n"
	globals, err := starlark.ExecFileOptions(&fileOptions, th, "f", source, starlark.StringDict{"x": x, "iter": iter, "put": set})
	if cause := MeterOf(th).Cause(); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", err
	}
	return Repr(th, globals["out"])
}

func TestIterate(t *testing.T) {
	d := func() *starlark.Dict {
		d := starlark.NewDict(0)
		_ = d.SetKey(starlark.String("b"), starlark.MakeInt(1))
		_ = d.SetKey(starlark.String("a"), starlark.MakeInt(2))
		return d
	}
	ints := func(n ...int) []starlark.Value {
		var elems []starlark.Value
		for _, i := range n {
			elems = append(elems, starlark.MakeInt(i))
		}
		return elems
	}
	set := func() *starlark.Set {
		s := starlark.NewSet(0)
		for _, e := range ints(-1, 0, 1, 10, 2) {
			_ = s.Insert(e)
		}
		return s
	}
	cases := []struct {
		x          starlark.Value
		body, want string
		why        string
	}{
		{starlark.NewList(ints(1)), "if e < 5: x.append(e + 1)", "[1, 2, 3, 4, 5]", "a list is live"},
		{starlark.String("aé😀"), "pass", "['a', 'é', '😀']", "a text by code point"},
		{d(), "put(x, e, 9)", "['b', 'a']", "replacing a value is fine"},
		{d(), "put(x, 'c', 9)", "!RuntimeError", "changing the size is not"},
		{&View{d(), viewItems}, "pass", "[('b', 1), ('a', 2)]", "items are pairs"},
		{set(), "x.add(99)", "[-1, 0, 1, 10, 2]", "a set is a snapshot in order of its repr"},
		{newRange(starlark.MakeInt(5), intZero, starlark.MakeInt(-2)), "pass", "[5, 3, 1]", "a range"},
		{starlark.Tuple(ints(1, 2)), "pass", "[1, 2]", "a tuple"},
		{starlark.MakeInt(5), "pass", "!TypeError", "an int is not iterable"},
	}
	for _, c := range cases {
		got, err := loop(t, c.x, c.body)
		if err != nil {
			got = "!" + errorName(err)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
	}
}

// An error inside an iterator stops the loop, which cannot report it.
func TestIteratorErrorStopsTheVM(t *testing.T) {
	th := newThread(t, Limits{})
	m, err := makeMap(th, tuple{IntType, tuple{starlark.String("1"), starlark.String("x")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = starlark.ExecFileOptions(&fileOptions, th, "f", "out = [e for e in m]\n", starlark.StringDict{"m": m})
	if err == nil || errorName(MeterOf(th).Cause()) != "ValueError" {
		t.Errorf("the loop ended with %v, cause %v", err, MeterOf(th).Cause())
	}
}

func TestOneShotIterators(t *testing.T) {
	th := newThread(t, Limits{})
	source := starlark.NewList([]starlark.Value{starlark.MakeInt(1)})
	m, err := makeMap(th, tuple{StrType, source}, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := starlark.StringDict{"m": m, "x": source}
	if got := run(th, "list(m), x.append(2), list(m)", names); got != "(['1'], None, [])" {
		t.Errorf("got %s: once at its end an iterator stays there", got)
	}
}

// A loop over the positions of a long text finds each at once.
func TestTextIndex(t *testing.T) {
	s := strings.Repeat("aé😀", 100) + "\xed\xa0\x80"
	x := indexText(s)
	at := 0
	for i := range x.n {
		if x.offset(i) != at {
			t.Fatalf("code point %d is at %d, want %d", i, x.offset(i), at)
		}
		_, size := decode(s[at:])
		at += size
	}
	if x.n != 301 || x.at(300) != "\xed\xa0\x80" || x.slice(299, 301) != "😀\xed\xa0\x80" {
		t.Errorf("%d code points, the last %q", x.n, x.at(300))
	}
}
