package scrub

import (
	"slices"
	"strings"
)

// view is one way to read values and texts, and the values as they read in it.
type view struct {
	mode   mode
	starts map[string][]entry // by their first grip bytes
	ends   map[string][]entry // by their last
}

// entry is a value as a view reads it. A part belongs to a value, and is none.
type entry struct {
	text string
	part bool
}

func newView(m mode) view {
	return view{mode: m, starts: map[string][]entry{}, ends: map[string][]entry{}}
}

func (v *view) fold(text string) folded { return fold(text, v.mode) }

func (v *view) add(e entry) {
	start, end := e.text[:grip], e.text[len(e.text)-grip:]
	if !slices.Contains(v.starts[start], e) {
		v.starts[start] = append(v.starts[start], e)
		v.ends[end] = append(v.ends[end], e)
	}
}

// find lists where values stand in a text: as far as it goes on as one of them does, or with
// copies where one stands whole.
func (v *view) find(text string, copies bool) []span {
	if len(v.starts) == 0 {
		return nil
	}
	f := v.fold(text)
	work := allowance(len(f.text))
	spans := v.heads(f, copies, &work)
	if !copies {
		spans = append(spans, v.tails(f, &work)...)
	}
	return spans
}

// allowance is how many bytes and entries are compared at most, for a text of so many bytes:
// enough for thousands of values that begin alike, which keys and certificates do.
func allowance(length int) int { return 64*length + 1<<24 }

func (v *view) heads(f folded, copies bool, work *int) []span {
	var spans []span
	for from := 0; from+grip <= len(f.text); from++ {
		run := 0
		for _, e := range v.starts[f.text[from:from+grip]] {
			n := commonStart(e.text, f.text[from:])
			if *work -= n + 1; *work < 0 {
				return append(spans, f.span(from, len(f.text)))
			}
			if !copies || n == len(e.text) && !e.part {
				run = max(run, n)
			}
		}
		if run > 0 {
			spans = append(spans, f.span(from, from+run))
		}
	}
	return spans
}

// tails lists the ends of values that stand behind an ellipsis: of what was cut in its middle.
func (v *view) tails(f folded, work *int) []span {
	var spans []span
	behind := -1 // the latest ellipsis that is grip bytes back
	for to := grip; to <= len(f.text); to++ {
		if at := to - grip; strings.HasSuffix(f.text[:at], "…") || strings.HasSuffix(f.text[:at], "...") {
			behind = at
		}
		if behind < 0 {
			continue
		}
		for _, e := range v.ends[f.text[to-grip:to]] {
			n := commonEnd(e.text, f.text[behind:to])
			if *work -= n + 1; *work < 0 {
				return append(spans, f.span(behind, len(f.text)))
			}
			if n == to-behind {
				spans = append(spans, f.span(behind, to))
			}
		}
	}
	return spans
}

func commonStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// exact are texts that are only found whole: true for those that belong to a part.
type exact struct {
	forms   map[string]bool
	lengths [256][]int // of the forms, the longest first, by their first byte
}

func (x *exact) add(form string, part bool) {
	was, there := x.forms[form]
	x.forms[form] = part && (was || !there)
	lengths := &x.lengths[form[0]]
	if at, has := slices.BinarySearchFunc(*lengths, len(form), func(a, b int) int { return b - a }); !has {
		*lengths = slices.Insert(*lengths, at, len(form))
	}
}

func (x *exact) find(text string, copies bool) []span {
	var spans []span
	for from := range len(text) {
		for _, length := range x.lengths[text[from]] {
			if length > len(text)-from {
				continue
			}
			if part, is := x.forms[text[from:from+length]]; is && (!copies || !part) {
				spans = append(spans, span{from, from + length})
				break
			}
		}
	}
	return spans
}
