package stack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestDescribe(t *testing.T) {
	at := func(source string, col int) *model.Error {
		return &model.Error{Kind: model.LanguageError, Message: "no such name 'x'", File: "infra.py", Line: 3, Col: col, Source: source, Hint: "define it first"}
	}
	among := func(first *model.Error, others ...*model.Error) error {
		e := *first
		e.AlsoFailed = others
		return &e
	}
	other := &model.Error{Message: "eval is not available", Line: 7, Col: 1}
	long := &model.Error{Message: strings.Repeat("x", 400)}
	cases := []struct {
		reason string
		err    error
		want   string
	}{
		{"what failed beside it", among(at("x", 1), other, other),
			"infra.py: no such name 'x'; define it first (line 3, col 1)\n  x\n  ^" + strings.Repeat("\n- eval is not available (line 7, col 1)", 2)},
		{"three of many", among(at("x", 1), other, other, other, other, other),
			"infra.py: no such name 'x'; define it first (line 3, col 1)\n  x\n  ^" + strings.Repeat("\n- eval is not available (line 7, col 1)", 3) + "\n(and 2 more)"},
		{"without a position", among(model.Errorf(model.ProviderError, model.ClassUser, "no route"), other),
			"no route\n- eval is not available (line 7, col 1)"},
		{"a long one is cut", among(at("x", 1), long),
			"infra.py: no such name 'x'; define it first (line 3, col 1)\n  x\n  ^\n- " + strings.Repeat("x", 88) + "… (312 bytes more)"},
		{"beside a long line there is room for their number alone", among(at(strings.Repeat("é", 200), 200), long, long),
			"infra.py: no such name 'x'; define it first (line 3, col 200)\n  …" + strings.Repeat("é", 160) + "\n  " + strings.Repeat(" ", 160) + "^\n(and 2 more)"},
		{"a plain error", errors.New("connection refused"), "connection refused"},
		{"an error without a position", model.Errorf(model.CycleError, model.ClassUser, "a cycle"), "a cycle"},
		{"a caret below its column", at("y = x + 1", 5),
			"infra.py: no such name 'x'; define it first (line 3, col 5)\n  y = x + 1\n      ^"},
		{"columns are code points", at("é = x", 5),
			"infra.py: no such name 'x'; define it first (line 3, col 5)\n  é = x\n      ^"},
		{"tabs do not move the caret", at("\ty = x", 6),
			"infra.py: no such name 'x'; define it first (line 3, col 6)\n   y = x\n       ^"},
		{"a column behind the line", at("y", 9),
			"infra.py: no such name 'x'; define it first (line 3, col 9)\n  y\n   ^"},
		{"wrapped", fmt.Errorf("compile: %w", at("x", 1)),
			"infra.py: no such name 'x'; define it first (line 3, col 1)\n  x\n  ^"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := describe(c.err); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Law: whatever the config holds, a message fits, is valid UTF-8, and its caret stands
// below the character that the error names.
func TestDescribeLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.StringN(1, 400, 2000).Filter(func(s string) bool { return !strings.ContainsAny(s, "\n\r") }).Draw(t, "source")
		runes := []rune(source)
		col := rapid.IntRange(1, len(runes)).Draw(t, "col")
		message := rapid.StringN(0, 2000, 6000).Draw(t, "message")
		failed := &model.Error{Message: message, Line: 1, Col: col, Source: source}
		others := rapid.SliceOfN(rapid.StringN(0, 300, 900), 0, 6).Draw(t, "others")
		for _, other := range others {
			failed.AlsoFailed = append(failed.AlsoFailed, &model.Error{Message: other})
		}
		if whole := describe(failed); len(whole) > maxMessage || !utf8.ValidString(whole) {
			t.Fatalf("with others: %d bytes, valid %v", len(whole), utf8.ValidString(whole))
		}
		failed.AlsoFailed = nil
		got := describe(failed)
		if len(got) > maxMessage || !utf8.ValidString(got) {
			t.Fatalf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
		lines := strings.Split(got, "\n")
		line, caret := []rune(lines[len(lines)-2]), []rune(lines[len(lines)-1])
		want := runes[col-1]
		if want == utf8.RuneError || !unicode.IsPrint(want) {
			want = ' '
		}
		if line[len(caret)-1] != want {
			t.Fatalf("caret at %q of %q, want %q", line[len(caret)-1], string(line), want)
		}
	})
}
