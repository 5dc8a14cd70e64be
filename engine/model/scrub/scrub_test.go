package scrub_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/scrub"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

const grip = 12

func setOf(values ...string) *scrub.Set {
	s := &scrub.Set{}
	for _, value := range values {
		s.Add(value)
	}
	return s
}

// quotings are what messages do to a text that they repeat.
var quotings = map[string]func(string) string{
	"as it is": func(s string) string { return s },
	"by Go":    strconv.Quote,
	"by JSON": func(s string) string {
		quoted, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(quoted)
	},
	"by JSON, as plans do": func(s string) string { return string(model.AppendText(nil, s)) },
	"in ASCII":             strconv.QuoteToASCII,
	"by Python":            func(s string) string { return model.Repr(s) },
	"for a terminal":       model.Printable,
	"on one line":          sourcetree.Shown,
	"with question marks": func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '?'
			}
			return r
		}, s)
	},
}

func quoting(t *rapid.T) (name string) {
	names := []string{"as it is", "by Go", "by JSON", "by JSON, as plans do", "in ASCII", "by Python", "for a terminal", "on one line", "with question marks"}
	return rapid.SampledFrom(names).Draw(t, "quoting")
}

// around is text beside a value. It shares no character with one.
func around(t *rapid.T) string { return rapid.StringMatching(`[ЖЩЮ ,:']{0,20}`).Draw(t, "around") }

// survives is a run of grip bytes of a value that stands in a text, as it is or unquoted.
func survives(text, value string) string {
	for from := 0; from+grip <= len(value); from++ {
		if run := value[from : from+grip]; strings.Contains(text, run) {
			return run
		}
	}
	return ""
}

func check(t rapid.TB, s *scrub.Set, text string, values ...string) string {
	t.Helper()
	left := s.Scrub(text)
	if again := s.Scrub(left); again != left {
		t.Fatalf("scrubbed again, %q becomes %q", left, again)
	}
	if utf8.ValidString(text) && !utf8.ValidString(left) {
		t.Fatalf("%q is no text any more", left)
	}
	for _, value := range values {
		if run := survives(left, value); run != "" {
			t.Fatalf("%q of %q survives in %q, of %q", run, value, left, text)
		}
	}
	return left
}

// Law: of a value that was cut anywhere behind its first 12 bytes, 12 bytes in a row are not
// left, whatever stands beside it, and whatever a message did to it.
func TestNothingOfACutValueSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[a-d]{12,60}`), rapid.StringN(grip, 80, -1),
			rapid.StringMatching(`[a-f"\\\n\x01\x1b/<n]{12,60}`)).Filter(func(s string) bool { return len(s) >= grip }), 1, 4).Draw(t, "values")
		value := values[0]
		cut := rapid.IntRange(grip, len(value)).Draw(t, "cut")
		text := around(t) + value[:cut] + around(t)
		check(t, setOf(values...), text, value[:cut])
	})
}

// Law: how a value is quoted, once or twice, keeps nothing of it from being found. What is
// compared is text that quoting leaves alone, which a reader would recognize.
func TestNothingOfAQuotedValueSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lead := rapid.StringMatching(`[a-zé]{12,30}`).Draw(t, "lead")
		value := lead + rapid.OneOf(rapid.StringN(0, 40, -1), rapid.StringMatching(`[a-f"\\\n\x01\x1b/<xu0-9\x{fffd}?😀]{0,40}`)).Draw(t, "rest") +
			rapid.StringMatching(`[A-Z]{12,40}`).Draw(t, "end")
		text := value
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			text = quotings[quoting(t)](text)
		}
		runes := []rune(text)
		cut := string(runes[:rapid.IntRange(0, len(runes)).Draw(t, "cut")])
		check(t, setOf(value), around(t)+cut+"…", value)
	})
}

