package main

import (
	"fmt"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// structured writes the values that fields are made of, each once.
func (p *page) structured(s *model.ProviderSchema) {
	var found []*model.NestedType
	seen := map[string]bool{}
	for _, t := range s.Types {
		for i := range t.Fields {
			found = nestedIn(found, seen, &t.Fields[i].Type)
		}
	}
	for _, n := range found {
		p.line("\n### %s\n\n%s A value for a field: `%s(…)`, or a dict with the same keys.", n.Name, n.Doc, n.Name)
		rows := make([][]string, len(n.Fields))
		for i := range n.Fields {
			f := &n.Fields[i]
			rows[i] = []string{code(f.Name), typeText(&f.Type), absent(f), meaning(f)}
		}
		p.table([]string{"field", "type", "absent", "meaning"}, rows)
		for i, r := range n.Rules {
			if i == 0 {
				p.line("")
			}
			p.line("- It must %s.", r.Must)
		}
	}
}

func nestedIn(found []*model.NestedType, seen map[string]bool, t *model.FieldType) []*model.NestedType {
	if t.Elem != nil {
		found = nestedIn(found, seen, t.Elem)
	}
	if t.Nested == nil || seen[t.Nested.Name] {
		return found
	}
	seen[t.Nested.Name] = true
	found = append(found, t.Nested)
	for i := range t.Nested.Fields {
		found = nestedIn(found, seen, &t.Nested.Fields[i].Type)
	}
	return found
}

func (p *page) constants(s *model.ProviderSchema) {
	if len(s.Constants) == 0 {
		return
	}
	p.line("\n### Constants of %s\n", s.Name)
	for i := range s.Constants {
		c := &s.Constants[i]
		switch {
		case len(c.Members) > 0:
			p.line("- `%s`: %s", c.Name, members(c))
		case c.Nested != nil:
			p.line("- `%s`: %s", c.Name, code(constructed(c)))
		default:
			p.line("- `%s`: %s", c.Name, code(model.Repr(c.Value)))
		}
	}
}

// members lists the attributes of a constant with their values.
func members(c *model.Constant) string {
	texts := make([]string, len(c.Members))
	for i := range c.Members {
		texts[i] = code(c.Members[i].Name) + " (" + model.Text(c.Members[i].Value) + ")"
	}
	return strings.Join(texts, ", ")
}

// constructed is a structured value as a config would write it.
func constructed(c *model.Constant) string {
	given, _ := c.Value.(map[string]any)
	var args []string
	for i := range c.Nested.Fields {
		f := &c.Nested.Fields[i]
		if v, ok := given[f.Name]; ok && model.Repr(v) != model.Repr(f.Default) {
			args = append(args, f.Name+"="+model.Repr(v))
		}
	}
	return c.Nested.Name + "(" + strings.Join(args, ", ") + ")"
}

func (p *page) helpers(s *model.ProviderSchema) {
	if len(s.Helpers) == 0 {
		return
	}
	p.line("\n### Functions of %s\n", s.Name)
	for i := range s.Helpers {
		h := &s.Helpers[i]
		from := ""
		if h.Module != "" {
			from = fmt.Sprintf(" Import it from `%s.%s`.", s.Module, h.Module)
		}
		p.line("- `%s`: %s%s", signature(h), h.Doc, from)
	}
}

func signature(h *model.Helper) string {
	var params []string
	if h.Rest != "" {
		params = append(params, "*"+h.Rest)
	}
	for _, param := range h.Params {
		if name, optional := strings.CutSuffix(param, "?"); optional {
			params = append(params, name+"=None")
		} else {
			params = append(params, param)
		}
	}
	return h.Name + "(" + strings.Join(params, ", ") + ")"
}

// components writes what is declared in the language itself, as its source says it.
func (p *page) components(s *model.ProviderSchema) error {
	for i := range s.Components {
		c := &s.Components[i]
		d, err := read(c)
		if err != nil {
			return err
		}
		p.line("\n### %s\n\nA component. %s\n\n    %s(%s)", c.Name, d.doc, c.Name, strings.Join(d.params, ", "))
		p.line("\nAttributes: `%s`.", strings.Join(d.attrs, "`, `"))
	}
	return nil
}

// declared is what the source of a component says to whoever uses it.
type declared struct {
	doc           string
	params, attrs []string
}

func read(c *model.Component) (d declared, err error) {
	module, err := syntax.Parse(c.File, c.Source)
	if err != nil {
		return d, err
	}
	d.doc = docstring(module.Body)
	for _, stmt := range module.Body {
		class, ok := stmt.(*syntax.ClassDef)
		if !ok || class.Name != c.Name {
			continue
		}
		if own := docstring(class.Body); own != "" {
			d.doc = own
		}
		for _, member := range class.Body {
			if def, ok := member.(*syntax.FunctionDef); ok && def.Name == "__init__" {
				d.params, d.attrs = params(def), attributes(def)
			}
		}
	}
	if d.doc == "" || len(d.params) == 0 || len(d.attrs) == 0 {
		return d, fmt.Errorf("%s: the class %s needs a docstring, an __init__ with parameters and attributes", c.File, c.Name)
	}
	return d, nil
}

func docstring(body []syntax.Stmt) string {
	if len(body) == 0 {
		return ""
	}
	stmt, _ := body[0].(*syntax.ExprStmt)
	if stmt == nil {
		return ""
	}
	text, _ := stmt.Value.(*syntax.Constant)
	if text == nil {
		return ""
	}
	s, _ := text.Value.(string)
	return strings.TrimSpace(s)
}

// params are the parameters after self, a default as a literal.
func params(def *syntax.FunctionDef) []string {
	var out []string
	keyword := false
	for _, p := range def.Params[1:] {
		if p.Kind == syntax.ParamKeyword && !keyword {
			out, keyword = append(out, "*"), true
		}
		text := p.Name
		if literal, ok := p.Default.(*syntax.Constant); ok {
			text += "=" + model.Repr(literal.Value)
		} else if p.Default != nil {
			text += "=…"
		}
		out = append(out, text)
	}
	return out
}

// attributes are those that __init__ sets on the object.
func attributes(def *syntax.FunctionDef) []string {
	var out []string
	for _, stmt := range def.Body {
		assign, ok := stmt.(*syntax.Assign)
		if !ok {
			continue
		}
		for _, target := range assign.Targets {
			if a, ok := target.(*syntax.Attribute); ok {
				out = append(out, a.Name)
			}
		}
	}
	return out
}
