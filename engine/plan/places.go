package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// side is a value before or after a change; it may be absent.
type side struct {
	value   any
	present bool
}

// places finds where two values differ.
type places struct {
	list    []FieldChange
	omitted int
	aligned int            // cells of tables that were filled, of maxAligned
	tells   func(any) bool // whether a value reads what is never shown; nil = none does
}

// What is deeper or further away than this is one place: a path has to be readable, and
// finding it must not cost more than the value itself.
const (
	maxPlaceDepth  = 32
	maxPlacePath   = 512
	maxParsedBytes = 1 << 20 // of a text that is read as JSON
)

// full: there are as many places as are told apart, and what else differs is counted only.
func (w *places) full() bool { return len(w.list) == maxPlaces }

// add notes a place.
func (w *places) add(f FieldChange) {
	if w.full() {
		w.omitted++
		return
	}
	w.list = append(w.list, f)
}

// leaf notes that a value as a whole is another one. If one side is a secret, neither is
// shown: the other may be the same one in another form.
func (w *places) leaf(path string, before, after side) {
	f := FieldChange{Path: path, Added: !before.present, Removed: !after.present}
	switch {
	case covert(before.value) || covert(after.value):
		f.Sensitive = true
	default:
		f.Old, f.unrecorded = known(before.value)
		f.New, f.Unknown = known(after.value)
		if f.unrecorded && w.tells != nil && w.tells(before.value) {
			f.Sensitive, f.Old, f.New = true, nil, nil
		}
	}
	w.add(f)
}

// covert reports whether v holds what is never shown.
func covert(v any) bool { return model.HoldsSecret(v) || model.HoldsSealed(v) }

// known is nil for a value with a reference in it.
func known(v any) (value any, unknown bool) {
	if len(model.References(v)) > 0 {
		return nil, true
	}
	return v, false
}

// compare notes the places at and below path in which two values differ.
func (w *places) compare(path string, before, after side, depth int) {
	switch {
	case before.present && after.present && ir.Equal(before.value, after.value):
	case w.full():
		w.omitted++
	case depth == maxPlaceDepth, len(path) > maxPlacePath:
		w.leaf(path, before, after)
	case w.objects(path, before, after, depth), w.lists(path, before, after, depth), w.texts(path, before, after, depth):
	default:
		w.leaf(path, before, after)
	}
}

// objects compares key by key. An object that comes or goes as a whole is listed if a
// line cannot show it.
func (w *places) objects(path string, before, after side, depth int) bool {
	old, isOld := object(before)
	now, isNow := object(after)
	if !isOld && !isNow || !isOld && before.present || !isNow && after.present || told(before, after) {
		return false
	}
	keys := slices.Collect(maps.Keys(old))
	for key := range now {
		if _, both := old[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		b, inOld := old[key]
		a, inNow := now[key]
		w.compare(path+member(key), side{b, inOld}, side{a, inNow}, depth+1)
	}
	return true
}

// object is false for a handle, which is one value.
func object(s side) (map[string]any, bool) {
	m, ok := s.value.(map[string]any)
	return m, ok && !model.IsHandle(m) && !isSealed(m)
}

func isSealed(m map[string]any) bool {
	_, ok := m[model.KeySealed]
	return ok && len(m) == 1
}

// told reports whether one side is missing and a line shows the other one whole.
func told(before, after side) bool {
	if before.present && after.present {
		return false
	}
	v := before.value
	if after.present {
		v = after.value
	}
	if model.HasHandle(v) || model.HoldsSealed(v) {
		return false
	}
	switch c := v.(type) {
	case []any:
		return len(c) <= maxShown && fits(v)
	case map[string]any:
		return len(c) <= maxShown && fits(v)
	}
	return true
}

func fits(v any) bool { return utf8.RuneCountInString(repr(v)) <= maxShown }

// member is the step from an object to what it has under a key.
func member(key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r)
	})
	if plain {
		return "." + key
	}
	return "[" + cut(repr(key)) + "]"
}

