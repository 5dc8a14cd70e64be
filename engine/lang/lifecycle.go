package lang

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
)

// lifecycle is Lifecycle(...): how a node may be changed. It is frozen.
type lifecycle struct {
	object
	preventDestroy, createBeforeDestroy bool
	ignoreChanges, aliases              []string
}

var noLifecycle = &lifecycle{}

// newLifecycle is Lifecycle(prevent_destroy, create_before_destroy, ignore_changes,
// aliases), each with a default.
func newLifecycle(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p, err := py.BindArgs("Lifecycle", []string{"prevent_destroy?", "create_before_destroy?", "ignore_changes?", "aliases?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	l := &lifecycle{}
	if l.preventDestroy, err = flag("prevent_destroy", p[0]); err != nil {
		return nil, err
	}
	if l.createBeforeDestroy, err = flag("create_before_destroy", p[1]); err != nil {
		return nil, err
	}
	if l.ignoreChanges, err = names(t, "ignore_changes", p[2]); err != nil {
		return nil, err
	}
	l.aliases, err = names(t, "aliases", p[3])
	return l, err
}

func flag(field string, v starlark.Value) (bool, error) {
	if v == nil {
		return false, nil
	}
	b, ok := v.(starlark.Bool)
	if !ok {
		return false, languageErrorf("Lifecycle() %s must be a bool, not %s", field, py.TypeName(v))
	}
	return bool(b), nil
}

func names(t *starlark.Thread, field string, v starlark.Value) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	if s, ok := v.(starlark.String); ok {
		return nil, registryErrorf("Lifecycle() %s is the text %s; write a list of texts", field, py.Show(t, s))
	}
	elements, err := items(t, v)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(elements))
	for i, e := range elements {
		s, ok := e.(starlark.String)
		if !ok {
			return nil, languageErrorf("Lifecycle() %s must hold texts, not %s", field, py.TypeName(e))
		}
		if !utf8.ValidString(string(s)) {
			return nil, irErrorf("Lifecycle() %s holds a lone surrogate, which no encoding can carry", field)
		}
		out[i] = string(s)
	}
	return out, nil
}

// lifecycleOf reads the lifecycle argument of a resource.
func lifecycleOf(v starlark.Value) (*lifecycle, error) {
	if isNone(v) {
		return noLifecycle, nil
	}
	l, ok := v.(*lifecycle)
	if !ok {
		return nil, languageErrorf("lifecycle must be a Lifecycle(...), not %s", py.TypeName(v))
	}
	return l, nil
}

func (l *lifecycle) Type() string { return "Lifecycle" }

// PyRepr implements py.Renderer.
func (l *lifecycle) PyRepr(t *starlark.Thread) (string, error) {
	return record(t, "Lifecycle",
		"prevent_destroy", starlark.Bool(l.preventDestroy),
		"create_before_destroy", starlark.Bool(l.createBeforeDestroy),
		"ignore_changes", texts(l.ignoreChanges),
		"aliases", texts(l.aliases))
}

// PyEqual compares by fields.
func (l *lifecycle) PyEqual(other starlark.Value) (bool, bool) {
	m, ok := other.(*lifecycle)
	return ok && l.preventDestroy == m.preventDestroy && l.createBeforeDestroy == m.createBeforeDestroy &&
		slices.Equal(l.ignoreChanges, m.ignoreChanges) && slices.Equal(l.aliases, m.aliases), true
}

// PyWeight implements py.Weighted.
func (l *lifecycle) PyWeight() int64 {
	return int64(len(l.ignoreChanges)+len(l.aliases)) + textWeight(l.ignoreChanges...) + textWeight(l.aliases...)
}

// CompareSameType lets the hash table of a dict compare keys.
func (l *lifecycle) CompareSameType(op star.Token, other starlark.Value, _ int) (bool, error) {
	equal, _ := l.PyEqual(other)
	return equal == (op == star.EQL), nil
}

// Hash agrees with PyEqual.
func (l *lifecycle) Hash() (uint32, error) {
	flags := strconv.FormatBool(l.preventDestroy) + strconv.FormatBool(l.createBeforeDestroy)
	return hashTexts(slices.Concat([]string{"lifecycle", flags}, l.ignoreChanges, []string{""}, l.aliases)...)
}

func (l *lifecycle) Attr(name string) (starlark.Value, error) {
	return pick(name,
		"prevent_destroy", starlark.Bool(l.preventDestroy),
		"create_before_destroy", starlark.Bool(l.createBeforeDestroy),
		"ignore_changes", texts(l.ignoreChanges),
		"aliases", texts(l.aliases))
}

func (l *lifecycle) AttrNames() []string {
	return []string{"aliases", "create_before_destroy", "ignore_changes", "prevent_destroy"}
}

func texts(list []string) starlark.Tuple {
	out := make(starlark.Tuple, len(list))
	for i, s := range list {
		out[i] = starlark.String(s)
	}
	return out
}
