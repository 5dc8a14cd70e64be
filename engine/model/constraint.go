package model

// Check is a constraint on one scalar: a pure function of the coerced value, which is
// never a handle nor null. Must completes "must …" and holds the limit in figures or
// the allowed set (providers.md 1.14).
type Check struct {
	Must  string
	Holds func(v Value) bool
}

// Rule is a constraint over several fields of a resource type or a structured value: a
// pure function of their values, asked when every field by itself is good. A field
// may hold a marker, at any depth; a rule that needs to know such a value holds.
type Rule struct {
	Fields []string // whose values Holds is given and a refusal shows
	Must   string   // completes "must …"
	Holds  func(fields map[string]Value) bool
}

// FillKind is how a value is worked out from the source tree.
type FillKind int

const (
	FillPackage  FillKind = iota // the hex SHA-256 of the package that a path names (providers.md 5)
	FillManifest                 // the digest of each file under a folder, by relative path
	FillText                     // the hex SHA-256 of a text file
)

// Fill marks a field that evaluation works out when the config leaves it out and gives
// From, the path of what is read.
type Fill struct {
	Kind FillKind
	From string
}
