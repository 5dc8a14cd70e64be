package plan

import "fmt"

const (
	movedText      = " (same reference, another value than at its last apply)"
	unrecordedText = "(not recorded)"
	reorderedText  = " (another order)"
	// maxLines is how many places of one node are told.
	maxLines = 100
	// leadIn is how many characters of what two texts have in common are shown in front
	// of where they differ.
	leadIn = 12
)

// writePlaces tells each place that differs in a line.
func (w *textWriter) writePlaces(c *Change) {
	fields, omitted := w.Fields(c)
	for i, f := range fields {
		if i == maxLines {
			omitted += len(fields) - i
			break
		}
		fmt.Fprintf(w, "      %s\n", placeText(f))
	}
	if omitted > 0 {
		fmt.Fprintf(w, "      … and %d more\n", omitted)
	}
}

func placeText(f FieldChange) string {
	old, now := near(f.Old, f.New)
	if f.Unknown {
		now = knownLater
	}
	if f.unrecorded {
		old = unrecordedText
	}
	if f.Sensitive {
		old, now = sensitiveText, sensitiveText
		if f.Unknown {
			now = knownLater
		}
	}
	switch {
	case f.Moved:
		return f.Path + ": " + now + movedText
	case f.Reordered:
		return f.Path + ": " + old + " → " + now + reorderedText
	case f.Added:
		return "+ " + f.Path + ": " + now
	case f.Removed:
		return "- " + f.Path + ": " + old
	default:
		return f.Path + ": " + old + " → " + now
	}
}

// near shows two values. Of long texts it shows where they begin to differ.
func near(old, now any) (before, after string) {
	a, isText := old.(string)
	b, isTextToo := now.(string)
	if !isText || !isTextToo || fits(old) && fits(now) {
		return shown(old), shown(now)
	}
	was, is := []rune(a), []rune(b)
	start := 0
	for start < len(was) && start < len(is) && was[start] == is[start] {
		start++
	}
	if start <= leadIn {
		return shown(old), shown(now)
	}
	start -= leadIn
	return shown("…" + string(was[start:])), shown("…" + string(is[start:]))
}
