package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const (
	// ruleWidth is how many columns the rule above a stack takes.
	ruleWidth = 72
	// foldAbove is how many unchanged nodes of a stack are still listed one by one.
	foldAbove = 40
)

var signs = map[Action]string{Create: "+", Update: "~", Replace: "±", Delete: "-", Noop: "="}

// Text is the plan as people read it, without colour (cli.md 7). Whatever a config or a
// provider put into a value, no control character comes out, and no secret.
func (p *Plan) Text() string {
	var b strings.Builder
	p.writeInputs(&b)
	for _, group := range p.stacks() {
		p.writeStack(&b, group)
	}
	if len(p.Changes) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Plan: %s\n", p.Summary())
	p.writeOutputs(&b)
	p.writeVerdicts(&b)
	return b.String()
}

func (p *Plan) writeInputs(b *strings.Builder) {
	if p.Compilation == nil || len(p.Compilation.Inputs) == 0 {
		return
	}
	var parts []string
	for name, value := range p.Compilation.Inputs {
		parts = append(parts, printable(name)+"="+shown(value))
	}
	slices.Sort(parts)
	fmt.Fprintf(b, "inputs: %s\n", strings.Join(parts, ", "))
}

// stacks groups the changes by stack, in the order of each stack's first node id.
func (p *Plan) stacks() [][]*Change {
	var groups [][]*Change
	place := map[string]int{}
	for i := range p.Changes {
		c := &p.Changes[i]
		stack := model.StackOf(c.NodeID)
		at, ok := place[stack]
		if !ok {
			at = len(groups)
			place[stack] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

func (p *Plan) writeStack(b *strings.Builder, changes []*Change) {
	stack := printable(model.StackOf(changes[0].NodeID))
	rule := max(3, ruleWidth-utf8.RuneCountInString(stack)-1)
	fmt.Fprintf(b, "%s %s\n", stack, strings.Repeat("─", rule))
	unchanged := 0
	for _, c := range changes {
		if !c.Pending() {
			unchanged++
		}
	}
	for _, c := range changes {
		if c.Pending() || unchanged <= foldAbove {
			p.writeChange(b, c)
		}
	}
	if unchanged > foldAbove {
		fmt.Fprintf(b, "  = %d unchanged\n", unchanged)
	}
}

func (p *Plan) writeChange(b *strings.Builder, c *Change) {
	sign, action := signs[c.Action], string(c.Action)
	var tags []string
	if c.Conditional {
		tags = append(tags, "known after apply")
	}
	if c.CreateBeforeDestroy {
		tags = append(tags, "create before destroy")
	}
	if c.StateOnly {
		sign, action = signs[Update], "state"
		tags = append(tags, c.guardText(), "state only")
	}
	fmt.Fprintf(b, "  %s %-7s %s", sign, action, printable(model.ShortID(c.NodeID)))
	if len(tags) > 0 {
		fmt.Fprintf(b, "  [%s]", strings.Join(tags, ", "))
	}
	b.WriteByte('\n')
	p.writeFields(b, c)
}

func (c *Change) guardText() string {
	recorded, declared, _ := c.guardFlip()
	return fmt.Sprintf("prevent_destroy: %t → %t", recorded, declared)
}

func (p *Plan) writeFields(b *strings.Builder, c *Change) {
	if c.Action != Update && c.Action != Replace {
		return
	}
	values := recorded(p.Snapshot)
	for _, field := range c.ChangedFields {
		if slices.Contains(c.UpstreamMoved, field) {
			fmt.Fprintf(b, "      %s: %s (same reference, another value than at its last apply)\n", printable(field), p.movedValue(c, field, values))
			continue
		}
		after := c.Desired.Properties[field]
		fmt.Fprintf(b, "      %s: %s → %s\n", printable(field), p.oldValue(c, field, values), p.shownField(c, field, after))
	}
	if _, _, differ := c.guardFlip(); differ {
		fmt.Fprintf(b, "      %s\n", c.guardText())
	}
}

// shownField hides the fields that the type declares sensitive, literals included.
func (p *Plan) shownField(c *Change, field string, value any) string {
	schema := schemaOf(p.schemas, c.Desired.Type)
	if value != nil && schema != nil && isSensitive(schema, field) {
		return sensitiveText
	}
	return shown(value)
}

// oldValue is what a field was at the last write. Of a reference that is the recorded
// value, as long as its digest proves that it still is.
func (p *Plan) oldValue(c *Change, field string, values Values) string {
	row := c.Prior
	if c.PendingDestroy != nil {
		row = c.PendingDestroy.Row
	}
	old := row.Properties[field]
	if digest := row.RefDigests[field]; digest != "" {
		if now, _ := digestOf(old, values); now == digest {
			if resolved, err := values.Resolve(old); err == nil {
				old = resolved
			}
		}
	}
	return p.shownField(c, field, old)
}

// movedValue is what a reference gives now that its upstream stays as it is.
func (p *Plan) movedValue(c *Change, field string, values Values) string {
	value := c.Desired.Properties[field]
	if sensitive(c.Desired, field, p.schemas) {
		return sensitiveText
	}
	if resolved, err := values.Resolve(value); err == nil {
		value = resolved
	}
	return p.shownField(c, field, value)
}

func (p *Plan) writeOutputs(b *strings.Builder) {
	declared := p.Compilation != nil && len(p.Compilation.Outputs) > 0
	if !declared && len(p.Outputs.Retired) == 0 {
		return
	}
	b.WriteString("\nOutputs:\n")
	if declared {
		for _, o := range p.Compilation.Outputs {
			fmt.Fprintf(b, "  %s = %s\n", printable(o.Key), shown(o.Value))
		}
	}
	for _, key := range p.Outputs.Retired {
		fmt.Fprintf(b, "  %s is retired\n", printable(key))
	}
}

func (p *Plan) writeVerdicts(b *strings.Builder) {
	mandatory := 0
	for _, v := range p.Violations {
		verdict := "WARN"
		if v.Level == "mandatory" {
			verdict = "DENY"
			mandatory++
		}
		fmt.Fprintf(b, "policy %s %s: %s\n", verdict, printable(v.Policy), printable(v.Message))
	}
	if mandatory > 0 {
		fmt.Fprintf(b, "%d mandatory policy violation(s) block apply\n", mandatory)
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(b, "warning %s\n", printable(warning))
	}
}
