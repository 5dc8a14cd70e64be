package stack

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// maxMessage bounds the message of a condition and of an event (operator.md 1.10).
const maxMessage = 1024

// maxSourceLine bounds the part of a config's line that a message shows, in code points.
const maxSourceLine = 160

// describe is the text of an error as a condition shows it: the message with its
// position, then, where the error points into a config, the line and a caret, then the
// first of what failed beside it.
func describe(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return bounded(err.Error())
	}
	text, excerpt := err.Error(), ""
	if e.Line > 0 && e.Source != "" {
		line, column := e.Excerpt(maxSourceLine)
		excerpt = "\n  " + line + "\n  " + strings.Repeat(" ", column) + "^"
		text = e.Error()
		if e.File != "" {
			text = e.File + ": " + text
		}
	}
	others := alsoFailed(e.AlsoFailed)
	if len(excerpt)+len(others) > maxMessage/2 { // the error itself goes before what comes with it
		others = more(len(e.AlsoFailed))
	}
	return cut(text, maxMessage-len(excerpt)-len(others)) + excerpt + others
}

const (
	// maxAlso is how many further failures a message shows.
	maxAlso = 3
	// maxAlsoText bounds the text of one, in bytes.
	maxAlsoText = 120
)

// alsoFailed is the first few of further failures, and how many there are beyond them.
func alsoFailed(list []*model.Error) string {
	var text strings.Builder
	shown := min(len(list), maxAlso)
	for _, e := range list[:shown] {
		text.WriteString("\n- " + cut(e.Error(), maxAlsoText))
	}
	return text.String() + more(len(list)-shown)
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(and %d more)", n)
}

func bounded(text string) string { return cut(text, maxMessage) }

// cut shortens a text to at most limit bytes, at a rune boundary, and says how many
// bytes are missing.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const room = 32 // for the suffix
	end := max(limit-room, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("… (%d bytes more)", len(text)-end)
}

// short is the first 12 hex digits of a digest, for texts that people read.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, digestPrefix)
	return hex[:min(12, len(hex))]
}

const digestPrefix = ir.DigestPrefix
