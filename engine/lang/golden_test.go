package lang

import (
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

var update = flags.Bool("update", false, "rewrite the golden files")

// brokenConfig is one case of testdata/errors: "== why", lines "@env NAME" and
// "@file PATH" with the file's lines, "@config" and the config's, then "--" and what a
// person reads of it.
type brokenConfig struct {
	why, shown string
	head       []string // the lines before "--"
	envs       []string
	config     string
	files      map[string]string
}

// What the author of a broken config reads. Each is looked at as one would who does not
// know the language: what is wrong, where, and what to do about it.
func TestErrorsAsTheyAreRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "errors", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, c := range brokenConfigs(string(text)) {
				got := c.run(t)
				fmt.Fprintf(&all, "== %s\n%s\n--\n%s", c.why, strings.Join(c.head, "\n"), got)
				if !*update && got != c.shown {
					t.Errorf("%s: got\n%s\nwant\n%s", c.why, got, c.shown)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(all.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func brokenConfigs(text string) []*brokenConfig {
	var cases []*brokenConfig
	for part := range strings.SplitSeq("\n"+text, "\n== ") {
		if part == "" {
			continue
		}
		why, rest, _ := strings.Cut(part, "\n")
		head, shown, _ := strings.Cut(rest, "\n--\n")
		c := &brokenConfig{why: why, head: strings.Split(head, "\n"), shown: strings.TrimSuffix(shown, "\n") + "\n", files: map[string]string{}}
		c.read()
		cases = append(cases, c)
	}
	return cases
}

func (c *brokenConfig) read() {
	into := ""
	for _, line := range c.head {
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "@env":
			c.envs = append(c.envs, rest)
		case "@file":
			into = rest
		case "@config":
			into = ""
		default:
			if into == "" {
				c.config += line + "\n"
			} else {
				c.files[into] += line + "\n"
			}
		}
	}
}

func (c *brokenConfig) run(t *testing.T) string {
	t.Helper()
	res, err := compile(t, c.config, Options{Envs: c.envs, Source: sourcetree.Texts(c.files)})
	if err != nil {
		return rendered(err)
	}
	var b strings.Builder
	for _, d := range res.Diagnostics {
		fmt.Fprintf(&b, "%s: %s; %s (%s:%d:%d)\n", d.Severity, d.Message, d.Hint, d.File, d.Line, d.Col)
		b.WriteString(excerpt(d.Place))
	}
	if b.Len() == 0 {
		t.Errorf("%s: compiles without a warning", c.why)
	}
	return b.String()
}

// rendered is an error as the command line shows it, with its further places.
func rendered(err error) string {
	var b strings.Builder
	for i, d := range model.Diagnostics(err) {
		label := string(d.Code)
		if i > 0 {
			label = "and " + label
		}
		text := d.Message
		if d.Hint != "" {
			text += "; " + d.Hint
		}
		if d.Line > 0 {
			text += fmt.Sprintf(" (%s:%d:%d)", d.File, d.Line, d.Col)
		}
		fmt.Fprintf(&b, "%s: %s\n%s", label, text, excerpt(d.Place))
		for _, r := range d.Related {
			fmt.Fprintf(&b, "  %s (%s:%d:%d)\n%s", r.Message, r.File, r.Line, r.Col, excerpt(r.Place))
		}
	}
	return b.String()
}

// excerpt is the line of a place with what it means marked below.
func excerpt(p model.Place) string {
	if p.Line == 0 {
		return ""
	}
	line, before := (&model.Error{Col: p.Col, Source: p.Source}).Excerpt(160)
	mark := 1
	if p.EndLine == p.Line {
		mark = max(p.EndCol-p.Col, 1)
	}
	return fmt.Sprintf("%4d | %s\n%s%s\n", p.Line, line, strings.Repeat(" ", 7+before), strings.Repeat("^", mark))
}

// Law: what a config's author is told holds no name of the implementation.
func TestErrorsSpeakOfTheConfig(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "errors", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	forbidden := []string{"starlark", "nil", "%!", "0xc0", "goroutine", "map[", "<nil>", "interface", "intrinsic", "thread"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range brokenConfigs(string(text)) {
			i := slices.IndexFunc(forbidden, func(word string) bool { return strings.Contains(strings.ToLower(c.shown), word) })
			if i >= 0 {
				t.Errorf("%s: says %q:\n%s", c.why, forbidden[i], c.shown)
			}
		}
	}
}
