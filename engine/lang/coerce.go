package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// validation checks and coerces values against declared types (providers.md 1.14),
// collecting what is wrong.
type validation struct {
	ev       *evaluation
	thread   *starlark.Thread
	problems []problem
	broken   error // of the config's own, from an iterator that was walked
}

type problem struct {
	path, text string
	given      string         // the name or text that was not known,
	near       string         // and the one that was meant, perhaps
	value      starlark.Value // what the problem is about; nil = nothing given
	always     bool           // counts even beside a handle
}

func (v *validation) fail(path string, value starlark.Value, format string, args ...any) {
	v.problems = append(v.problems, problem{path: path, value: value, text: fmt.Sprintf(format, args...)})
}

// maxShown is how many problems one message lists.
const maxShown = 10

// err is the refusal of what was validated, nil when nothing was wrong.
func (v *validation) err(what string) error {
	if v.broken != nil {
		return v.broken
	}
	if len(v.problems) == 0 {
		return nil
	}
	var texts []string
	var meant []problem
	refused := &fieldsError{names: map[string]bool{}}
	for i, p := range v.problems {
		if i == maxShown {
			texts = append(texts, fmt.Sprintf("and %d more", len(v.problems)-maxShown))
			break
		}
		texts = append(texts, p.path+": "+p.text)
		if p.near != "" {
			meant = append(meant, p)
		}
		for path := range strings.SplitSeq(p.path, ", ") {
			field, _, _ := strings.Cut(path, ".")
			refused.names[field] = true
		}
	}
	err := languageErrorf("invalid resource inputs for %s: %s", what, strings.Join(texts, "; "))
	err.Cause = refused
	err.Hint = meantHint(meant)
	return err
}

// meantHint asks for what was meant, naming what was given where that is not clear.
func meantHint(problems []problem) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = "'" + p.near + "'"
		if len(problems) > 1 {
			texts[i] += " for '" + p.given + "'"
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(texts, ", ") + "?"
}

// fieldsError is the cause of a refusal: the arguments that it is about.
type fieldsError struct{ names map[string]bool }

func (*fieldsError) Error() string { return "the arguments do not fit" }

// fields validates the given values of declared fields and fills in defaults. What is
// given is the caller's own: it becomes the result.
func (v *validation) fields(declared []model.Field, given map[string]starlark.Value, path string) map[string]starlark.Value {
	matched, all := 0, len(given)
	for i := range declared {
		f := &declared[i]
		value := given[f.Name]
		if value != nil {
			matched++
		}
		at := path + f.Name
		switch {
		case f.Mutability == model.Computed && value != nil:
			v.fail(at, value, "is computed and cannot be given")
		case f.Mutability == model.Computed:
		case value != nil:
			given[f.Name] = v.field(f, value, at)
		case f.Required:
			v.fail(at, nil, "is required")
		default:
			given[f.Name] = v.defaultOf(f)
		}
	}
	if matched < all {
		v.unknown(declared, given, path)
	}
	return given
}

// defaultOf is a field's default in containers of its own, structured values as such.
func (v *validation) defaultOf(f *model.Field) starlark.Value {
	value := fromModel(f.Default)
	if holdsNested(&f.Type) && !isNone(value) {
		return v.value(&f.Type, value, f.Name)
	}
	return value
}

func holdsNested(t *model.FieldType) bool {
	return t.Kind == model.KindNested || t.Elem != nil && holdsNested(t.Elem)
}

// unknown refuses the values that are of no field, whatever else is wrong.
func (v *validation) unknown(declared []model.Field, given map[string]starlark.Value, path string) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(declared, func(f model.Field) bool { return f.Name == name }) {
			fields := sortedNames(declared)
			near := model.Nearest(name, fields)
			if near != "" {
				v.fail(path+name, given[name], "is not a field")
			} else {
				v.fail(path+name, given[name], "is not a field; fields are %s", strings.Join(fields, ", "))
			}
			last := &v.problems[len(v.problems)-1]
			last.always, last.given, last.near = true, name, near
		}
	}
}

// field validates one value. A value that is a handle is not looked into. One that
// holds a handle is checked, but what is wrong with a part that is or holds a handle
// is forgiven, and the value is kept as it was written.
func (v *validation) field(f *model.Field, value starlark.Value, path string) starlark.Value {
	if opaque(value) {
		if f.Literal {
			v.fail(path, value, "must be a literal, not a %s", py.TypeName(value))
		}
		return value
	}
	if !holdsHandle(value) {
		return v.value(&f.Type, value, path)
	}
	before := len(v.problems)
	v.value(&f.Type, value, path)
	kept := v.problems[:before]
	for _, p := range v.problems[before:] {
		if p.always || p.value == nil || !holdsHandle(p.value) {
			kept = append(kept, p)
		}
	}
	v.problems = kept
	return copyValue(value)
}

// opaque reports whether validation leaves a value alone.
func opaque(v starlark.Value) bool {
	_, unset := v.(unsetField)
	return unset || isHandle(v)
}

func holdsHandle(v starlark.Value) bool {
	if opaque(v) {
		return true
	}
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			if holdsHandle(v.Index(i)) {
				return true
			}
		}
	case starlark.Tuple:
		return slices.ContainsFunc(v, holdsHandle)
	case *starlark.Dict:
		return anyItem(v, holdsHandle)
	case *nested:
		return v.handle
	}
	return false
}

