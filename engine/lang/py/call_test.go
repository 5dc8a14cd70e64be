package py

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestArity(t *testing.T) {
	const source = "def f(a, b=2): return [a, b]\ng = lambda x: x\n"
	f, g := function(t, source, "f"), function(t, source, "g")
	s := func(v string) starlark.Value { return starlark.String(v) }
	cases := []struct {
		fn     starlark.Value
		args   starlark.Tuple
		kwargs []starlark.Tuple
		want   []string // the result, or words of the error
		why    string
	}{
		{f, tuple{s("x")}, nil, []string{"['x', 2]"}, "a default"},
		{f, tuple{s("x")}, kwargsT{{s("b"), s("y")}}, []string{"['x', 'y']"}, "a keyword"},
		{f, nil, nil, []string{"f()", "'a'"}, "a missing argument names the parameter"},
		{f, tuple{s("x"), s("y"), s("z")}, nil, []string{"f()", "2", "3"}, "too many give both counts"},
		{f, tuple{s("x")}, kwargsT{{s("z"), s("y")}}, []string{"f()", "'z'"}, "an unexpected keyword"},
		{f, tuple{s("x")}, kwargsT{{s("a"), s("y")}}, []string{"f()", "'a'"}, "a repeated one"},
		{g, nil, nil, []string{"<lambda>()", "'x'"}, "a lambda"},
	}
	for _, c := range cases {
		th := newThread(t, Limits{})
		v, err := Call(th, c.fn, c.args, c.kwargs)
		var got string
		if err == nil {
			got, _ = Repr(th, v)
		} else if got = err.Error(); !model.IsKind(err, model.LanguageError) {
			t.Errorf("%s: %v is no LanguageError", c.why, err)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", c.why, got, part)
			}
		}
	}
}

// A native sees sorted lists for its set arguments; a function of the config, str and
// what is nested see the sets.
func TestSetArguments(t *testing.T) {
	th := newThread(t, Limits{})
	var seen []string
	spy := NewNative("spy", func(t *thread, args tuple, kwargs kwargsT) (value, error) {
		for _, a := range args {
			text, _ := Repr(t, a)
			seen = append(seen, text)
		}
		for _, kv := range kwargs {
			text, _ := Repr(t, kv[1])
			seen = append(seen, text)
		}
		return starlark.None, nil
	})
	names := starlark.StringDict{"spy": spy, "same": function(t, "same = lambda x: x", "same")}
	got := run(th, "spy(set_([10, 9, 2]), [set_([2, 1])], k=frozenset([2, 1])), same(set_([2, 1])), str(set_([2, 1]))", names)
	if want := "(None, {1, 2}, '{1, 2}')"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(seen, " "), "[10, 2, 9] [{1, 2}] [1, 2]"; got != want {
		t.Errorf("the native saw %s, want %s", got, want)
	}
}

func TestCallDepth(t *testing.T) {
	const source = "def f(n): return 0 if n == 0 else call(f, n - 1)\n"
	call := starlark.NewBuiltin("call", func(t *starlark.Thread, _ *starlark.Builtin, args tuple, kwargs kwargsT) (value, error) {
		return Call(t, args[0], args[1:], kwargs)
	})
	globals, err := starlark.ExecFileOptions(&fileOptions, &starlark.Thread{}, "f", source, starlark.StringDict{"call": call})
	if err != nil {
		t.Fatal(err)
	}
	depth := func(n int) error {
		_, err := Call(newThread(t, Limits{MaxCallDepth: 200}), globals["f"], tuple{starlark.MakeInt(n)}, nil)
		return err
	}
	if err := depth(199); err != nil {
		t.Errorf("200 calls are allowed: %v", err)
	}
	if err := depth(200); !model.IsKind(err, model.FuelExhaustedError) {
		t.Errorf("one more ends with %v (LX-5)", err)
	}
}

func TestBindArgs(t *testing.T) {
	params := []string{"a", "/", "b?", "*", "c?"}
	s := func(v string) starlark.Value { return starlark.String(v) }
	cases := []struct {
		args   starlark.Tuple
		kwargs []starlark.Tuple
		want   string
		why    string
	}{
		{tuple{s("1"), s("2")}, kwargsT{{s("c"), s("3")}}, "", "each by its way"},
		{tuple{s("1")}, kwargsT{{s("b"), s("2")}}, "", "by name"},
		{nil, nil, "missing required argument 'a'", "a required one"},
		{nil, kwargsT{{s("a"), s("1")}}, "unexpected keyword argument 'a'", "positional only"},
		{tuple{s("1"), s("2"), s("3")}, nil, "at most 2 positional", "keyword only"},
		{tuple{s("1"), s("2")}, kwargsT{{s("b"), s("3")}}, "multiple values for argument 'b'", "given twice"},
	}
	for _, c := range cases {
		_, err := BindArgs("f", params, c.args, c.kwargs)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || errorName(err) != "TypeError") {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func BenchmarkCallFunction(b *testing.B) {
	f := function(b, "f = lambda x: x", "f")
	th := newThread(b, Limits{Fuel: 1 << 50})
	args := tuple{starlark.MakeInt(1)}
	b.ReportAllocs()
	for range b.N {
		if _, err := Call(th, f, args, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallNative(b *testing.B) {
	th := newThread(b, Limits{Fuel: 1 << 50})
	length := Builtins()["len"]
	args := tuple{starlark.NewList(nil)}
	b.ReportAllocs()
	for range b.N {
		if _, err := Call(th, length, args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
