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

// Text is the plan as its author reads it, without colour (cli.md 7). Whatever a config or
// a provider put into a value, no control character comes out, and no secret.
func (p *Plan) Text() string { return p.text(shown) }

// PublicText is Text for everybody who may read the place where it is shown: a value
// appears only if its field is declared printable, else a digest stands for it, by which
// a change can be told (operator.md 1.11).
func (p *Plan) PublicText() string { return p.text(veiled) }

// textWriter writes a plan; value shows what is not declared printable.
type textWriter struct {
	*Plan
	strings.Builder
	value func(any) string
}

func (p *Plan) text(value func(any) string) string {
	w := &textWriter{Plan: p, value: value}
	w.writeInputs()
	for _, group := range p.stacks() {
		w.writeStack(group)
	}
	if len(p.Changes) > 0 {
		w.WriteByte('\n')
	}
	fmt.Fprintf(w, "Plan: %s\n", p.Summary())
	w.writeOutputs()
	w.writeVerdicts()
	return w.String()
}

func (w *textWriter) writeInputs() {
	if w.Compilation == nil || len(w.Compilation.Inputs) == 0 {
		return
	}
	var parts []string
	for name, value := range w.Compilation.Inputs {
		parts = append(parts, printable(name)+"="+w.value(value))
	}
	slices.Sort(parts)
	fmt.Fprintf(w, "inputs: %s\n", strings.Join(parts, ", "))
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

func (w *textWriter) writeStack(changes []*Change) {
	stack := printable(model.StackOf(changes[0].NodeID))
	rule := max(3, ruleWidth-utf8.RuneCountInString(stack)-1)
	fmt.Fprintf(w, "%s %s\n", stack, strings.Repeat("─", rule))
	unchanged := 0
	for _, c := range changes {
		if !c.Pending() {
			unchanged++
		}
	}
	for _, c := range changes {
		if c.Pending() || unchanged <= foldAbove {
			w.writeChange(c)
		}
	}
	if unchanged > foldAbove {
		fmt.Fprintf(w, "  = %d unchanged\n", unchanged)
	}
}

func (w *textWriter) writeChange(c *Change) {
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
	fmt.Fprintf(w, "  %s %-7s %s", sign, action, printable(model.ShortID(c.NodeID)))
	if len(tags) > 0 {
		fmt.Fprintf(w, "  [%s]", strings.Join(tags, ", "))
	}
	w.WriteByte('\n')
	w.writeFields(c)
}

func (c *Change) guardText() string {
	recorded, declared, _ := c.guardFlip()
	return fmt.Sprintf("prevent_destroy: %t → %t", recorded, declared)
}

func (w *textWriter) writeFields(c *Change) {
	if c.Action != Update && c.Action != Replace {
		return
	}
	values := recorded(w.Snapshot)
	for _, field := range c.ChangedFields {
		if slices.Contains(c.UpstreamMoved, field) {
			fmt.Fprintf(w, "      %s: %s (same reference, another value than at its last apply)\n", printable(field), w.movedValue(c, field, values))
			continue
		}
		after := c.Desired.Properties[field]
		fmt.Fprintf(w, "      %s: %s → %s\n", printable(field), w.oldValue(c, field, values), w.shownField(c, field, after))
	}
	if _, _, differ := c.guardFlip(); differ {
		fmt.Fprintf(w, "      %s\n", c.guardText())
	}
}

// shownField hides the fields that the type declares sensitive, literals included.
func (w *textWriter) shownField(c *Change, field string, value any) string {
	schema := schemaOf(w.schemas, c.Desired.Type)
	if value != nil && schema != nil && isSensitive(schema, field) {
		return sensitiveText
	}
	if schema != nil && schema.Field(field) != nil && schema.Field(field).Printable {
		return shown(value)
	}
	return w.value(value)
}

// oldValue is what a field was at the last write. Of a reference that is the recorded
// value, as long as its digest proves that it still is.
func (w *textWriter) oldValue(c *Change, field string, values Values) string {
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
	return w.shownField(c, field, old)
}

// movedValue is what a reference gives now that its upstream stays as it is.
func (w *textWriter) movedValue(c *Change, field string, values Values) string {
	value := c.Desired.Properties[field]
	if sensitive(c.Desired, field, w.schemas) {
		return sensitiveText
	}
	if resolved, err := values.Resolve(value); err == nil {
		value = resolved
	}
	return w.shownField(c, field, value)
}

func (w *textWriter) writeOutputs() {
	declared := w.Compilation != nil && len(w.Compilation.Outputs) > 0
	if !declared && len(w.Outputs.Retired) == 0 {
		return
	}
	w.WriteString("\nOutputs:\n")
	if declared {
		for _, o := range w.Compilation.Outputs {
			fmt.Fprintf(w, "  %s = %s\n", printable(o.Key), w.value(o.Value))
		}
	}
	for _, key := range w.Outputs.Retired {
		fmt.Fprintf(w, "  %s is retired\n", printable(key))
	}
}

func (w *textWriter) writeVerdicts() {
	mandatory := 0
	for _, v := range w.Violations {
		verdict := "WARN"
		if v.Level == "mandatory" {
			verdict = "DENY"
			mandatory++
		}
		fmt.Fprintf(w, "policy %s %s: %s\n", verdict, printable(v.Policy), printable(v.Message))
	}
	if mandatory > 0 {
		fmt.Fprintf(w, "%d mandatory policy violation(s) block apply\n", mandatory)
	}
	for _, warning := range w.Warnings {
		fmt.Fprintf(w, "warning %s\n", printable(warning))
	}
}
