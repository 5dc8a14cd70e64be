package model

// Constant is a named value of a provider's module or of a resource type's class.
type Constant struct {
	Name  string
	Value Value // a scalar: every config shares it
	// Nested, when set, makes of Value, a map of fields, a structured value of this type.
	Nested *NestedType
	// Members, when there are any, make of the constant a class with these attributes
	// ("Region.EuWest1"); Value is not used then.
	Members []Constant
}

// Helper is a pure function that configs import from a provider's module. It sees no
// more of its arguments than it has to: None is nil and a text is a string; anything
// else, a handle as well as a list, is opaque, and may be put into the result as it is.
type Helper struct {
	Name string
	// Rest names the positional arguments that are taken in any number. The helper's
	// Params are keyword-only then.
	Rest string
	// Params are the other parameters; one that ends in "?" may be left out.
	Params []string
	// Module, when set, is the only submodule ("policy") that exports the helper.
	Module string
	Doc    string
	// Call makes the result out of nil, strings, []any, Objects and opaque values. A
	// plain error is a ValueError of the config; its text follows "{Name}() ".
	Call func(HelperCall) (any, error)
}

// HelperCall is one call of a helper.
type HelperCall struct {
	Rest []any
	Args map[string]any // by parameter, without "?"; one that was left out is missing
	// JSON is the language's to_json of anything that a helper may return; a handle
	// has none.
	JSON func(v any) (string, error)
}

// Component is a class that configs import from a provider's module: Atlas-lang source
// in the component dialect (lang.md 13.3a) that declares it. It may import the module of
// its own provider.
type Component struct {
	Name   string
	File   string // what errors call the source
	Source string
}

// Object is a map in a helper's result; its keys keep their order.
type Object []ObjectMember

// ObjectMember is one entry of an Object.
type ObjectMember struct {
	Key   string
	Value any
}
