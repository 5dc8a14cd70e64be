package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// narrator writes for a person: titles, commands with their output, claims that were
// checked, and a line of progress while something takes its time.
type narrator struct {
	w        io.Writer
	terminal bool
	start    time.Time
}

func newNarrator(f *os.File) *narrator {
	return &narrator{w: f, terminal: term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "", start: time.Now()}
}

func (n *narrator) title(number int, text string) {
	fmt.Fprintf(n.w, "\n%s\n", n.bold(fmt.Sprintf("%d. %s", number, text)))
}

func (n *narrator) say(format string, args ...any) { fmt.Fprintf(n.w, format+"\n", args...) }

// holds states a claim that was checked.
func (n *narrator) holds(format string, args ...any) {
	fmt.Fprintf(n.w, "   ✓ "+format+"\n", args...)
}

// command shows what a person would type.
func (n *narrator) command(text string) { fmt.Fprintf(n.w, "   $ %s\n", n.bold(text)) }

// output shows what a command or a file said.
func (n *narrator) output(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(n.w, "     %s\n", strings.TrimRight(line, "\n"))
	}
}

func (n *narrator) elapsed() time.Duration { return time.Since(n.start) }

func (n *narrator) bold(text string) string {
	if !n.terminal {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// during runs work; from two seconds on a line says what it waits for.
func (n *narrator) during(what string, work func() error) error {
	const patience = 2 * time.Second
	begun := time.Now()
	every := 200 * time.Millisecond
	if !n.terminal {
		every = 5 * time.Second
	}
	done := make(chan struct{})
	var ticker sync.WaitGroup
	ticker.Go(func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		for frame := 0; ; frame++ {
			select {
			case <-done:
				if frame > 0 && n.terminal {
					fmt.Fprint(n.w, "\r\x1b[K")
				}
				return
			case <-timer.C:
				n.progress(frame, what, time.Since(begun))
				timer.Reset(every)
			}
		}
	})
	err := work()
	close(done)
	ticker.Wait()
	return err
}

func (n *narrator) progress(frame int, what string, took time.Duration) {
	if !n.terminal {
		fmt.Fprintf(n.w, "   … %s (%.0fs)\n", what, took.Seconds())
		return
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	fmt.Fprintf(n.w, "\r\x1b[K   %c %s (%.0fs)", frames[frame%len(frames)], what, took.Seconds())
}
