package model

// Mutability says what a change of a field means (providers.md 1.12).
type Mutability int

const (
	Mutable   Mutability = iota // a change is an UPDATE
	Immutable                   // a change is a REPLACE
	Computed                    // an output: never an input, never diffed
)

// TypeKind is the shape of a field's value.
type TypeKind int

const (
	KindString TypeKind = iota
	KindInt
	KindFloat
	KindBool
	KindAny
	KindList   // of Elem
	KindMap    // text keys to Elem
	KindNested // a structured value, Nested
	KindSecret // a secret handle; a literal is refused
	KindUnion  // what one of Alternatives takes
)

// FieldType is the declared type of a field.
type FieldType struct {
	Kind     TypeKind
	Nullable bool
	Elem     *FieldType  // KindList, KindMap
	Nested   *NestedType // KindNested
	OneOf    []string    // closed set of texts; empty = any
	Checks   []Check     // of a scalar kind, in order
	// Alternatives of KindUnion: a scalar kind, then a list of it. A value is judged by
	// the one that has its shape.
	Alternatives []FieldType
}

// Field is one declared field of a resource type.
type Field struct {
	Name         string
	Type         FieldType
	Mutability   Mutability
	Required     bool
	Default      Value // used when not Required; deep-copied by whoever takes it
	Sensitive    bool
	FromSource   bool // copied from the config's own files: as open as the config, whose literals are recorded too
	Printable    bool // may be shown to everybody who may read a plan (operator.md 1.11)
	PhysicalName bool // holds the name the object has in the cloud
	Literal      bool // a handle is refused
	Fill         *Fill
	Doc          string
}

// NestedType is a structured value that configs build by its constructor or as a map.
type NestedType struct {
	Name   string
	Fields []Field
	Rules  []Rule
	Doc    string
}

// Kinds of an IR node.
const (
	KindResource = "resource"
	KindData     = "data"
)

// ResourceType is the schema of one type, as data: lang builds its constructor
// from it, plan reads mutability from it, apply sensitivity.
type ResourceType struct {
	Name     string // "local.File"
	Provider string // "local"
	Class    string // "File", the name configs import
	Kind     string // KindResource or KindData
	Doc      string
	Fields   []Field // in declaration order
	Rules    []Rule
	// Address says what alone names the object in the world, so that two nodes with one
	// address would be one object; nil where the provider hands out an identity. Values
	// of inputs that are not known yet may be markers.
	Address func(inputs map[string]any) (address string, known bool)
	// IdentityField is the computed field whose value an import must be given to find an
	// existing object; "" where the inputs alone name it (RF-12).
	IdentityField string
	// Untraceable: what a create made whose answer was lost cannot be found again, neither
	// by its address nor by its attempt; repeated, the create makes another object. It is
	// for plugins whose API knows neither names, tags nor tokens: every type that comes with
	// the engine is found by one of the three, or stands for nothing outside the state.
	Untraceable bool
	// Policies judge every change of the type, after those that the config binds (PL-12).
	Policies []PolicyBinding
	// Constants are attributes of the class ("S3Bucket.Action").
	Constants []Constant
	// Unsupported, when not empty, is why configs cannot use the type yet; its
	// class still imports, so that the import line of an existing config works.
	Unsupported string
}

// PolicyBinding is a policy that a type binds to itself: its name, "mandatory" or
// "advisory", and its parameters.
type PolicyBinding struct {
	Name   string
	Level  string
	Params map[string]any
}

// Field returns the declaration of a field, or nil.
func (t *ResourceType) Field(name string) *Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// ObjectAddress is type and address of the object that inputs describe; false where the
// type has no addresses or this one is not known.
func (t *ResourceType) ObjectAddress(inputs map[string]any) (string, bool) {
	if t.Address == nil {
		return "", false
	}
	address, known := t.Address(inputs)
	return t.Name + " " + address, known
}

// ProviderSchema is everything the engine knows of a provider without calling it.
type ProviderSchema struct {
	Name    string // "local"
	Version string // semver, stamped on nodes and rows, pinned by artifacts
	Module  string // "atlantide.providers.local"
	Types   []*ResourceType

	// Constants and Helpers are what the module exports beside the classes of its types
	// and of the structured values in their fields.
	Constants []Constant
	Helpers   []Helper
	// Components are classes written in the language; what they declare are resources of
	// this provider or of others.
	Components []Component

	// PlanOnly, when not empty, is why resources of this provider compile and plan but
	// cannot be applied; a run that would have to is refused before it takes a lock.
	PlanOnly string
}

// Schemas finds resource types. It is immutable after construction.
type Schemas struct {
	providers map[string]*ProviderSchema
	types     map[string]*ResourceType
	order     []*ProviderSchema
}

// NewSchemas indexes provider schemas; two providers of one name or two types of
// one name are a RegistryError.
func NewSchemas(providers ...*ProviderSchema) (*Schemas, error) {
	s := &Schemas{providers: map[string]*ProviderSchema{}, types: map[string]*ResourceType{}}
	for _, p := range providers {
		if s.providers[p.Name] != nil {
			return nil, Errorf(RegistryError, ClassUser, "provider '%s' is registered twice", p.Name)
		}
		s.providers[p.Name] = p
		s.order = append(s.order, p)
		for _, t := range p.Types {
			if s.types[t.Name] != nil || t.Name != p.Name+"."+t.Class {
				return nil, Errorf(RegistryError, ClassUser, "provider '%s' declares type '%s', whose name is taken or not its own", p.Name, t.Name)
			}
			s.types[t.Name] = t
		}
	}
	return s, nil
}

// Provider returns the schema of a provider, or nil.
func (s *Schemas) Provider(name string) *ProviderSchema { return s.providers[name] }

// Providers lists all schemas in registration order.
func (s *Schemas) Providers() []*ProviderSchema { return s.order }

// Type returns the schema of a resource type ("local.File"), or nil.
func (s *Schemas) Type(name string) *ResourceType { return s.types[name] }
