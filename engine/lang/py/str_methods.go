package py

import (
	"strings"

	"go.starlark.net/starlark"
)

var strMethods = methodTable(nil, map[string]methodFunc{
	"capitalize":   strMap("capitalize", capitalize),
	"casefold":     strMap("casefold", casefold),
	"center":       strPad("center"),
	"count":        strCount,
	"endswith":     strAffix("endswith", strings.HasSuffix),
	"expandtabs":   strExpandtabs,
	"find":         strFind("find", strings.Index, false),
	"index":        strFind("index", strings.Index, true),
	"isalnum":      strTest("isalnum", allRunes(isAlnum)),
	"isalpha":      strTest("isalpha", allRunes(isAlpha)),
	"isascii":      strTest("isascii", isASCII),
	"isdecimal":    strTest("isdecimal", allRunes(isDecimal)),
	"isdigit":      strTest("isdigit", allRunes(isDigitRune)),
	"isidentifier": strTest("isidentifier", isIdentifier),
	"islower":      strTest("islower", isLowerText),
	"isnumeric":    strTest("isnumeric", allRunes(isNumeric)),
	"isprintable":  strTest("isprintable", func(s string) bool { return s == "" || allRunes(isPrintable)(s) }),
	"isspace":      strTest("isspace", allRunes(isSpace)),
	"istitle":      strTest("istitle", isTitleText),
	"isupper":      strTest("isupper", isUpperText),
	"join":         strJoin,
	"ljust":        strPad("ljust"),
	"lower":        strMap("lower", lower),
	"lstrip":       strStrip("lstrip", true, false),
	"partition":    strPartition("partition", strings.Index, false),
	"removeprefix": strRemove("removeprefix", strings.TrimPrefix),
	"removesuffix": strRemove("removesuffix", strings.TrimSuffix),
	"replace":      strReplace,
	"rfind":        strFind("rfind", strings.LastIndex, false),
	"rindex":       strFind("rindex", strings.LastIndex, true),
	"rjust":        strPad("rjust"),
	"rpartition":   strPartition("rpartition", strings.LastIndex, true),
	"rsplit":       strSplit("rsplit", true),
	"rstrip":       strStrip("rstrip", false, true),
	"split":        strSplit("split", false),
	"splitlines":   strSplitlines,
	"startswith":   strAffix("startswith", strings.HasPrefix),
	"strip":        strStrip("strip", true, true),
	"swapcase":     strMap("swapcase", swapcase),
	"title":        strMap("title", title),
	"translate":    strTranslate,
	"upper":        strMap("upper", upper),
	"zfill":        strZfill,
})

func textOf(recv value) string { return string(recv.(starlark.String)) }

// strMap is a method without arguments that gives another text. A case mapping can
// make three code points of one.
func strMap(name string, fn func(string) string) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		if err := noArgs("str."+name, args, kwargs); err != nil {
			return nil, err
		}
		if err := MeterOf(t).Alloc(int64(len(textOf(recv)))); err != nil {
			return nil, err
		}
		mapped := fn(textOf(recv))
		return starlark.String(mapped), MeterOf(t).Alloc(int64(max(0, len(mapped)-len(textOf(recv)))))
	}
}

func strTest(name string, fn func(string) bool) methodFunc {
	return func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		if err := noArgs("str."+name, args, kwargs); err != nil {
			return nil, err
		}
		return starlark.Bool(fn(textOf(recv))), nil
	}
}

