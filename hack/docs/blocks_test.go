package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// block is a fenced block of a page. Comments right before it say what it is:
//
//	<!-- file: PATH -->     a file of the tree of the configs after it, up to the next "## "
//	<!-- inputs: JSON -->   the inputs of the config
//	<!-- env: NAME -->      the environment that is selected
//	<!-- refused: TEXT -->  the config must be refused with this text
//	<!-- warns: TEXT -->    the config must warn with this text
//
// In a config, "output("x", …)  # → REPR" states the value of the output, and "# node ID"
// a node that there is.
type block struct {
	line     int
	language string
	text     string
	says     map[string]string
	tree     map[string]string
}

var (
	comment = regexp.MustCompile(`^<!-- (file|inputs|env|refused|warns): (.*) -->$`)
	stated  = regexp.MustCompile(`(?m)^\s*output\("([^"]+)", .*\)\s+# → (.*)$`)
	noted   = regexp.MustCompile(`(?m)# node (\S+)$`)
)

// blocks are the fenced blocks of a page that are no file of a tree.
func blocks(text string) []block {
	var found []block
	says, tree := map[string]string{}, map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch m := comment.FindStringSubmatch(line); {
		case m != nil:
			says[m[1]] = m[2]
		case strings.HasPrefix(line, "## "):
			tree = map[string]string{}
		case strings.HasPrefix(line, "```"):
			b := block{line: i + 1, language: line[3:], says: says, tree: tree}
			for i++; i < len(lines) && lines[i] != "```"; i++ {
				b.text += lines[i] + "\n"
			}
			if file := says["file"]; file != "" {
				tree[file] = b.text
			} else {
				found = append(found, b)
			}
			says = map[string]string{}
		}
	}
	return found
}

// Every config that the documentation shows compiles, or is refused, as it says.
func TestShownConfigs(t *testing.T) {
	registry, err := providers.NewRegistry(local.NewTenants("", local.Quota{}), random.New(nil, nil), aws.New())
	if err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Registry: registry}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for _, file := range append(pages, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(string(text)) {
			if b.language != "python" {
				continue
			}
			compiled++
			b.check(t, e, filepath.Base(file))
		}
	}
	if least := 15; compiled < least {
		t.Errorf("%d configs were found, want at least %d: the fences are not read", compiled, least)
	}
}

func (b *block) check(t *testing.T, e *engine.Engine, page string) {
	t.Helper()
	options := engine.CompileOptions{Source: sourcetree.Texts(b.tree)}
	if given := b.says["inputs"]; given != "" {
		if err := json.Unmarshal([]byte(given), &options.Inputs); err != nil {
			t.Fatalf("%s:%d: %v", page, b.line, err)
		}
	}
	if env := b.says["env"]; env != "" {
		options.Envs = []string{env}
	}
	c, err := e.Compile(t.Context(), engine.Source{Filename: page, Text: b.text}, options)
	refused := b.says["refused"]
	switch {
	case refused == "" && err != nil:
		t.Errorf("%s:%d: %v", page, b.line, err)
	case refused != "" && err == nil:
		t.Errorf("%s:%d compiles, and should be refused: %s", page, b.line, refused)
	case refused != "" && !strings.Contains(err.Error(), refused):
		t.Errorf("%s:%d: %v, want %q", page, b.line, err, refused)
	case err == nil:
		b.statements(t, c, page)
	}
}

// statements holds what a config became to what its comments state.
func (b *block) statements(t *testing.T, c *ir.Compilation, page string) {
	t.Helper()
	if warnings, want := strings.Join(c.Warnings, "\n"), b.says["warns"]; (warnings != "") != (want != "") || !strings.Contains(warnings, want) {
		t.Errorf("%s:%d warns %q, want %q", page, b.line, warnings, want)
	}
	outputs := map[string]string{}
	for _, o := range c.Outputs {
		_, name, _ := strings.Cut(o.Key, ":")
		outputs[name] = model.Repr(o.Value)
	}
	for _, m := range stated.FindAllStringSubmatch(b.text, -1) {
		if got := outputs[m[1]]; got != m[2] {
			t.Errorf("%s:%d: output %s is %s, stated is %s", page, b.line, m[1], got, m[2])
		}
	}
	for _, m := range noted.FindAllStringSubmatch(b.text, -1) {
		if c.Document.Node(m[1]) == nil {
			t.Errorf("%s:%d: there is no node %s", page, b.line, m[1])
		}
	}
}

func TestBlocks(t *testing.T) {
	const text = "## A\n<!-- file: a/b.py -->\n```python\nx = 1\n```\n<!-- env: dev -->\n<!-- refused: no -->\n```python\ny\n```\n## B\n```text\nz\n```\n"
	got := blocks(text)
	if len(got) != 2 {
		t.Fatalf("%d blocks, want 2: %+v", len(got), got)
	}
	if b := got[0]; b.line != 8 || b.language != "python" || b.text != "y\n" || b.says["env"] != "dev" || b.says["refused"] != "no" || b.tree["a/b.py"] != "x = 1\n" {
		t.Errorf("the first block is %+v", b)
	}
	if b := got[1]; b.language != "text" || len(b.says) != 0 || len(b.tree) != 0 {
		t.Errorf("a comment or a file outlives its block or section: %+v", b)
	}
}
