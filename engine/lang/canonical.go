package lang

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// maxExact is the largest integer that every JSON reader keeps (design: canonical form).
const maxExact = 1<<53 - 1

// maxDepth bounds the nesting of a value in the IR.
const maxDepth = 1000

// What is reached through handles and structured values may be shared any number of
// times, and is written out each time: it costs steps and bytes accordingly.
const (
	sharedCost  = 4
	markerBytes = 1024 // of a combinator
	mapParts    = 8    // how many parts an empty map and an empty dict weigh
	singleBytes = 448  // a map of one key, with its text, and a share of what a plan copies of it
)

// canonical is the form of a value in the IR (lang.md §12.1); root names it in errors.
// Whoever calls it has paid for the walk over plain containers; what is inside of
// handles and structured values is paid for here.
func canonical(t *starlark.Thread, v starlark.Value, root string) (model.Value, error) {
	c := canonicalizer{thread: t, root: root}
	return c.value(v)
}

type canonicalizer struct {
	thread *starlark.Thread
	root   string
	field  string // of the root; part of its name in errors
	path   []step // from the root to the value at hand
	unpaid int    // handles and structured values around it
}

// step leads into a list by index or, with a key, into a map.
type step struct {
	key   string
	index int
}

func (c *canonicalizer) errorf(format string, args ...any) *model.Error {
	var b strings.Builder
	b.WriteString(c.root + c.field)
	for _, s := range c.path {
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		} else {
			b.WriteString("." + s.key)
		}
	}
	path := b.String()
	if len(path) > 200 {
		path = path[:100] + "..." + path[len(path)-100:]
	}
	return irErrorf("%s %s", strings.ToValidUTF8(path, "?"), fmt.Sprintf(format, args...))
}

func (c *canonicalizer) value(v starlark.Value) (model.Value, error) {
	if c.unpaid > 0 {
		if err := py.MeterOf(c.thread).Charge(sharedCost); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		return c.integer(v)
	case starlark.Float:
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, c.errorf("is the float %s, which has no JSON form", py.Show(c.thread, v))
		}
		return f, nil
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, c.errorf("holds a lone surrogate, which no encoding can carry")
		}
		return string(v), nil
	case handle:
		return v.marker(c)
	case *starlark.List:
		return c.list(v)
	case starlark.Tuple:
		return c.list(v)
	case *starlark.Dict:
		return c.dict(v)
	case *starlark.Set, *py.FrozenSet:
		return c.set(v)
	case *nested:
		return c.nested(v)
	}
	err := c.errorf("is a %s, which cannot be part of a resource or an output", describe(v))
	if r, ok := v.(*resource); ok {
		field := c.field
		if len(c.path) > 0 {
			field = c.path[len(c.path)-1].key
		}
		if meant := r.outputMeant(field); meant != "" {
			err.Hint = "did you mean its '" + meant + "'?"
		}
	}
	return nil, err
}

// at is the form of a part of the value at hand.
func (c *canonicalizer) at(s step, v starlark.Value) (model.Value, error) {
	if len(c.path) >= maxDepth {
		return nil, c.errorf("is nested deeper than %d levels", maxDepth)
	}
	c.path = append(c.path, s)
	out, err := c.value(v)
	c.path = c.path[:len(c.path)-1]
	return out, err
}

// alloc accounts for n parts of a container: in the IR and in the snapshot beside it.
func (c *canonicalizer) alloc(n int) error {
	return py.MeterOf(c.thread).Alloc(2 * valueBytes * int64(n))
}

// mark accounts for a handle without operands: the maps of its marker, later copies of
// them (a plan copies the two of a secret), and the text that
// is made for it.
func (c *canonicalizer) mark(maps, text int) error {
	return py.MeterOf(c.thread).Alloc(singleBytes*int64(maps) + int64(text))
}

func (c *canonicalizer) list(v starlark.Indexable) (model.Value, error) {
	if err := c.alloc(v.Len()); err != nil {
		return nil, err
	}
	out := make([]any, v.Len())
	for i := range out {
		item, err := c.at(step{index: i}, v.Index(i))
		if err != nil {
			return nil, err
		}
		out[i] = item
	}
	return out, nil
}

