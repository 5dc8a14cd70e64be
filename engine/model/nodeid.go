package model

import "strings"

// DefaultStack is the stack of what is declared outside any stack (GR-1).
const DefaultStack = "default"

// NodeID joins the parts of a node id, "{stack}:{type}:{name}" (GR-1).
func NodeID(stack, resourceType, name string) string {
	return stack + ":" + resourceType + ":" + name
}

// StackOf is the text before the first colon of a node id or an output key.
func StackOf(id string) string {
	stack, _, _ := strings.Cut(id, ":")
	return stack
}

// TypeOf is the text between the first and the second colon of a node id.
func TypeOf(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	resourceType, _, _ := strings.Cut(rest, ":")
	return resourceType
}

// LocalName is the text after the last colon of a node id.
func LocalName(id string) string { return id[strings.LastIndexByte(id, ':')+1:] }

// ShortID is everything after the first colon of a node id, "{type}:{name}".
func ShortID(id string) string {
	_, short, _ := strings.Cut(id, ":")
	return short
}

// MaxName is how many characters a name may have: ids made of names are keys of the
// state store and stand in messages.
const MaxName = 255

// ValidName reports whether a resource, stack, component or environment may bear
// this name: ^[A-Za-z][A-Za-z0-9_-]*$ over the whole text (GR-1), at most MaxName long.
func ValidName(name string) bool {
	if len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		other := '0' <= c && c <= '9' || c == '_' || c == '-'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return name != ""
}
