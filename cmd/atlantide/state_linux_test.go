package main

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

// Only a yes changes something, and an interrupt of the question does not.
func TestStateCommandsAsk(t *testing.T) {
	d := newDesk(t, project.BackendLocal, "")
	record(t, d.target, d.recorded())
	before := d.load()
	for _, c := range []struct {
		typed string
		done  bool
	}{{"n\n", false}, {"\n", false}, {"yess\n", false}, {"Yes\n", true}} {
		person, program := openTerminal(t)
		prompted, done := asked(t.Context(), program, "state", "rm", statePassword, "--no-backup")
		<-prompted
		if _, err := person.WriteString(c.typed); err != nil {
			t.Fatal(err)
		}
		told := <-done
		if !strings.Contains(told, "Forget 1 node(s)? [y/N]: ") || strings.HasPrefix(told, "0 ") != c.done {
			t.Errorf("%q: %s", c.typed, told)
		}
		if c.done == (d.load().Rows[statePassword] != nil) {
			t.Errorf("%q: rows %v", c.typed, d.load().Rows)
		}
		if !c.done {
			sameState(t, c.typed, before, d.load())
		}
	}
}
