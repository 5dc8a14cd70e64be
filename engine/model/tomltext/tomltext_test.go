package tomltext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

func TestParse(t *testing.T) {
	got, err := tomltext.Parse(model.AtlantideError, "f.toml", []byte("s = \"é\"\ni = 0x10\nf = 1e3\nb = true\na = [1, \"x\", {k = 1.5}]\nt.u.v = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"s": "é", "i": int64(16), "f": 1000.0, "b": true,
		"a": []any{int64(1), "x", map[string]any{"k": 1.5}},
		"t": map[string]any{"u": map[string]any{"v": int64(1)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types are not kept (-want +got):\n%s", diff)
	}
	if got, err := tomltext.Parse(model.AtlantideError, "f.toml", nil); err != nil || got == nil {
		t.Errorf("an empty document is %v, %v; want an empty table", got, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		line, col    int
		source       string
	}{
		{"a key twice", "a = 1\na = 2\n", 2, 1, "a = 2"},
		{"a table twice", "[a]\n[a]\r\n", 2, 2, "[a]"},
		{"columns are code points, not bytes", "\"é\" = 99999999999999999999\n", 1, 7, "\"é\" = 99999999999999999999"},
		{"a text that is not UTF-8", "a = 1\nb = \"\xff\"\n", 2, 6, "b = \"\uFFFD\""},
		{"an end too early", "a = [", 1, 5, "a = ["},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := tomltext.Parse(model.ComponentError, "f.toml", []byte(c.text))
			got := model.Diagnostics(err)
			if len(got) != 1 || got[0].Code != model.ComponentError || got[0].File != "f.toml" || !strings.HasPrefix(got[0].Message, "f.toml is not valid TOML: ") {
				t.Fatalf("%+v", got)
			}
			if got[0].Line != c.line || got[0].Col != c.col || got[0].Source != c.source {
				t.Errorf("%d:%d %q, want %d:%d %q", got[0].Line, got[0].Col, got[0].Source, c.line, c.col, c.source)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	for _, c := range []struct{ reason, text, key string }{
		{"tables by dots", "ok = 1\nx" + strings.Repeat(".a", 50_000) + " = 1\n", "'x'"},
		{"arrays", "y = " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), "'y'"},
		{"more than the library follows", "y = " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "f.toml"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if _, err := tomltext.Parse(model.AtlantideError, "f.toml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.key) {
				t.Errorf("%v", err)
			}
		})
	}
	fits := "y = " + strings.Repeat("[", tomltext.MaxDepth-1) + strings.Repeat("]", tomltext.MaxDepth-1)
	if _, err := tomltext.Parse(model.AtlantideError, "f.toml", []byte(fits)); err != nil {
		t.Errorf("what is just deep enough: %v", err)
	}
}

func TestPlain(t *testing.T) {
	const text = "i = inf\nt = 07:32:00\nd = 1979-05-27\nz = 1979-05-27T07:32:00Z\nl = 1979-05-27 07:32:00\nn = [1, {when = 1979-05-27}]\n"
	table, err := tomltext.Parse(model.AtlantideError, "f.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"t": "a time", "d": "a date", "z": "a date-time", "l": "a date-time", "n": "an array", "i": "a float"} {
		if got := tomltext.TypeName(table[key]); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if _, ok := tomltext.Plain(table["i"]); !ok {
		t.Error("a float is plain")
	}
	if key, ok := tomltext.Plain(table["n"]); ok || key != "1.when" {
		t.Errorf("a date inside is found at %q", key)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a = 1\n[b]\nc = [1979-05-27, {d = 'x'}]\n")
	f.Add("a = \"\xff")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := tomltext.Parse(model.AtlantideError, "f.toml", []byte(text))
		if err == nil {
			tomltext.Plain(table)
			return
		}
		for _, d := range model.Diagnostics(err) {
			if !utf8.ValidString(d.Message) || !utf8.ValidString(d.Source) || d.Line > 0 && d.Col > utf8.RuneCountInString(d.Source)+1 {
				t.Errorf("%+v", d)
			}
		}
	})
}