// strPad is center, ljust and rjust.
func strPad(name string) methodFunc {
	return func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("str."+name, []string{"width", "fillchar?", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		width, err := widthArg(bound[0])
		if err != nil {
			return nil, err
		}
		fill := " "
		if bound[1] != nil {
			s, ok := bound[1].(starlark.String)
			if !ok || countRunes(string(s)) != 1 {
				return nil, TypeErrorf("The fill character must be exactly one character long")
			}
			fill = string(s)
		}
		s := textOf(recv)
		n := int64(countRunes(s))
		if width <= n {
			return recv, nil
		}
		m := MeterOf(t)
		if err := m.grow(out(width), satAdd(satMul(width-n, int64(len(fill))), int64(len(s)))); err != nil {
			return nil, err
		}
		pad := width - n
		left := int64(0)
		switch name {
		case "center":
			left = pad/2 + pad&width&1
		case "rjust":
			left = pad
		}
		return starlark.String(strings.Repeat(fill, int(left)) + s + strings.Repeat(fill, int(pad-left))), nil
	}
}

func strZfill(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.zfill", []string{"width", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	width, err := widthArg(bound[0])
	if err != nil {
		return nil, err
	}
	s := textOf(recv)
	n := int64(countRunes(s))
	if width <= n {
		return recv, nil
	}
	if err := MeterOf(t).grow(out(width), satAdd(width-n, int64(len(s)))); err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	return starlark.String(sign + strings.Repeat("0", int(width-n)) + s), nil
}

func strExpandtabs(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.expandtabs", []string{"tabsize?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	size, err := sizeArg(bound[0], 8)
	if err != nil {
		return nil, err
	}
	s := textOf(recv)
	size = max(size, 0)
	bytes := satAdd(satMul(int64(strings.Count(s, "\t")), size), int64(len(s)))
	if err := MeterOf(t).grow(bytes/16, bytes); err != nil {
		return nil, err
	}
	var b strings.Builder
	column := int64(0)
	for len(s) > 0 {
		r, n := decode(s)
		switch r {
		case '\t':
			if size > 0 {
				spaces := size - column%size
				b.WriteString(strings.Repeat(" ", int(spaces)))
				column += spaces
			}
		case '\n', '\r':
			b.WriteString(s[:n])
			column = 0
		default:
			b.WriteString(s[:n])
			column++
		}
		s = s[n:]
	}
	return starlark.String(b.String()), nil
}

// strJoin is sep.join(iterable of str).
func strJoin(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.join", []string{"iterable", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	if _, err := stepsOf(t, bound[0]); err != nil {
		return nil, TypeErrorf("can only join an iterable")
	}
	elems, err := drain(t, bound[0])
	if err != nil {
		return nil, err
	}
	sep := textOf(recv)
	parts := make([]string, len(elems))
	total := satMul(int64(len(sep)), int64(len(elems)))
	for i, e := range elems {
		if err := MeterOf(t).tick(); err != nil {
			return nil, err
		}
		s, ok := e.(starlark.String)
		if !ok {
			return nil, TypeErrorf("sequence item %d: expected str instance, %s found", i, TypeName(e))
		}
		parts[i] = string(s)
		total = satAdd(total, int64(len(s)))
	}
	if err := MeterOf(t).grow(out(total), total); err != nil {
		return nil, err
	}
	return starlark.String(strings.Join(parts, sep)), nil
}

func strReplace(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("str.replace", []string{"old", "new", "count?", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	before, after, err := twoTexts("replace", bound[0], bound[1])
	if err != nil {
		return nil, err
	}
	times, err := sizeArg(bound[2], -1)
	if err != nil {
		return nil, err
	}
	s := textOf(recv)
	hits := int64(countText(s, before))
	if times >= 0 {
		hits = min(hits, times)
	}
	total := satAdd(int64(len(s)), satMul(hits, max(int64(len(after))-int64(len(before)), 0)))
	if err := MeterOf(t).grow(out(total), total); err != nil {
		return nil, err
	}
	if before == "" {
		return starlark.String(interleave(s, after, int(hits))), nil
	}
	return starlark.String(strings.Replace(s, before, after, int(hits))), nil
}

// interleave puts between before every code point, and at the end, so many times.
func interleave(s, between string, times int) string {
	var b strings.Builder
	for ; times > 0; times-- {
		b.WriteString(between)
		if s == "" {
			break
		}
		_, n := decode(s)
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

// countText counts what does not overlap; the empty text occurs at every position.
func countText(s, part string) int {
	if part == "" {
		return countRunes(s) + 1
	}
	return strings.Count(s, part)
}

func twoTexts(name string, a, b value) (string, string, error) {
	for i, v := range []value{a, b} {
		if _, ok := v.(starlark.String); !ok {
			return "", "", TypeErrorf("%s() argument %d must be str, not %s", name, i+1, TypeName(v))
		}
	}
	return textOf(a), textOf(b), nil
}

func strRemove(name string, fn func(s, affix string) string) methodFunc {
	return func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		texts, err := bindTexts(name, []string{"affix", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		return starlark.String(fn(textOf(recv), texts[0])), nil
	}
}

func strStrip(name string, left, right bool) methodFunc {
	return func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		bound, err := BindArgs("str."+name, []string{"chars?", "/"}, args, kwargs)
		if err != nil {
			return nil, err
		}
		strip := isSpace
		if bound[0] != nil && bound[0] != starlark.None {
			chars, ok := bound[0].(starlark.String)
			if !ok {
				return nil, TypeErrorf("%s arg must be None or str", name)
			}
			members := map[rune]bool{}
			for _, r := range runesOf(string(chars)) {
				members[r] = true
			}
			strip = func(r rune) bool { return members[r] }
		}
		s := textOf(recv)
		for left && s != "" {
			r, n := decode(s)
			if !strip(r) {
				break
			}
			s = s[n:]
		}
		for right && s != "" {
			r, n := decodeLast(s)
			if !strip(r) {
				break
			}
			s = s[:len(s)-n]
		}
		return starlark.String(s), nil
	}
}
