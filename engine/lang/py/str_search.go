package py

import (
	"strings"

	"go.starlark.net/starlark"
)

// cut is the part of s a search with start and end looks at, and the place where it
// begins. ok is false when start lies behind the text's end.
func cut(t *thread, s string, start, end value) (part string, from int64, ok bool, err error) {
	index, err := MeterOf(t).index(s)
	if err != nil {
		return "", 0, false, err
	}
	lo, hi, err := window(start, end, int64(index.n))
	if err != nil || lo > int64(index.n) || lo > hi {
		return "", 0, false, err
	}
	return index.slice(int(lo), int(hi)), lo, true, nil
}

// strFind is find, index and their reverse forms, in code points.
func strFind(name string, search func(s, part string) int, must bool) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("str."+name, []string{"sub", "start?", "end?", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		sub, ok := bound[0].(starlark.String)
		if !ok {
			return nil, TypeErrorf("%s() argument 1 must be str, not %s", name, TypeName(bound[0]))
		}
		part, from, ok, err := cut(t, textOf(recv), bound[1], bound[2])
		if err != nil {
			return nil, err
		}
		if ok {
			if at := search(part, string(sub)); at >= 0 {
				return starlark.MakeInt64(from + int64(countRunes(part[:at]))), nil
			}
		}
		if must {
			return nil, ValueErrorf("substring not found")
		}
		return starlark.MakeInt(-1), nil
	}
}

func strCount(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.count", []string{"sub", "start?", "end?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	sub, ok := bound[0].(starlark.String)
	if !ok {
		return nil, TypeErrorf("count() argument 1 must be str, not %s", TypeName(bound[0]))
	}
	part, _, ok, err := cut(t, textOf(recv), bound[1], bound[2])
	if err != nil || !ok {
		return intZero, err
	}
	return starlark.MakeInt(countText(part, string(sub))), nil
}

// strAffix is startswith and endswith, of one text or any of a tuple.
func strAffix(name string, has func(s, affix string) bool) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("str."+name, []string{"prefix", "start?", "end?", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		affixes, ok := bound[0].(tuple)
		if !ok {
			affixes = tuple{bound[0]}
		}
		part, _, inside, err := cut(t, textOf(recv), bound[1], bound[2])
		if err != nil {
			return nil, err
		}
		for _, a := range affixes {
			s, ok := a.(starlark.String)
			if !ok {
				return nil, TypeErrorf("%s first arg must be str or a tuple of str, not %s", name, TypeName(a))
			}
			if inside && has(part, string(s)) {
				return starlark.True, nil
			}
		}
		return starlark.False, nil
	}
}

func strPartition(name string, search func(s, sep string) int, last bool) methodFunc {
	return func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		texts, err := bindTexts(name, []string{"sep", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		sep := texts[0]
		if sep == "" {
			return nil, ValueErrorf("empty separator")
		}
		s := textOf(recv)
		at := search(s, sep)
		switch {
		case at >= 0:
			return tuple{starlark.String(s[:at]), starlark.String(sep), starlark.String(s[at+len(sep):])}, nil
		case last:
			return tuple{starlark.String(""), starlark.String(""), recv}, nil
		default:
			return tuple{recv, starlark.String(""), starlark.String("")}, nil
		}
	}
}

// strSplit is split and rsplit.
func strSplit(name string, fromRight bool) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("str."+name, []string{"sep?", "maxsplit?"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		most, err := sizeArg(bound[1], -1)
		if err != nil {
			return nil, err
		}
		if most < 0 {
			most = infinite
		}
		s := textOf(recv)
		// A part takes its slot in the list and the header of its text.
		var parts []string
		if bound[0] == nil || bound[0] == starlark.None {
			if err := MeterOf(t).Alloc(min(int64(countFields(s)), satAdd(most, 1)) * partBytes); err != nil {
				return nil, err
			}
			parts = splitSpace(s, most, fromRight)
		} else {
			sep, ok := bound[0].(starlark.String)
			if !ok {
				return nil, TypeErrorf("must be str or None, not %s", TypeName(bound[0]))
			}
			if sep == "" {
				return nil, ValueErrorf("empty separator")
			}
			if err := MeterOf(t).Alloc(min(int64(strings.Count(s, string(sep)))+1, satAdd(most, 1)) * partBytes); err != nil {
				return nil, err
			}
			parts = splitBy(s, string(sep), most, fromRight)
		}
		return textList(parts), nil
	}
}

func textList(parts []string) value {
	elems := make([]value, len(parts))
	for i, p := range parts {
		elems[i] = starlark.String(p)
	}
	return starlark.NewList(elems)
}

func splitBy(s, sep string, most int64, fromRight bool) []string {
	if !fromRight {
		n := -1
		if most < int64(len(s)) {
			n = int(most) + 1
		}
		return strings.SplitN(s, sep, n)
	}
	var parts []string
	for ; most > 0; most-- {
		at := strings.LastIndex(s, sep)
		if at < 0 {
			break
		}
		parts = append(parts, s[at+len(sep):])
		s = s[:at]
	}
	return reverseTexts(append(parts, s))
}

func splitSpace(s string, most int64, fromRight bool) []string {
	parts := []string{}
	if fromRight {
		s = strings.TrimRightFunc(s, isSpace)
		for ; s != "" && most > 0; most-- {
			at := strings.LastIndexFunc(s, isSpace)
			if at < 0 {
				break
			}
			_, n := decode(s[at:])
			parts = append(parts, s[at+n:])
			s = strings.TrimRightFunc(s[:at], isSpace)
		}
		if s != "" {
			parts = append(parts, s)
		}
		return reverseTexts(parts)
	}
	s = strings.TrimLeftFunc(s, isSpace)
	for ; s != "" && most > 0; most-- {
		at := strings.IndexFunc(s, isSpace)
		if at < 0 {
			break
		}
		parts = append(parts, s[:at])
		s = strings.TrimLeftFunc(s[at:], isSpace)
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}

// countFields counts the parts between runs of whitespace.
func countFields(s string) int {
	n, inside := 0, false
	for s != "" {
		r, size := decode(s)
		if space := isSpace(r); !space && !inside {
			n, inside = n+1, true
		} else if space {
			inside = false
		}
		s = s[size:]
	}
	return n
}

func reverseTexts(parts []string) []string {
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return parts
}

func strSplitlines(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.splitlines", []string{"keepends?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	keep := bound[0] != nil && bool(bound[0].Truth())
	s := textOf(recv)
	if err := MeterOf(t).Alloc(int64(countLines(s)) * partBytes); err != nil {
		return nil, err
	}
	var parts []string
	for s != "" {
		at := strings.IndexFunc(s, isLineEnd)
		if at < 0 {
			parts = append(parts, s)
			break
		}
		_, n := decode(s[at:])
		if s[at] == '\r' && at+1 < len(s) && s[at+1] == '\n' {
			n = 2
		}
		line := s[:at]
		if keep {
			line = s[:at+n]
		}
		parts = append(parts, line)
		s = s[at+n:]
	}
	return textList(parts), nil
}

// countLines is how many lines there are, or more: "\r\n" counts for two.
func countLines(s string) int {
	n := 1
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '\n' && c <= '\r', c >= 0x1C && c <= 0x1E, c == 0x85, c == 0xA8 || c == 0xA9:
			n++ // ASCII, or the last byte of one of the others
		}
	}
	return n
}

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1C && r <= 0x1E || r == 0x85 || r == 0x2028 || r == 0x2029
}
