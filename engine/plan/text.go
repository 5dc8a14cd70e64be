package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
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
func (p *Plan) Text() string { return p.TextWith(TextOptions{}) }

// TextWith is Text as the options want it.
func (p *Plan) TextWith(options TextOptions) string { return p.text(shown, options) }

// PublicText is Text for everybody who may read the place where it is shown: a value
// appears only if its field is declared printable, else a digest stands for it, by which
// a change can be told (operator.md 1.11).
func (p *Plan) PublicText() string { return p.text(veiled, TextOptions{}) }

// TextOptions say how much a text tells, and how its parts stand out.
type TextOptions struct {
	Detail        Detail
	ShowUnchanged bool // every unchanged node, however many there are
	// Paint puts a part of the text into a style; nil = none. It keeps the characters.
	Paint func(part Part, text string) string
}

// Detail is how the fields of a change are told (cli.md 22).
type Detail string

const (
	DetailShort Detail = "short" // a line a field; it is the default
	DetailFull  Detail = "full"  // a line for each place that differs in a value
	DetailNone  Detail = "none"  // not at all
)

// Part of a text.
type Part string

// The parts of a text that may stand out: rows by what happens to the node, and the rest.
const (
	PartCreate       = Part(Create)
	PartUpdate       = Part(Update) // state-only changes as well
	PartReplace      = Part(Replace)
	PartDelete       = Part(Delete)
	PartNoop         = Part(Noop)
	PartStack   Part = "stack"
	PartDenied  Part = "denied"
	PartWarning Part = "warning"
)

// textWriter writes a plan; value shows what is not declared printable.
type textWriter struct {
	*Plan
	strings.Builder
	TextOptions

	value func(any) string
}

func (w *textWriter) painted(part Part, text string) string {
	if w.Paint == nil {
		return text
	}
	return w.Paint(part, text)
}

