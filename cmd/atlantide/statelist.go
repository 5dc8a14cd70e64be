package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func (a *app) newStateList() *cobra.Command {
	place, format := &stateFlags{}, &formatFlags{}
	cmd := &cobra.Command{
		Use:   "list [OPTIONS]",
		Short: "List what is recorded",
		Long:  "List the nodes that the state records. One that the next plan cannot take for unchanged is DRIFTED.",
		Args:  arguments(0),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.listState(cmd.Context(), place, format.json) },
	}
	cmd.Flags().SortFlags = false
	place.register(cmd)
	format.registerJSON(cmd)
	return cmd
}

// stateListDocument is what state list prints as JSON (cli.md 8).
type stateListDocument struct {
	SchemaVersion int         `json:"schema_version"`
	OK            bool        `json:"ok"`
	State         string      `json:"state"`
	Nodes         []stateNode `json:"nodes"`
}

type stateNode struct {
	NodeID    string   `json:"node_id"`
	Type      string   `json:"type"`
	Provider  string   `json:"provider"`
	Status    string   `json:"status"`
	Drifted   bool     `json:"drifted"`
	DependsOn []string `json:"depends_on"`
}

// driftedStatus stands for the status of a row that matches no hash.
const driftedStatus = "DRIFTED"

func shownStatus(status string, drifted bool) string {
	if drifted {
		return driftedStatus
	}
	return status
}

func (a *app) listState(ctx context.Context, place *stateFlags, asJSON bool) error {
	d, err := a.openState(ctx, place, asJSON)
	if err != nil {
		return err
	}
	defer d.at.close()
	snapshot, err := d.at.load(ctx)
	if err != nil {
		return err
	}
	list := engine.ListState(snapshot)
	if asJSON {
		document := stateListDocument{SchemaVersion: schemaVersion, OK: true, State: d.at.Label, Nodes: []stateNode{}}
		for _, n := range list {
			document.Nodes = append(document.Nodes, stateNode{n.ID, n.Type, n.Provider, n.Status, n.Drifted, append([]string{}, n.Dependencies...)})
		}
		return printJSON(a.out, document)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.out, a.out.in(faint, "the state is empty"))
		return err
	}
	rows := make([][]string, len(list))
	for i, n := range list {
		rows[i] = []string{n.ID, n.Type, shownStatus(n.Status, n.Drifted)}
	}
	return a.table([]string{"NODE", "TYPE", "STATUS"}, rows, func(i int, line string) string {
		if !list[i].Drifted {
			return line
		}
		return strings.TrimSuffix(line, driftedStatus) + a.out.in(note, driftedStatus)
	})
}

// stateShowCommand shows one row.
type stateShowCommand struct {
	place  stateFlags
	format formatFlags
	reveal bool
}

func (a *app) newStateShow() *cobra.Command {
	c := &stateShowCommand{}
	cmd := &cobra.Command{
		Use:   "show [OPTIONS] NODE_ID",
		Short: "Show what is recorded of one node",
		Args:  arguments(1, "NODE_ID"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.showState(cmd.Context(), c, args[0]) },
	}
	cmd.Flags().SortFlags = false
	c.place.register(cmd)
	c.format.registerJSON(cmd)
	cmd.Flags().BoolVarP(&c.reveal, "reveal", "r", false, "print sensitive values as plain text")
	return cmd
}

// stateShowDocument is what state show prints as JSON (cli.md 8).
type stateShowDocument struct {
	SchemaVersion   int      `json:"schema_version"`
	OK              bool     `json:"ok"`
	State           string   `json:"state"`
	NodeID          string   `json:"node_id"`
	Type            string   `json:"type"`
	Provider        string   `json:"provider"`
	ProviderVersion string   `json:"provider_version"`
	Status          string   `json:"status"`
	Drifted         bool     `json:"drifted"`
	PreventDestroy  bool     `json:"prevent_destroy"`
	DependsOn       []string `json:"depends_on"`
	Properties      valueMap `json:"properties"`
	Outputs         valueMap `json:"outputs"`
}

