package py

import (
	"errors"

	"go.starlark.net/starlark"
)

// strMaketrans is str.maketrans: the table that translate takes, from a dict or from two
// texts of one length and a third of what is left out.
func strMaketrans(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.maketrans", []string{"x", "y?", "z?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	if err := m.Reserve(dictBytes); err != nil {
		return nil, err
	}
	table := starlark.NewDict(0)
	if bound[1] == nil {
		return table, mappedFrom(m, table, bound[0])
	}
	texts, err := bindTexts("maketrans", []string{"x", "y", "z?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	from, to := runesOf(texts[0]), runesOf(texts[1])
	if len(from) != len(to) {
		return nil, ValueErrorf("the first two arguments of maketrans() must have equal length")
	}
	for i, r := range from {
		if err := dictSet(m, table, starlark.MakeInt(int(r)), starlark.MakeInt(int(to[i]))); err != nil {
			return nil, err
		}
	}
	for _, r := range runesOf(texts[2]) {
		if err := dictSet(m, table, starlark.MakeInt(int(r)), starlark.None); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// mappedFrom copies a dict, its keys as code points.
func mappedFrom(m *Meter, table *starlark.Dict, x value) error {
	d, ok := x.(*starlark.Dict)
	if !ok {
		return TypeErrorf("the only argument of maketrans() must be a dict, not %s", TypeName(x))
	}
	for k, v := range d.Entries() {
		if s, ok := k.(starlark.String); ok {
			if countRunes(string(s)) != 1 {
				return ValueErrorf("a text key of a translation table must be one character")
			}
			r, _ := decode(string(s))
			k = starlark.MakeInt(int(r))
		} else if _, ok := asInt(k); !ok {
			return TypeErrorf("a key of a translation table must be str or int, not %s", TypeName(k))
		}
		if err := dictSet(m, table, k, v); err != nil {
			return err
		}
	}
	return nil
}

// strTranslate is str.translate: every code point replaced by what the table has for it.
func strTranslate(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.translate", []string{"table", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	s := textOf(recv)
	if err := m.Alloc(int64(len(s))); err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		r, n := decode(s)
		with, err := translated(t, bound[0], r)
		if err != nil {
			return nil, err
		}
		if with == nil {
			b = append(b, s[:n]...)
		} else {
			if err := m.Size(int64(len(b) + len(*with))); err != nil {
				return nil, err
			}
			if err := m.grow(int64(len(*with))/16, int64(len(*with))); err != nil {
				return nil, err
			}
			b = append(b, *with...)
		}
		s = s[n:]
	}
	return starlark.String(b), nil
}

// translated is what the table has for a code point; nil when it has nothing.
func translated(t *thread, table value, r rune) (*string, error) {
	v, err := entryFor(t, table, starlark.MakeInt(int(r)))
	if v == nil || err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return new(string), nil
	case starlark.String:
		text := string(v)
		return &text, nil
	}
	i, ok := asInt(v)
	if !ok {
		return nil, TypeErrorf("a character must be translated to int, None or str, not %s", TypeName(v))
	}
	code, ok := i.Int64()
	if !ok || code < 0 || code > 0x10FFFF {
		return nil, ValueErrorf("a character must be translated to a code point below 0x110000")
	}
	text := string(AppendRune(nil, rune(code)))
	return &text, nil
}

// entryFor is table[key], nil when the table has no such key or index.
func entryFor(t *thread, table, key value) (value, error) {
	if d, ok := table.(*starlark.Dict); ok {
		v, _, err := dictGet(MeterOf(t), d, key)
		return v, err
	}
	v, err := GetItem(t, table, key)
	if e, ok := errors.AsType[*Error](err); ok && e.Name == "IndexError" {
		return nil, nil
	}
	return v, err
}