// lists compares item by item: those that a name identifies by it, others by what stays
// between them.
func (w *places) lists(path string, before, after side, depth int) bool {
	old, isOld := before.value.([]any)
	now, isNow := after.value.([]any)
	if !isOld && !isNow || !isOld && before.present || !isNow && after.present || told(before, after) {
		return false
	}
	if key, ok := identifier(old, now); ok {
		w.named(path, key, old, now, depth)
		return true
	}
	for _, p := range w.align(encoded(old), encoded(now)) {
		var b, a side
		at := p.now
		if p.now < 0 {
			at = p.old
		} else {
			a = side{now[p.now], true}
		}
		if p.old >= 0 {
			b = side{old[p.old], true}
		}
		w.compare(fmt.Sprintf("%s[%d]", path, at), b, a, depth+1)
	}
	return true
}

// identifying are the keys by which the items of a list are told apart, the first that
// all of them have.
var identifying = []string{"Sid", "name", "Name", "key", "Key", "id", "Id"}

// identifier finds a key that every item of two lists has, with another text each.
func identifier(lists ...[]any) (string, bool) {
	for _, key := range identifying {
		if !slices.ContainsFunc(lists, func(items []any) bool { return !distinctBy(key, items) }) {
			return key, true
		}
	}
	return "", false
}

func distinctBy(key string, items []any) bool {
	seen := map[string]bool{}
	for _, item := range items {
		name := nameOf(key, item)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func nameOf(key string, item any) string {
	m, _ := item.(map[string]any)
	name, _ := m[key].(string)
	return name
}

// named compares items of one name; the order of the others is told apart.
func (w *places) named(path, key string, old, now []any, depth int) {
	place := map[string]int{}
	for i, item := range old {
		place[nameOf(key, item)] = i
	}
	step := func(item any) string { return fmt.Sprintf("%s[%s=%s]", path, key, cut(repr(nameOf(key, item)))) }
	kept := make([]bool, len(old))
	var was, is []int // places of the items in both, in either order
	for _, item := range now {
		i, both := place[nameOf(key, item)]
		if !both {
			w.compare(step(item), side{}, side{item, true}, depth+1)
			continue
		}
		kept[i], is = true, append(is, i)
		w.compare(step(item), side{old[i], true}, side{item, true}, depth+1)
	}
	for i, item := range old {
		if kept[i] {
			was = append(was, i)
		} else {
			w.compare(step(item), side{item, true}, side{}, depth+1)
		}
	}
	if !slices.Equal(was, is) {
		names := func(order []int) []any {
			out := make([]any, len(order))
			for k, i := range order {
				out[k] = nameOf(key, old[i])
			}
			return out
		}
		w.add(FieldChange{Path: path, Old: names(was), New: names(is), Reordered: true})
	}
}

// texts compares texts that hold JSON as what they hold, and those of several lines line
// by line.
func (w *places) texts(path string, before, after side, depth int) bool {
	old, isOld := before.value.(string)
	now, isNow := after.value.(string)
	if !isOld || !isNow {
		return false
	}
	if was, ok := parsed(old); ok {
		if is, ok := parsed(now); ok && !ir.Equal(was, is) {
			w.compare(path, side{was, true}, side{is, true}, depth+1)
			return true
		}
	}
	if !strings.Contains(old, "\n") && !strings.Contains(now, "\n") {
		return false
	}
	was, is := strings.Split(old, "\n"), strings.Split(now, "\n")
	for _, p := range w.align(was, is) {
		var b, a side
		at := p.now
		if p.now < 0 {
			at = p.old
		} else {
			a = side{is[p.now], true}
		}
		if p.old >= 0 {
			b = side{was[p.old], true}
		}
		w.leaf(fmt.Sprintf("%s:%d", path, at+1), b, a)
	}
	return true
}

// parsed is the object or list that a text holds as JSON.
func parsed(text string) (any, bool) {
	start := strings.TrimLeft(text, " \t\r\n")
	if len(text) > maxParsedBytes || start == "" || start[0] != '{' && start[0] != '[' {
		return nil, false
	}
	v, err := model.DecodeJSON([]byte(text))
	return v, err == nil
}

// encoded is a text for each item that equal ones share.
func encoded(items []any) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := model.EncodeJSON(item)
		if err != nil {
			text = []byte(repr(item)) // a number that is not finite
		}
		texts[i] = string(text)
	}
	return texts
}
