// Package model holds the words of the engine: symbolic values and their markers,
// node ids, the schema of a resource type, what passes between the engine and a
// provider, fences, and the error family.
//
// It owns no behaviour beyond reading and building those words. It must never know
// the language, a store, a provider or Kubernetes; every other package may import it.
package model