func (c *canonicalizer) dict(d *starlark.Dict) (model.Value, error) {
	if err := c.alloc(d.Len() + mapParts); err != nil {
		return nil, err
	}
	out := make(map[string]any, d.Len())
	var err error
	for k, v := range d.Entries() {
		if err = c.entry(out, k, v); err != nil {
			break
		}
	}
	return out, err
}

func (c *canonicalizer) entry(out map[string]any, k, v starlark.Value) error {
	key, err := py.Str(c.thread, k)
	if err != nil {
		return c.errorf("has a key of type %s, which has no text form", py.TypeName(k))
	}
	if !utf8.ValidString(key) {
		return c.errorf("has a key with a lone surrogate, which no encoding can carry")
	}
	if _, taken := out[key]; taken {
		return c.errorf("has two keys whose text is '%s'", key)
	}
	out[key], err = c.at(step{key: key, index: -1}, v)
	return err
}

func (c *canonicalizer) nested(n *nested) (model.Value, error) {
	c.unpaid++
	defer func() { c.unpaid-- }()
	if err := c.alloc(2*len(n.fields) + mapParts); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(n.fields))
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		item, err := c.at(step{key: name, index: -1}, n.fields[name])
		if err != nil {
			return nil, err
		}
		out[name] = item
	}
	return out, nil
}

// transform is the form of a combinator's operands.
func (c *canonicalizer) transform(x *transform) (model.Value, error) {
	c.unpaid++
	defer func() { c.unpaid-- }()
	if err := py.MeterOf(c.thread).Alloc(markerBytes); err != nil {
		return nil, err
	}
	args, err := c.list(x.args)
	if err != nil {
		return nil, err
	}
	return model.Transform{Op: x.op, Args: args.([]any)}.Marker(), nil
}

// set is a list in the order of the elements' JSON texts, non-ASCII escaped (§5.7).
func (c *canonicalizer) set(v starlark.Value) (model.Value, error) {
	elements, err := items(c.thread, v)
	if err != nil {
		return nil, err
	}
	type element struct {
		text  string
		value any
	}
	sorted := make([]element, len(elements))
	for i, e := range elements {
		item, err := c.at(step{index: i}, e)
		if err != nil {
			return nil, err
		}
		encoded, err := model.EncodeJSON(item)
		if err != nil {
			return nil, err
		}
		sorted[i] = element{escapeNonASCII(string(encoded)), item}
	}
	slices.SortStableFunc(sorted, func(a, b element) int { return strings.Compare(a.text, b.text) })
	out := make([]any, len(sorted))
	for i, e := range sorted {
		out[i] = e.value
	}
	return out, nil
}

func (c *canonicalizer) integer(v starlark.Int) (model.Value, error) {
	i, ok := v.Int64()
	if ok && -maxExact <= i && i <= maxExact {
		return i, nil
	}
	shown := "of more than 64 bits"
	if ok {
		shown = strconv.FormatInt(i, 10)
	} else if v.BigInt().BitLen() < 256 {
		shown = v.String()
	}
	return nil, c.errorf("is the integer %s, beyond ±%d, the largest that JSON keeps exactly; pass it as a text", shown, int64(maxExact))
}

func escapeNonASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		}
	}
	return b.String()
}

// fromModel is a symbolic value as the config sees it, in containers of its own.
func fromModel(v model.Value) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case int:
		return starlark.MakeInt(v)
	case float64:
		return starlark.Float(v)
	case string:
		return starlark.String(v)
	case []any:
		out := make([]starlark.Value, len(v))
		for i, item := range v {
			out[i] = fromModel(item)
		}
		return starlark.NewList(out)
	case map[string]any:
		out := starlark.NewDict(len(v))
		for _, k := range sortedKeys(v) {
			_ = out.SetKey(starlark.String(k), fromModel(v[k]))
		}
		return out
	}
	return starlark.None
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
