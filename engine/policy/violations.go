package policy

import "fmt"

// MaxViolations bounds how many violations of a plan are listed one by one; how many more
// there are is said once a level, so that no level is lost.
const MaxViolations = 10_000

type violations struct {
	listed []Violation
	first  map[string]Violation // level → the first one that is not listed
	more   map[string]int
}

func (v *violations) add(found Violation) {
	if len(v.listed) < MaxViolations {
		v.listed = append(v.listed, found)
		return
	}
	if v.first == nil {
		v.first, v.more = map[string]Violation{}, map[string]int{}
	}
	if v.more[found.Level]++; v.more[found.Level] == 1 {
		v.first[found.Level] = found
	}
}

func (v *violations) list() []Violation {
	out := v.listed
	for _, level := range []string{Mandatory, Advisory} {
		if last, ok := v.first[level]; ok {
			if n := v.more[level] - 1; n > 0 {
				last.Message += fmt.Sprintf(" (and %d more %s violations, which are not listed)", n, level)
			}
			out = append(out, last)
		}
	}
	return out
}
