package lang

import (
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// checks asks the constraints on a coerced scalar.
func (v *validation) checks(t *model.FieldType, value starlark.Value, path string) {
	if len(t.Checks) == 0 {
		return
	}
	plain, err := canonical(v.thread, value, path)
	if err != nil {
		return // refused when the value is lowered
	}
	for _, c := range t.Checks {
		if !c.Holds(plain) {
			v.fail(path, value, "must %s, not %s", c.Must, py.Show(v.thread, value))
		}
	}
}

// rules asks the constraints over several fields, once each field by itself is good.
func (v *validation) rules(rules []model.Rule, fields map[string]starlark.Value, path string) {
	if len(rules) == 0 {
		return
	}
	lowered := canonicalizer{thread: v.thread, root: path}
	for i := range rules {
		r := &rules[i]
		values := make(map[string]model.Value, len(r.Fields))
		known := true
		for _, name := range r.Fields {
			lowered.field = name
			plain, err := lowered.value(fields[name])
			known = known && err == nil // otherwise refused when the value is lowered
			values[name] = plain
		}
		if known && !r.Holds(values) {
			v.fail(path+strings.Join(r.Fields, ", "), nil, "must %s, not %s", r.Must, v.shown(r.Fields, fields))
		}
	}
}

// shown is the values that a rule concerns: "fifo=False, queue_name='a.fifo'".
func (v *validation) shown(names []string, fields map[string]starlark.Value) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = name + "=" + py.Show(v.thread, fields[name])
	}
	return strings.Join(texts, ", ")
}

func typeText(t *model.FieldType) string {
	text := map[model.TypeKind]string{
		model.KindString: "a str", model.KindInt: "an int", model.KindFloat: "a float", model.KindBool: "a bool",
		model.KindAny: "any value", model.KindList: "a list", model.KindMap: "a dict with text keys",
		model.KindSecret: "a secret handle (atlantide.secret(…))",
	}[t.Kind]
	switch {
	case t.Kind == model.KindUnion:
		texts := make([]string, len(t.Alternatives))
		for i := range t.Alternatives {
			texts[i] = typeText(&t.Alternatives[i])
		}
		text = strings.Join(texts, " or ")
	case t.Kind == model.KindList && t.Elem != nil && t.Elem.Kind == model.KindString:
		text = "a list of str"
	case t.Kind == model.KindNested:
		text = "a " + t.Nested.Name + " or a dict of its fields"
	case t.Kind == model.KindMap && t.Elem != nil && t.Elem.Kind == model.KindString:
		text = "a dict from str to str"
	}
	if t.Nullable {
		text += " or None"
	}
	return text
}
