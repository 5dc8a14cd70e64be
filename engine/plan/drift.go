package plan

import (
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Drift compares an approved plan with the one that came out under the lock (PL-20…
// PL-22). A difference is a PlanDriftError that names what is new and what is gone, or,
// where the entries are the same, the nodes whose content is another one.
func Drift(approved, fresh *Plan) error {
	before, err := approved.fingerprint()
	if err != nil {
		return err
	}
	after, err := fresh.fingerprint()
	if err != nil {
		return err
	}
	var parts []string
	if also := missing(after, before); len(also) > 0 {
		parts = append(parts, "now also: "+model.Listed(also, "; "))
	}
	if gone := missing(before, after); len(gone) > 0 {
		parts = append(parts, "no longer: "+model.Listed(gone, "; "))
	}
	if len(parts) == 0 {
		var other []string
		for entry, digest := range before {
			if after[entry] != digest {
				other = append(other, entry)
			}
		}
		slices.Sort(other)
		if len(other) > 0 {
			parts = append(parts, "with other content: "+model.Listed(other, "; "))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return model.Errorf(model.PlanDriftError, model.ClassUser,
		"the plan changed after it was approved: %s; nothing was done, re-run the plan and approve it again", strings.Join(parts, ", "))
}

// fingerprint maps the entry of every pending change to the digest of its content. Plain
// noops, order and payloads are not in it.
func (p *Plan) fingerprint() (map[string]string, error) {
	entries := map[string]string{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.Pending() {
			continue
		}
		content, err := c.digestEntry()
		if err != nil {
			return nil, err
		}
		desired, _ := content["desired"].(string)
		prior, _ := content["prior"].(string)
		entries[c.entry()] = desired + "/" + prior
	}
	return entries, nil
}

// entry is the change in one line: "action id [fields] (known after apply)
// create-before-destroy", with the parts that apply.
func (c *Change) entry() string {
	text := string(c.Action) + " " + printable(c.NodeID)
	if c.StateOnly {
		text = "state-only " + printable(c.NodeID)
	}
	if len(c.ChangedFields) > 0 {
		text += " [" + printable(strings.Join(c.ChangedFields, ", ")) + "]"
	}
	if c.Conditional {
		text += " " + knownLater
	}
	if c.CreateBeforeDestroy {
		text += " create-before-destroy"
	}
	return text
}

// missing lists the entries of a that b lacks, sorted.
func missing(a, b map[string]string) []string {
	var out []string
	for entry := range a {
		if _, ok := b[entry]; !ok {
			out = append(out, entry)
		}
	}
	slices.Sort(out)
	return out
}
