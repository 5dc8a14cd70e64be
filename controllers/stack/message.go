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
// position, then, where the error points into a config, the line and a caret.
func describe(err error) string {
	var e *model.Error
	if !errors.As(err, &e) || e.Line == 0 || e.Source == "" {
		return bounded(err.Error())
	}
	line, column := e.Excerpt(maxSourceLine)
	excerpt := "\n  " + line + "\n  " + strings.Repeat(" ", column) + "^"
	text := e.Error()
	if e.File != "" {
		text = e.File + ": " + text
	}
	return cut(text, maxMessage-len(excerpt)) + excerpt
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