func (p *Plan) text(value func(any) string, options TextOptions) string {
	w := &textWriter{Plan: p, TextOptions: options, value: value}
	w.writeInputs()
	w.writeNarrowing()
	w.writeMoves()
	groups, leftOut := p.stacks()
	for _, group := range groups {
		w.writeStack(group)
	}
	if len(groups) > 0 {
		w.WriteByte('\n')
	}
	summary := p.Summary()
	summary.Noop -= leftOut
	fmt.Fprintf(w, "Plan: %s\n", summary)
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

// writeNarrowing says what is left out, and of a whole plan nothing (T-091, T-096e).
func (w *textWriter) writeNarrowing() {
	if len(w.Excluded) > 0 {
		fmt.Fprintf(w, "envs: %s (of %s) — %s is not planned and will not change\n",
			named(w.Compilation.EnvsSelected), named(w.Compilation.EnvsDeclared), named(w.Excluded))
	}
	if len(w.Targets) == 0 && len(w.Replace) == 0 {
		return
	}
	pending := 0
	for i := range w.Changes {
		if w.Changes[i].Pending() {
			pending++
		}
	}
	if len(w.Targets) > 0 {
		fmt.Fprintf(w, "targeting %d change(s) across %d resource(s) — a subset, by %s; nothing else is planned", pending, w.selected, named(w.Targets))
	} else {
		fmt.Fprintf(w, "planning %d change(s) across %d resource(s)", pending, w.selected)
	}
	forced, idle := w.replacing()
	if len(forced) > 0 {
		fmt.Fprintf(w, " — %s is replaced on demand", named(forced))
	}
	if len(idle) > 0 {
		fmt.Fprintf(w, " — %s is outside of it and not replaced", named(idle))
	}
	w.WriteByte('\n')
}

// writeMoves says what an alias is still needed for: a run without anything else to do does
// not record the new id (T-058).
func (w *textWriter) writeMoves() {
	if w.Moves == nil {
		return
	}
	pairs := make([]string, 0, len(w.Moves.From))
	for _, from := range slices.Sorted(maps.Keys(w.Moves.From)) {
		pairs = append(pairs, from+" is now "+w.Moves.From[from])
	}
	fmt.Fprintf(w, "renamed: %s — keep the alias until a run with something to do records it\n", printable(model.Listed(pairs, ", ")))
}

// replacing tells the patterns of --replace that match something of the plan from those
// that match only what it leaves out.
func (p *Plan) replacing() (forced, idle []string) {
	var ids []string
	for i := range p.Changes {
		if c := &p.Changes[i]; !c.leftOut() {
			ids = append(ids, c.NodeID)
		}
	}
	slices.Sort(ids)
	for _, pattern := range p.Replace {
		if _, err := graph.Select([]string{pattern}, ids); err != nil {
			idle = append(idle, pattern)
		} else {
			forced = append(forced, pattern)
		}
	}
	return forced, idle
}

func named(names []string) string { return printable(strings.Join(names, ", ")) }

// leftOut reports whether the change is of a node that the run may not act on (DF-18).
func (c *Change) leftOut() bool {
	return c.Action == Noop && c.Desired == nil && c.Prior == nil && c.PendingDestroy == nil
}

// stacks groups the changes by stack, in the order of each stack's first node id; what the
// run leaves out is only counted.
func (p *Plan) stacks() (groups [][]*Change, leftOut int) {
	place := map[string]int{}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.leftOut() {
			leftOut++
			continue
		}
		stack := model.StackOf(c.NodeID)
		at, ok := place[stack]
		if !ok {
			at = len(groups)
			place[stack] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups, leftOut
}

// StackRule is the line above what is told of a stack.
func StackRule(stack string) string {
	stack = printable(stack)
	return stack + " " + strings.Repeat("─", max(3, ruleWidth-utf8.RuneCountInString(stack)-1))
}

func (w *textWriter) writeStack(changes []*Change) {
	fmt.Fprintln(w, w.painted(PartStack, StackRule(model.StackOf(changes[0].NodeID))))
	unchanged := 0
	for _, c := range changes {
		if !c.Pending() {
			unchanged++
		}
	}
	fold := unchanged > foldAbove && !w.ShowUnchanged
	for _, c := range changes {
		if c.Pending() || !fold {
			w.writeChange(c)
		}
	}
	if fold {
		fmt.Fprintf(w, "  %s\n", w.painted(PartNoop, fmt.Sprintf("= %d unchanged", unchanged)))
	}
}

func (w *textWriter) writeChange(c *Change) {
	sign, action, part := signs[c.Action], string(c.Action), Part(c.Action)
	var tags []string
	if c.Conditional {
		tags = append(tags, "known after apply")
	}
	if c.CreateBeforeDestroy {
		tags = append(tags, "create before destroy")
	}
	if w.SecretsSkipped && c.unchecked() {
		tags = append(tags, "secret not checked")
	}
	if c.StateOnly {
		sign, action, part = signs[Update], "state", PartUpdate
		tags = append(tags, c.guardText(), "state only")
	}
	fmt.Fprintf(w, "  %s", w.painted(part, fmt.Sprintf("%s %-7s %s", sign, action, printable(model.ShortID(c.NodeID)))))
	if len(tags) > 0 {
		fmt.Fprintf(w, "  [%s]", strings.Join(tags, ", "))
	}
	w.WriteByte('\n')
	w.writeFields(c)
}

// unchecked reports whether the node would be looked at with the help of a secret or of a key.
func (c *Change) unchecked() bool {
	if c.Desired == nil {
		return false
	}
	if model.HoldsSecret(c.Desired.Properties) {
		return true
	}
	if c.Prior != nil {
		for _, digest := range c.Prior.RefDigests {
			if strings.HasPrefix(digest, saltedPrefix) {
				return true
			}
		}
	}
	return false
}

func (c *Change) guardText() string {
	recorded, declared, _ := c.guardFlip()
	return fmt.Sprintf("prevent_destroy: %t → %t", recorded, declared)
}

func (w *textWriter) writeFields(c *Change) {
	if c.Action != Update && c.Action != Replace || w.Detail == DetailNone {
		return
	}
	if w.Detail == DetailFull {
		w.writePlaces(c)
	} else {
		w.writeShort(c)
	}
	if _, _, differ := c.guardFlip(); differ {
		fmt.Fprintf(w, "      %s\n", c.guardText())
	}
}

// writeShort tells each field in one line.
func (w *textWriter) writeShort(c *Change) {
	values := recorded(w.Snapshot, nil) // what lies sealed is not shown
	for _, field := range c.ChangedFields {
		if slices.Contains(c.UpstreamMoved, field) {
			text := sensitiveText
			if value, hidden := w.movedValue(c, field, values); !hidden {
				text = w.shownField(c, field, value)
			}
			fmt.Fprintf(w, "      %s: %s%s\n", printable(field), text, movedText)
			continue
		}
		before, after := w.oldSide(c, field, values), w.newSide(c, field)
		old, now := w.shownField(c, field, before), w.shownField(c, field, after)
		switch {
		case covert(after) && before != nil, w.tellsSecret(before):
			old = sensitiveText // it may be the same secret, written out
		case len(model.References(before)) > 0:
			old = unrecordedText
		}
		fmt.Fprintf(w, "      %s: %s → %s\n", printable(field), old, now)
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

func (w *textWriter) writeOutputs() {
	outputs := w.shownOutputs()
	if len(outputs) == 0 && len(w.Outputs.Retired) == 0 {
		return
	}
	w.WriteString("\nOutputs:\n")
	for _, o := range outputs {
		fmt.Fprintf(w, "  %s = %s\n", printable(o.Key), w.value(o.Value))
	}
	for _, key := range w.Outputs.Retired {
		fmt.Fprintf(w, "  %s is retired\n", printable(key))
	}
	if keys := slices.Sorted(maps.Keys(w.Outputs.Set)); len(keys) > 0 && !w.HasPending() {
		fmt.Fprintf(w, "An apply records %s, which differ from what is committed.\n", printable(model.Listed(keys, ", ")))
	}
}

// shownOutputs are the declared outputs, of a subset those that it commits, and of the
// stacks that it reaches those that are committed: another one belongs to what is left out.
func (p *Plan) shownOutputs() []ir.Output {
	switch {
	case p.Compilation == nil:
		return nil
	case len(p.Targets) == 0:
		return p.Compilation.Outputs
	}
	reached := map[string]bool{}
	for i := range p.Changes {
		if c := &p.Changes[i]; !c.leftOut() {
			reached[model.StackOf(c.NodeID)] = true
		}
	}
	var outputs []ir.Output
	for _, o := range p.Compilation.Outputs {
		_, set := p.Outputs.Set[o.Key]
		if _, committed := p.Snapshot.Outputs[o.Key]; set || committed && reached[model.StackOf(o.Key)] {
			outputs = append(outputs, o)
		}
	}
	return outputs
}

func (w *textWriter) writeVerdicts() {
	mandatory := 0
	if len(w.Violations) > 0 || len(w.Warnings) > 0 {
		w.WriteByte('\n')
	}
	for _, v := range w.Violations {
		verdict, part := "WARN", PartWarning
		if v.Level == LevelMandatory {
			verdict, part = "DENY", PartDenied
			mandatory++
		}
		fmt.Fprintf(w, "%s %s: %s\n", w.painted(part, "policy "+verdict), printable(v.Policy), printable(v.Message))
	}
	if mandatory > 0 {
		fmt.Fprintln(w, w.painted(PartDenied, fmt.Sprintf("%d mandatory policy violation(s) block apply", mandatory)))
	}
	for _, warning := range w.Warnings {
		fmt.Fprintf(w, "%s %s\n", w.painted(PartWarning, "warning:"), printable(warning))
	}
}