// value coerces a value to a type; containers of the result are its own.
func (v *validation) value(t *model.FieldType, value starlark.Value, path string) starlark.Value {
	if value == starlark.None {
		if !t.Nullable && t.Kind != model.KindAny {
			v.fail(path, value, "must be %s, not None", typeText(t))
		}
		return value
	}
	switch t.Kind {
	case model.KindAny:
		return copyValue(value)
	case model.KindList:
		return v.list(t, value, path)
	case model.KindMap:
		return v.mapping(t, value, path)
	case model.KindNested:
		return v.nested(t, value, path)
	case model.KindUnion:
		return v.union(t, value, path)
	case model.KindSecret:
		v.fail(path, value, "must be %s, not a %s; what was given is not shown", typeText(t), py.TypeName(value))
		return value
	}
	coerced := coerceScalar(t.Kind, value)
	if coerced == nil {
		v.refuse(t, value, path)
		return value
	}
	if s, ok := coerced.(starlark.String); ok && len(t.OneOf) > 0 && !slices.Contains(t.OneOf, string(s)) {
		v.fail(path, value, "must be one of %s, not %s", strings.Join(t.OneOf, ", "), py.Show(v.thread, value))
		last := &v.problems[len(v.problems)-1]
		last.given, last.near = string(s), model.Nearest(string(s), t.OneOf)
	}
	v.checks(t, coerced, path)
	return coerced
}

// union judges a value by the alternative that has its shape.
func (v *validation) union(t *model.FieldType, value starlark.Value, path string) starlark.Value {
	isList := listable(value)
	for i := range t.Alternatives {
		a := &t.Alternatives[i]
		switch {
		case isList && a.Kind == model.KindList:
			return v.list(a, value, path)
		case !isList && coerceScalar(a.Kind, value) != nil:
			return v.value(a, value, path)
		}
	}
	v.refuse(t, value, path)
	return value
}

func (v *validation) refuse(t *model.FieldType, value starlark.Value, path string) {
	if r, ok := value.(*resource); ok {
		v.fail(path, value, "must be %s, not the resource %s", typeText(t), r.class.typ.Class)
		last := &v.problems[len(v.problems)-1]
		last.given, last.near = r.class.typ.Class, r.outputMeant(path)
		return
	}
	v.fail(path, value, "must be %s, not %s (%s)", typeText(t), py.Show(v.thread, value), py.TypeName(value))
}

func (v *validation) list(t *model.FieldType, value starlark.Value, path string) starlark.Value {
	elements, ok := v.elements(value)
	if !ok {
		v.refuse(t, value, path)
		return value
	}
	out := make([]starlark.Value, len(elements))
	for i, e := range elements {
		out[i] = v.value(elem(t), e, path+"."+strconv.Itoa(i))
	}
	return starlark.NewList(out)
}

// elements is what a list would be made of. Whoever called the constructor has paid for
// the walk over lists and tuples; any other is paid for here.
func (v *validation) elements(value starlark.Value) ([]starlark.Value, bool) {
	switch value.(type) {
	case *starlark.List, starlark.Tuple:
		return tupleOf(value), true
	}
	if !listable(value) {
		return nil, false
	}
	elements, err := items(v.thread, value)
	if err != nil && v.broken == nil {
		v.broken = err
	}
	return elements, true
}

func (v *validation) mapping(t *model.FieldType, value starlark.Value, path string) starlark.Value {
	d, ok := value.(*starlark.Dict)
	if !ok {
		v.refuse(t, value, path)
		return value
	}
	out := starlark.NewDict(d.Len())
	for k, item := range d.Entries() {
		key, ok := k.(starlark.String)
		if !ok {
			v.fail(path, k, "has the key %s, which is a %s, not a str", py.Show(v.thread, k), py.TypeName(k))
			continue
		}
		_ = out.SetKey(k, v.value(elem(t), item, path+"."+string(key)))
	}
	return out
}

// elem is the element type; a container without one takes anything.
func elem(t *model.FieldType) *model.FieldType {
	if t.Elem == nil {
		return &model.FieldType{Kind: model.KindAny}
	}
	return t.Elem
}

func (v *validation) nested(t *model.FieldType, value starlark.Value, path string) starlark.Value {
	switch value := value.(type) {
	case *nested:
		if value.typ.Name == t.Nested.Name {
			return value // validated when it was made, and immutable
		}
	case *starlark.Dict:
		given := make(map[string]starlark.Value, len(t.Nested.Fields))
		for k, item := range value.Entries() {
			key, ok := k.(starlark.String)
			if !ok {
				v.fail(path, k, "has the key %s, which is a %s, not a str", py.Show(v.thread, k), py.TypeName(k))
				continue
			}
			given[string(key)] = item
		}
		before := len(v.problems)
		fields := v.fields(t.Nested.Fields, given, path+".")
		if len(v.problems) == before {
			v.rules(t.Nested.Rules, fields, path+".")
		}
		for i := before; i < len(v.problems); i++ {
			if v.problems[i].value == nil {
				v.problems[i].value = value // a missing field and a broken rule are problems of the whole
			}
		}
		return v.ev.newNested(t.Nested, fields)
	}
	v.refuse(t, value, path)
	return value
}
