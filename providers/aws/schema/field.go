package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// Types of fields.
var (
	text         = model.FieldType{Kind: model.KindString}
	nullableText = model.FieldType{Kind: model.KindString, Nullable: true}
	integer      = model.FieldType{Kind: model.KindInt}
	boolean      = model.FieldType{Kind: model.KindBool}
	texts        = model.FieldType{Kind: model.KindList, Elem: &text}
	textMap      = model.FieldType{Kind: model.KindMap, Elem: &text}

	anything   = model.FieldType{Kind: model.KindAny}
	statement  = model.FieldType{Kind: model.KindMap, Elem: &anything}
	statements = model.FieldType{Kind: model.KindList, Elem: &statement}
)

func oneOf(values ...string) model.FieldType {
	return model.FieldType{Kind: model.KindString, OneOf: values}
}

func checked(t model.FieldType, checks ...model.Check) model.FieldType {
	t.Checks = checks
	return t
}

func listOf(t model.FieldType) model.FieldType {
	return model.FieldType{Kind: model.KindList, Elem: &t}
}

func nested(t *model.NestedType) model.FieldType {
	return model.FieldType{Kind: model.KindNested, Nested: t}
}

// immutable is a required input whose change replaces the resource.
func immutable(name string, t model.FieldType, doc string) model.Field {
	return model.Field{Name: name, Type: t, Mutability: model.Immutable, Required: true, Doc: doc}
}

// mutable is a required input whose change updates the resource.
func mutable(name string, t model.FieldType, doc string) model.Field {
	return model.Field{Name: name, Type: t, Mutability: model.Mutable, Required: true, Doc: doc}
}

// computed is an output.
func computed(name string, t model.FieldType, doc string) model.Field {
	return model.Field{Name: name, Type: t, Mutability: model.Computed, Doc: doc}
}

// or makes a field optional.
func or(f model.Field, value model.Value) model.Field {
	f.Required, f.Default = false, value
	return f
}

// named marks the field that holds the name of the object at AWS; a stack with a name
// prefix composes it where it is left out.
func named(f model.Field) model.Field {
	f.PhysicalName = true
	return f
}

// literal marks a field that no handle can fill.
func literal(f model.Field) model.Field {
	f.Literal = true
	return f
}

// filled marks a field that evaluation works out from the path in another one.
func filled(f model.Field, kind model.FillKind, from string) model.Field {
	f.Fill = &model.Fill{Kind: kind, From: from}
	return f
}

// Fields that many types share; they come first (providers.md 2.0).

func global() []model.Field {
	return []model.Field{or(immutable("provider_alias", nullableText, "Which further account of the settings to use; null is the main one."), nil)}
}

func globalTagged() []model.Field {
	return append(global(), or(mutable("tags", textMap, "Tags by key, laid over those of the stack."), map[string]any{}))
}

func region() model.Field {
	return immutable("region", text, "Where the resource is; the open stack or region gives it when it is left out.")
}

func regional() []model.Field { return append(global(), region()) }

func tagged() []model.Field { return append(globalTagged(), region()) }

// given reports whether a field is set to something: a handle counts, an empty list
// does not.
func given(v model.Value) bool {
	if list, ok := v.([]any); ok {
		return len(list) > 0
	}
	return v != nil
}

// count is how many of the fields are given.
func count(fields map[string]model.Value, names ...string) int {
	n := 0
	for _, name := range names {
		if given(fields[name]) {
			n++
		}
	}
	return n
}
