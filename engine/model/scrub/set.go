package scrub

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Redacted stands where a value was.
const Redacted = "(redacted)"

// Set are the values that no text may repeat. The zero value has none. It is safe for
// concurrent use, and printing it shows none of its values.
type Set struct {
	mu       sync.RWMutex
	contents func() *contents // fmt follows a pointer, for some verbs, and never a function; nil = none
}

// contents are the values of a set, and where to look for them. Values come often and texts
// seldom: a value waits until there is a text to look through, and is then indexed once.
type contents struct {
	known   map[string]bool
	waiting []string
	views   [3]view // as it is written, unescaped, bare
	whole   exact
}

// Add makes the set hold a value. An empty one is in every text, and is left out.
func (s *Set) Add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contents == nil {
		c := newContents()
		s.contents = func() *contents { return c }
	}
	if c := s.contents(); value != "" && !c.known[value] {
		c.known[value] = true
		c.waiting = append(c.waiting, value)
	}
}

// Scrub takes the values of the set out of a text: whole, as Go, JSON or a terminal's text
// quotes them, once or more, and cut short. A text that holds none comes back as it is, and
// so does one that was scrubbed.
func (s *Set) Scrub(text string) string {
	c, done := s.read()
	defer done()
	for c != nil {
		// What is taken out can make what is left read differently. Each round leaves less
		// that is not Redacted, so there is a last one.
		spans := c.find(text, false)
		if len(spans) == 0 {
			break
		}
		text = without(text, spans)
	}
	return text
}

// Holds reports whether a value of the set stands whole in a text, however it is quoted. It
// is the narrower question: what merely begins as a value does is no copy of it.
func (s *Set) Holds(text string) bool {
	c, done := s.read()
	defer done()
	return c != nil && len(c.find(text, true)) > 0
}

// read gives the contents, all indexed, until done; nil = none.
func (s *Set) read() (c *contents, done func()) {
	s.mu.Lock()
	if s.contents != nil {
		c = s.contents()
		c.settle()
	}
	s.mu.Unlock()
	s.mu.RLock() // what was added in between is not in what is read yet, and waits
	return c, s.mu.RUnlock
}

func newContents() *contents {
	return &contents{
		known: map[string]bool{}, whole: exact{forms: map[string]bool{}},
		views: [3]view{newView(asWritten), newView(unescaped), newView(bare)},
	}
}

const (
	// grip is how many bytes of a value, from its start, are enough to know it by.
	grip = 12
	// A part of a path is told beside the whole where it has minPart bytes, in paths that a
	// system takes at all.
	minPart = 8
	maxPath = 4096
	// maxWhole is how long, in bytes, a value is that is looked for in all its forms although
	// it is not short. Next to nothing is left of one without its backslashes; if it is longer
	// these are so many that they are found as they are written.
	maxWhole = 1024
)

// settle indexes the values that wait.
func (c *contents) settle() {
	for _, value := range c.waiting {
		c.index(value, false)
		if len(value) > maxPath || !strings.Contains(value, "/") {
			continue
		}
		for part := range strings.SplitSeq(value, "/") {
			if len(part) >= minPart {
				c.index(part, true)
			}
		}
	}
	c.waiting = nil
}

func (c *contents) index(value string, part bool) {
	short := len(value) < grip
	for i := range c.views {
		v := &c.views[i]
		form := v.fold(value).text
		if len(form) >= grip {
			v.add(entry{form, part})
		}
		if v.mode == unescaped && len(form) < grip && len(value) <= maxWhole {
			short = true
		}
	}
	if short {
		for _, form := range Forms(value) {
			c.whole.add(form, part)
		}
	}
}

// span is a piece of a text, in bytes.
type span struct{ from, to int }

// find lists where values stand in a text, but for what is within a Redacted: in order, none
// overlapping another, and the Redacted that stand there as well. nil = nowhere. With copies,
// only whole values count.
func (c *contents) find(text string, copies bool) []span {
	found := c.whole.find(text, copies)
	for i := range c.views {
		if c.views[i].mode != bare || !copies {
			found = append(found, c.views[i].find(text, copies)...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	marks := marksIn(text)
	found = slices.DeleteFunc(found, func(s span) bool {
		at, _ := slices.BinarySearchFunc(marks, s.from+1, func(mark span, from int) int { return cmp.Compare(mark.from, from) })
		return at > 0 && s.to <= marks[at-1].to
	})
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		found[i] = onRunes(text, found[i])
	}
	return merged(append(found, marks...))
}

// marksIn lists every Redacted in a text; no two can overlap.
func marksIn(text string) []span {
	var marks []span
	for from := 0; ; {
		at := strings.Index(text[from:], Redacted)
		if at < 0 {
			return marks
		}
		marks = append(marks, span{from + at, from + at + len(Redacted)})
		from += at + len(Redacted)
	}
}

// onRunes is a span that cuts no character in two.
func onRunes(text string, s span) span {
	for n := 1; n < utf8.UTFMax && s.from > 0 && !utf8.RuneStart(text[s.from]); n++ {
		s.from--
	}
	for n := 1; n < utf8.UTFMax && s.to < len(text) && !utf8.RuneStart(text[s.to]); n++ {
		s.to++
	}
	return s
}

// merged are spans in order, with one for those that overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.from < last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// without is a text with Redacted in place of each span.
func without(text string, spans []span) string {
	var out strings.Builder
	from := 0
	for _, s := range spans {
		out.WriteString(text[from:s.from])
		out.WriteString(Redacted)
		from = s.to
	}
	out.WriteString(text[from:])
	return out.String()
}
