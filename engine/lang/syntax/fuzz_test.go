package syntax

import (
	"errors"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// FuzzLex holds the lexer to its laws: it ends, its tokens follow one another within
// the text, and indents and dedents are balanced.
func FuzzLex(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := &parser{lexer: newLexer([]rune(text))}
		failed := p.attempt(p.lex)
		depth, last := 0, int32(0)
		for _, tok := range p.toks {
			if tok.start < last || tok.end < tok.start || int(tok.end) > len(p.src) {
				t.Fatalf("token %+v after offset %d of %d", tok, last, len(p.src))
			}
			last = tok.end
			switch tok.kind {
			case tIndent:
				depth++
			case tDedent:
				depth--
			}
			if depth < 0 {
				t.Fatal("a dedent without its indent")
			}
		}
		if failed == nil && len(p.brackets) == 0 && depth != 0 {
			t.Fatalf("%d indents without their dedents", depth)
		}
	})
}

// FuzzParse: any text gives either a tree no deeper than promised or a located
// LanguageError.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("infra.py", text)
		if err == nil {
			for _, s := range m.Body {
				for child := range Children(s) {
					if e, ok := child.(Expr); ok && height(e) > maxDepth {
						t.Fatalf("%s at %v is %d nodes deep", e.Kind(), e.Start(), height(e))
					}
				}
				Inspect(s, func(n Node) bool {
					if at := n.Start(); at.Line < 1 || at.Line > len(m.Lines) || at.Col < 1 {
						t.Fatalf("%s at %v of %d lines", n.Kind(), at, len(m.Lines))
					}
					return true
				})
			}
			return
		}
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.LanguageError || e.Class != model.ClassUser {
			t.Fatalf("not a LanguageError: %v", err)
		}
		if len(text) <= MaxSource && (e.Line < 1 || e.Col < 1) {
			t.Fatalf("not located: %v", err)
		}
	})
}

// height is how many expressions lie on the longest way down from e, e included.
func height(e Expr) int {
	below := 0
	for child := range Children(e) {
		below = max(below, height(child.(Expr)))
	}
	return below + 1
}

var seeds = []string{
	"x = f'{a!r:>{w}}' + f\"{'b'=}\"\n",
	"def f(a, /, b=1, *c, d, **e) -> g:\n\tif a:\n\t\treturn [x for x in y if z]\n",
	"with (a as b, c): pass\nwith (yield): pass\n",
	"match x:\n  case {'a': [b, *_]} | C(d=e): pass\n",
	"class S(EnvSchema):\n  a: int | None = (n := 3)\n",
	"x = (1,\ny = 2\n", "'''", "f'{", "\\\n", "\ufeff\f\t x\r\n", "a\n\tb\n  c", "1__0", "é = '\\N{BULLET}'",
}