func (a *app) showState(ctx context.Context, c *stateShowCommand, id string) error {
	d, err := a.openState(ctx, &c.place, c.format.json)
	if err != nil {
		return err
	}
	defer d.at.close()
	snapshot, err := d.at.load(ctx)
	if err != nil {
		return err
	}
	row, err := engine.ShowState(snapshot, id)
	if err != nil {
		return err
	}
	e, err := d.engine(a)
	if err != nil {
		return err
	}
	schema := e.Registry.Schemas().Type(row.Type)
	outputs, err := d.outputs(row, schema, c.reveal)
	if err != nil {
		return err
	}
	document := &stateShowDocument{
		SchemaVersion: schemaVersion, OK: true, State: d.at.Label, NodeID: id, Type: row.Type, Provider: row.Provider,
		ProviderVersion: row.ProviderVersion, Status: row.Status, Drifted: row.InputHash == "", PreventDestroy: row.PreventDestroy,
		DependsOn: append([]string{}, row.Dependencies...), Properties: veiled(row.Properties, schema, c.reveal), Outputs: outputs,
	}
	if c.format.json {
		return printJSON(a.out, document)
	}
	_, err = fmt.Fprint(a.out, document.text(a.out))
	return err
}

// outputs are those of a row as they are shown; reveal opens what is sealed.
func (d *stateDesk) outputs(row *state.Row, schema *model.ResourceType, reveal bool) (map[string]any, error) {
	if !reveal {
		return veiled(row.Outputs, schema, false), nil
	}
	known, err := session(d.project, d.at.given)
	if err != nil {
		return nil, err
	}
	opened := make(map[string]any, len(row.Outputs))
	for _, name := range slices.Sorted(maps.Keys(row.Outputs)) {
		if opened[name], err = known.Unseal(row.Outputs[name], row.RowUID, name); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// veiled is fields without those that have something secret in them, as a plan has them: a
// handle or a sealed value at any depth and, unless it is revealed, what the schema calls
// sensitive and was recorded as it is.
func veiled(fields map[string]any, schema *model.ResourceType, reveal bool) map[string]any {
	shown := make(map[string]any, len(fields))
	for name, v := range fields {
		declared := false
		if schema != nil && !reveal && v != nil {
			f := schema.Field(name)
			declared = f != nil && f.Sensitive && !f.FromSource
		}
		if declared || model.HoldsSealed(v) || model.HoldsSecret(v) {
			v = sensitive
		}
		shown[name] = v
	}
	return shown
}

// text is the row as people read it, one field a line.
func (d *stateShowDocument) text(s screen) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "  %-12s%s\n", name, value) }
	b.WriteString(s.in(strong, oneLine(d.NodeID)) + "\n")
	line("type", oneLine(d.Type))
	line("provider", oneLine(strings.TrimSpace(d.Provider+" "+d.ProviderVersion)))
	if d.Drifted {
		line("status", s.in(note, driftedStatus)+" ("+oneLine(d.Status)+", and the next plan cannot take it for unchanged)")
	} else {
		line("status", oneLine(d.Status))
	}
	guard := "none"
	if d.PreventDestroy {
		guard = "prevent_destroy"
	}
	line("guard", guard)
	for i, id := range d.DependsOn {
		name := ""
		if i == 0 {
			name = "depends on"
		}
		line(name, oneLine(id))
	}
	for _, part := range []struct {
		name   string
		fields map[string]any
	}{{"inputs", d.Properties}, {"outputs", d.Outputs}} {
		if len(part.fields) == 0 {
			fmt.Fprintf(&b, "%s: none\n", part.name)
			continue
		}
		fmt.Fprintf(&b, "%s:\n", part.name)
		for _, name := range slices.Sorted(maps.Keys(part.fields)) {
			fmt.Fprintf(&b, "  %s = %s\n", oneLine(name), model.ReprWith(part.fields[name], markerText))
		}
	}
	return b.String()
}

// markerText is how what is no plain value is shown.
func markerText(v model.Value) (string, bool) {
	if v == sensitive {
		return sensitive, true
	}
	if ref, ok := model.AsReference(v); ok {
		return model.Printable(ref.NodeID + "." + ref.Output), true
	}
	if key, ok := model.AsStackOutput(v); ok {
		return model.Printable("output " + key), true
	}
	return "", false
}
