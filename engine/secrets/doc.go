// Package secrets owns everything that is done with a secret: which provider resolves a
// handle (registry.go; env.go and keyfile.go are two), the install key (key.go,
// installkey.go), and what it is used for: the digests by which a rotated secret is told
// from an unchanged one (digest.go), sealing what must not lie in a store as plain text
// (seal.go), and keeping secrets out of what people read (text.go, redact.go, scrub.go).
// A Session is all that one run sees of it.
//
// It must never know the language, a policy, a store of state, a lock of a run or
// Kubernetes. Values go to who asked for them and nowhere else: no error, no text form of
// a type of this package and no file that is not encrypted holds one.
package secrets
