package py

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// suggesting adds a hint to an error: the name in names that is nearest to the one that
// was given. An error that has a hint keeps it.
func suggesting(err error, given string, names []string) error {
	if python, ok := errors.AsType[*Error](err); ok && python.Hint == "" {
		python.Hint = model.DidYouMean(given, names)
	}
	if typed, ok := errors.AsType[*model.Error](err); ok && typed.Hint == "" {
		typed.Hint = model.DidYouMean(given, names)
	}
	return err
}

func errNoKey(t *thread, d *starlark.Dict, key value) error {
	err := KeyErrorf("%s", Show(t, key))
	if s, ok := key.(starlark.String); ok {
		return suggesting(err, string(s), textKeys(d))
	}
	return err
}

// maxKeys bounds the dicts whose keys are looked through for a hint.
const maxKeys = 10_000

// textKeys lists the keys of a dict that are texts.
func textKeys(d *starlark.Dict) []string {
	if d.Len() > maxKeys {
		return nil
	}
	var names []string
	for k := range d.Entries() {
		if s, ok := k.(starlark.String); ok {
			names = append(names, string(s))
		}
	}
	return names
}

// publicNames lists what a config can read of a value.
func publicNames(x value) []string {
	return slices.DeleteFunc(attrNames(x), func(name string) bool { return strings.HasPrefix(name, "_") })
}

// attrNames lists what a value has, in a list of its own.
func attrNames(x value) []string {
	if methods := methodsOf(x); methods != nil {
		return slices.Collect(maps.Keys(methods))
	}
	switch x := x.(type) {
	case *Type:
		return slices.AppendSeq(slices.Collect(maps.Keys(x.methods)), maps.Keys(x.class))
	case *Range:
		return slices.AppendSeq([]string{"start", "step", "stop"}, maps.Keys(rangeMethods))
	case *starlark.Function, *starlark.Builtin, *Native, *boundMethod, *BoundFunction:
	case interface{ AttrNames() []string }:
		return x.AttrNames()
	}
	return nil
}
