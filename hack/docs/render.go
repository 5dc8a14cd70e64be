package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const head = `<!-- Generated from the providers' schemas by "make generate"; do not edit. -->

# Resources

What a config can import and declare, by provider. [The language](language.md) says how.

- *absent*: what holds when the field is left out.
- *a change*: ` + "`updates`" + ` the object in place, or ` + "`replaces`" + ` it by a new one. Of a data source it ` + "`reads again`" + `.
- Outputs are known when the object was made. In a config each is a reference.
- Every type also takes ` + "`lifecycle`" + ` and ` + "`depends_on`" + `.
`

// page is a Markdown page being written.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table writes rows under a header. A bar inside of a cell would end it.
func (p *page) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("\n| %s |\n|%s", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		p.line("| %s |", strings.Join(row, " | "))
	}
}

// render is the whole page.
func render(schemas []*model.ProviderSchema) (string, error) {
	p := &page{}
	p.WriteString(head + "\n")
	for _, s := range schemas {
		p.line("- %s: %s", link(s.Name, s.Name), classes(s))
	}
	for _, s := range schemas {
		if err := p.provider(s); err != nil {
			return "", err
		}
	}
	return p.String(), nil
}

// classes links the types of a provider.
func classes(s *model.ProviderSchema) string {
	links := make([]string, len(s.Types))
	for i, t := range s.Types {
		links[i] = link(t.Class, t.Name)
	}
	return strings.Join(links, ", ")
}

// link leads to a heading of the page.
func link(text, heading string) string {
	return "[" + code(text) + "](#" + anchor(heading) + ")"
}

// anchor is the one that a heading of that text gets.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(heading), ".", ""), " ", "-")
}

func (p *page) provider(s *model.ProviderSchema) error {
	p.line("\n## %s\n\n`from %s import …`; version %s.", s.Name, s.Module, s.Version)
	if s.PlanOnly != "" {
		p.line("\nNote: %s.", s.PlanOnly)
	}
	for _, t := range s.Types {
		p.resourceType(t)
	}
	p.structured(s)
	p.constants(s)
	p.helpers(s)
	return p.components(s)
}

func (p *page) resourceType(t *model.ResourceType) {
	p.line("\n### %s\n\n%s", t.Name, t.Doc)
	if t.Kind == model.KindData {
		p.line("\nA data source: it is read, and nothing is made.")
	}
	if t.Unsupported != "" {
		p.line("\nConfigs cannot use it yet: %s.", t.Unsupported)
	}
	var inputs, outputs [][]string
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Mutability == model.Computed {
			outputs = append(outputs, []string{code(f.Name), typeText(&f.Type), meaning(f)})
		} else {
			inputs = append(inputs, []string{code(f.Name), typeText(&f.Type), absent(f), change(t, f), meaning(f)})
		}
	}
	p.table([]string{"field", "type", "absent", "a change", "meaning"}, inputs)
	p.table([]string{"output", "type", "meaning"}, outputs)
	p.notes(t)
}

// notes is what is true of a type as a whole.
func (p *page) notes(t *model.ResourceType) {
	var notes []string
	for _, r := range t.Rules {
		notes = append(notes, "It must "+r.Must+".")
	}
	for i := range t.Constants {
		notes = append(notes, fmt.Sprintf("`%s.%s`: %s.", t.Class, t.Constants[i].Name, members(&t.Constants[i])))
	}
	for _, b := range t.Policies {
		notes = append(notes, "Every change is judged by the policy "+code(b.Name)+" ("+b.Level+").")
	}
	if t.IdentityField != "" {
		notes = append(notes, "To import one, give its "+code(t.IdentityField)+".")
	}
	if len(notes) > 0 {
		p.line("\n- %s", strings.Join(notes, "\n- "))
	}
}

func code(s string) string { return "`" + s + "`" }

// absent is what a field that is left out holds.
func absent(f *model.Field) string {
	switch {
	case f.Required && f.PhysicalName:
		return "required, or composed from `name_prefix`"
	case f.Required && f.Name == "region":
		return "the open region, else required"
	case f.Required:
		return "required"
	case f.Fill != nil:
		return "worked out from the files at " + code(f.Fill.From)
	case f.PhysicalName:
		return code(model.Repr(f.Default)) + ", or composed from `name_prefix`"
	}
	return code(model.Repr(f.Default))
}

func change(t *model.ResourceType, f *model.Field) string {
	switch {
	case t.Kind == model.KindData:
		return "reads again"
	case f.Mutability == model.Immutable:
		return "replaces"
	}
	return "updates"
}

// meaning is a field's doc and what its declaration adds.
func meaning(f *model.Field) string {
	parts := []string{f.Doc}
	for t := &f.Type; t != nil; t = t.Elem {
		each := "Must "
		if t != &f.Type {
			each = "Each must "
		}
		for _, c := range t.Checks {
			parts = append(parts, each+c.Must+".")
		}
	}
	if f.Literal {
		parts = append(parts, "A literal: no reference.")
	}
	if f.Sensitive {
		parts = append(parts, "**Sensitive.**")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

var scalars = map[model.TypeKind]string{
	model.KindString: "str", model.KindInt: "int", model.KindFloat: "float", model.KindBool: "bool",
	model.KindAny: "any", model.KindSecret: "secret",
}

func typeText(t *model.FieldType) string {
	text := scalars[t.Kind]
	switch t.Kind {
	case model.KindList:
		text = "list" + of(t.Elem)
	case model.KindMap:
		text = "dict" + of(t.Elem)
	case model.KindNested:
		text = link(t.Nested.Name, t.Nested.Name)
	case model.KindUnion:
		texts := make([]string, len(t.Alternatives))
		for i := range t.Alternatives {
			texts[i] = typeText(&t.Alternatives[i])
		}
		text = strings.Join(texts, " or ")
	}
	if len(t.OneOf) > 0 {
		text = code(strings.Join(t.OneOf, "`, `"))
	}
	if t.Nullable {
		text += " or None"
	}
	return text
}

func of(elem *model.FieldType) string {
	if elem == nil || elem.Kind == model.KindAny {
		return ""
	}
	return " of " + typeText(elem)
}