// Law: a text that has no 12 bytes in common with any value is not changed, and neither is
// anything that holds no short value.
func TestOthersAreLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z]{12,60}`).Draw(t, "value")
		text := around(t) + value[:rapid.IntRange(0, grip-1).Draw(t, "cut")] + "." + around(t) + rapid.StringMatching("[A-Z\n\\\\\"]{0,20}").Draw(t, "more")
		s := setOf(value, rapid.StringMatching(`[0-9]{1,11}`).Draw(t, "short"))
		if got := s.Scrub(text); got != text || s.Holds(text) {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}

// Law: scrubbing ends, and ends at what it leaves, for values and texts of any bytes.
func TestTotal(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{scrub.Redacted, "(red", "acted)", `\`, `\u`, `\x4`, "n", "…", "...", "/", "\xff", "é", "?"}), rapid.StringN(0, 6, -1))
	joined := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(joined, 0, 5).Draw(t, "values")
		text := joined.Draw(t, "text") + strings.Join(values, rapid.SampledFrom([]string{"", " ", "x"}).Draw(t, "between")) + joined.Draw(t, "behind")
		s := setOf(values...)
		left := s.Scrub(text)
		if again := s.Scrub(left); again != left {
			t.Fatalf("%q, scrubbed again %q", left, again)
		}
		if s.Holds(text) && left == text {
			t.Fatalf("%q holds one, and nothing was taken out", text)
		}
	})
}

func TestScrub(t *testing.T) {
	const long = "correct-horse-battery-staple"
	dots := "../../" + strings.Repeat("k3y/Dir", 86)
	for _, c := range []struct {
		reason string
		values []string
		text   string
		want   string
	}{
		{"whole", []string{long}, "is " + long + ".", "is (redacted)."},
		{"cut by the message", []string{long}, fmt.Sprintf("is '%.20s…'", long), "is '(redacted)…'"},
		{"12 bytes of it", []string{long}, "is " + long[:12], "is (redacted)"},
		{"11 bytes of it are no secret", []string{long}, "is " + long[:11], "is " + long[:11]},
		{"its end, where the start was left out", []string{long}, "is …" + long[8:] + ".", "is …(redacted)."},
		{"its end behind dots", []string{long}, "is ..." + long[16:] + ".", "is ...(redacted)."},
		{"both of its ends", []string{long}, "is " + long[:13] + "…" + long[15:], "is (redacted)…(redacted)"},
		{"its end alone may be anything", []string{long}, "a battery-staple", "a battery-staple"},
		{"as far as one of several goes", []string{long, "correct-horse-carriage"}, "is " + long[:18] + "?", "is (redacted)?"},
		{"one that begins in another", []string{"https://api.example.com/", "api.example.com/token-1"}, "at https://api.example.com/token-1", "at (redacted)"},
		{"two in a row", []string{long}, long + long, "(redacted)(redacted)"},
		{"no character is cut in two", []string{"0123456789abè-and-more"}, "is 0123456789abé", "is (redacted)"},
		{"controls that were replaced", []string{"key\x01\nto\x1bthe\u0085house"}, "'key\uFFFD\uFFFDto\uFFFDthe\uFFFDhous…'", "'(redacted)…'"},
		{"controls that were left out", []string{"key\x01\nto\x1bthe-house"}, "'keytothe-house'", "'(redacted)'"},
		{"controls as question marks", []string{"key\x01\nto\x1bthe-house"}, "'key??to?the-hou'", "'(redacted)'"},
		{"escapes that were cut in two", []string{"key\nto\x1bthe-house"}, `"key\nto\x1bthe-h`, `"(redacted)`},
		{"escapes within escapes", []string{"key\nto\"the<house"}, `"\"key\\nto\\\"the\\u003cho`, `"\"(redacted)`},
		{"pairs of surrogates", []string{"key-to-😀-the-house"}, `key-to-\ud83d\ude00-the`, "(redacted)"},
		{"nothing but controls", []string{strings.Repeat("\x01\x02", 8)}, `is "\x01\x02\x01\x02\x01\x02\x01\x02\x01\x02\x01\x02\x01"`, `is "(redacted)"`},
		{"a path that leads out", []string{dots}, "path '" + dots[:120] + "…' is outside", "path '(redacted)…' is outside"},
		{"a part of a path", []string{"made/blockSECRET/file"}, "leads through 'blockSECRET'", "leads through '(redacted)'"},
		{"a part of a path, cut", []string{"made/block-SECRET-and-more/file"}, "part 'block-SECRET-a…'", "part '(redacted)…'"},
		{"a short part may be anything", []string{"made/blocked/file"}, "the file is blocked", "the file is blocked"},
		{"a short value, whole", []string{"hunter2"}, "is hunter2, not hunter", "is (redacted), not hunter"},
		{"a short value, quoted twice", []string{"a\"b\nc"}, `"a\\\"b\\nc"`, `"(redacted)"`},
		{"one that is all backslashes", []string{strings.Repeat(`\`, 13)}, "is " + strconv.Quote(strings.Repeat(`\`, 13)), `is "(redacted)"`},
		{"what was scrubbed stays", []string{"redacted", "(redacted)"}, "is (redacted)", "is (redacted)"},
		{"an empty value", []string{""}, "fine", "fine"},
	} {
		if got := check(t, setOf(c.values...), c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestHolds: only a whole value is one that has turned up.
func TestHolds(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nabc\n"
	s := setOf(key, "configs/production/db", "hunter2")
	for text, want := range map[string]bool{
		"is " + key: true, strconv.Quote(key): true, "configs/production/db.": true, "hunter2!": true,
		"-----BEGIN PUBLIC KEY-----\nabc\n": false, key[:30]: false, "in production": false, "configs/production/": false,
		"hunter": false, "(redacted)": false, "": false,
	} {
		if got := s.Holds(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestPrintingASet shows nothing of it, also where it lies in something else.
func TestPrintingASet(t *testing.T) {
	s := setOf("hunter2")
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, s) + fmt.Sprintf(format, struct{ in *scrub.Set }{s}); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows %s", format, text)
		}
	}
}

// TestLongValues: where values are made to be compared at length at every byte, the rest of
// the text goes, and the test does not take minutes.
func TestLongValues(t *testing.T) {
	const size = 1 << 20
	s := setOf(strings.Repeat("a", size), strings.Repeat("ab", size/2), strings.Repeat("\x01", size), strings.Repeat("/", size), strings.Repeat(`\`, size))
	for i := range 5000 {
		s.Add(fmt.Sprintf("-----BEGIN PRIVATE KEY-----%d", i))
	}
	for _, text := range []string{
		strings.Repeat("a", size), strings.Repeat("ab", size/2), strings.Repeat("-----BEGIN PRIVATE KEY-----7 ", 2000),
		strings.Repeat(`\`, size), "…" + strings.Repeat("ba", size/2),
	} {
		if left := s.Scrub(text); len(left) > len(text)/2 {
			t.Errorf("%.20q… leaves %d of %d bytes", text, len(left), len(text))
		}
	}
	if text := strings.Repeat("fine, and of no interest. ", size/26); s.Scrub(text) != text {
		t.Error("a text without any was changed")
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("correct-horse-battery", "is 'correct-horse-b…'")
	f.Add(`a\u00`, `a\\u00`)
	f.Add("../x/(redacted)/yyyyyyyyyy", "path '../x/(reda")
	f.Fuzz(func(t *testing.T, value, text string) {
		s := setOf(value)
		left := s.Scrub(text)
		if again := s.Scrub(left); again != left {
			t.Errorf("%q, scrubbed again %q", left, again)
		}
	})
}
