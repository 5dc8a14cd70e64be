package plan

import (
	"fmt"
	"strings"
)

// Summary counts changes by action. State-only changes are part of Noop.
type Summary struct {
	Create, Update, Replace, Delete, Noop, StateOnly int
}

// Summary counts the changes of the plan.
func (p *Plan) Summary() Summary {
	var s Summary
	for i := range p.Changes {
		switch p.Changes[i].Action {
		case Create:
			s.Create++
		case Update:
			s.Update++
		case Replace:
			s.Replace++
		case Delete:
			s.Delete++
		case Noop:
			s.Noop++
			if p.Changes[i].StateOnly {
				s.StateOnly++
			}
		}
	}
	return s
}

// OneLine is the summary as a status shows it: "+1 ~2 ±0 -0".
func (s Summary) OneLine() string {
	return fmt.Sprintf("+%d ~%d ±%d -%d", s.Create, s.Update, s.Replace, s.Delete)
}

// String is the summary in words, zero parts left out (cli.md 7).
func (s Summary) String() string {
	var parts []string
	for _, part := range []struct {
		count int
		text  string
	}{
		{s.Create, "to add"},
		{s.Update + s.Replace, "to change"},
		{s.Delete, "to destroy"},
		{s.StateOnly, "state-only"},
		{s.Noop - s.StateOnly, "unchanged"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.text))
		}
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}
