package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is a stream that people may look at. On a terminal it has colours and a width;
// elsewhere lines are left whole for what reads them.
type screen struct {
	io.Writer

	colour bool
	width  int // in characters; 0 = no limit
}

// newScreen looks at a stream once; NO_COLOR and a dumb terminal have no colour.
func newScreen(w io.Writer, getenv func(string) string) screen {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return screen{Writer: w}
	}
	s := screen{Writer: w, colour: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", width: 80}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.width = width
	}
	return s
}

// style is a colour of a terminal.
type style string

const (
	bad   style = "\x1b[1;31m"
	note  style = "\x1b[1;33m"
	good  style = "\x1b[1;32m"
	faint style = "\x1b[2m"

	strong  style = "\x1b[1m"
	added   style = "\x1b[32m"
	changed style = "\x1b[33m"
	removed style = "\x1b[31m"
)

// in is text in a style, where there are colours.
func (s screen) in(as style, text string) string {
	if !s.colour {
		return text
	}
	return string(as) + text + "\x1b[0m"
}

// wrapped is prose with each line broken between words where the width ends.
func (s screen) wrapped(text string) string {
	if s.width == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = s.broken(line)
	}
	return strings.Join(lines, "\n")
}

func (s screen) broken(line string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > s.width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// printable replaces what a terminal would act on: a config may not steer it, nor show
// a text in another order than it stands in.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// continued is a text whose further lines are marked as such: a CI service acts on lines
// that begin with a command of its own, and a config may not write one.
func continued(text string) string {
	return strings.ReplaceAll(printable(text), "\n", "\n  | ")
}

// oneLine is a name as one line has it.
func oneLine(text string) string {
	return strings.NewReplacer("\n", string(utf8.RuneError), "\t", " ").Replace(printable(text))
}
