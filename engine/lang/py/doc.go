// Package py holds Python's semantics over go.starlark.net values: operators,
// comparison, text forms, formatting, iteration, methods of built-in values, the
// built-in functions, the pure functions of the language, calls, and the meter that
// charges all of it before it is done (lang.md §4.2–§8.2).
//
// It must never know a syntax tree, a position in a config, a resource, a stack or
// an environment. Values defined elsewhere take part through the optional interfaces
// of hooks.go.
//
// The map: ops.go and number.go (operators), compare.go (==, <, in, is), keys.go
// (True, 1 and 1.0 as one key), cost.go, collisions.go and meter.go (fuel, memory,
// depth), text.go
// (str and repr), format.go and percent.go, iterate.go and iterators.go, item.go and
// slice.go (subscripts), attr.go and *_methods.go, call.go, builtins*.go, derive.go
// and json.go.
//
// A str is a starlark.String whose bytes are UTF-8, with a lone surrogate written in
// the three bytes UTF-8 would use for it (runes.go).
package py

import "go.starlark.net/starlark"

type (
	thread  = starlark.Thread
	value   = starlark.Value
	tuple   = starlark.Tuple
	kwargsT = []starlark.Tuple
)
