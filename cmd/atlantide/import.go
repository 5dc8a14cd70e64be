package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// importCommand takes resources that exist into the state.
type importCommand struct {
	config configFlags
	file   string
	place  stateFlags
	format formatFlags

	node, external, idField string

	dryRun, force, allowDrift, verbose bool
}

func (a *app) newImport() *cobra.Command {
	c := &importCommand{}
	cmd := &cobra.Command{
		Use:   "import [OPTIONS] [NODE_ID] [EXTERNAL_ID]",
		Short: "Record resources that exist and that the config declares",
		Long: "Record resources that exist and that the config declares, as if an apply had made them; they are only read. NODE_ID\n" +
			"is an id or a pattern, EXTERNAL_ID what the provider calls the one resource, where its name alone does not find it.\n" +
			"Without NODE_ID, list what the config declares and the state does not record.",
		Args: arguments(0, "NODE_ID", "EXTERNAL_ID"),

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.imports(cmd, c, args) },
	}
	flags := cmd.Flags()
	c.config.register(cmd)
	flags.StringVarP(&c.file, "config", "c", "", "the `CONFIG` that declares it (default config of "+project.FileName+")")
	c.place.register(cmd)
	flags.StringVar(&c.idField, "id-field", "", "the `FIELD` that EXTERNAL_ID is the value of, if not the type's own")
	flags.BoolVar(&c.dryRun, "dry-run", false, "say what would be imported; takes no lock and writes nothing")
	flags.BoolVar(&c.force, "force", false, "also what is recorded already; its row is written anew")
	flags.BoolVar(&c.allowDrift, "allow-drift", false, "also what is not as the config says; the next apply updates it")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "name what is recorded, and the inputs that could not be checked")
	c.format.registerJSON(cmd)
	return cmd
}

// take reads the arguments.
func (c *importCommand) take(args []string) error {
	for i, to := range []*string{&c.node, &c.external} {
		if i >= len(args) {
			break
		}
		if *to = args[i]; *to == "" {
			return model.Errorf(model.AtlantideError, model.ClassUser, "%s is empty; leave it out, or say which it is", []string{"NODE_ID", "EXTERNAL_ID"}[i])
		}
	}
	if c.idField != "" && c.external == "" {
		return model.Errorf(model.AtlantideError, model.ClassUser, "--id-field says what EXTERNAL_ID is the value of; give EXTERNAL_ID as well")
	}
	return nil
}

func (a *app) imports(cmd *cobra.Command, c *importCommand, args []string) error {
	if err := c.take(args); err != nil {
		return err
	}
	var config []string
	if cmd.Flags().Changed("config") {
		config = []string{c.file}
	}
	w, e, err := a.subject(cmd, &c.config, config)
	if err != nil {
		return err
	}
	defer w.Close()
	return a.importInto(cmd.Context(), c, w, e)
}

func (a *app) importInto(ctx context.Context, c *importCommand, w *workspace, e *evaluated) error {
	told := a.told(c.format.json)
	at, err := a.target(ctx, w.Project, &c.place, told)
	if err != nil {
		return err
	}
	defer at.close()
	if err := a.configure(w.engine, w.Project, at.settings, 0); err != nil {
		return err
	}
	at.banner(told)
	for _, warning := range e.Warnings {
		printWarning(told, warning)
	}
	known, err := session(w.Project, at.given)
	if err != nil {
		return err
	}
	request := engine.ImportRequest{
		Compilation: e.Compilation, Partition: at.Partition, Store: at.Store, Locker: at.Locker, Secrets: known, Recorder: known.Recorder(),
		Node: c.node, ExternalID: c.external, IDField: c.idField, DryRun: c.dryRun, Force: c.force, AllowDrift: c.allowDrift,
	}
	if c.node == "" {
		return a.listImportable(ctx, c, w, at, e, request)
	}
	a.writes = !c.dryRun
	report, failed := w.engine.Import(ctx, request)
	if report == nil {
		return w.Renamed(failed, e.Config)
	}
	i := &imported{ImportReport: report, label: at.Label, document: e.Document, dryRun: c.dryRun, verbose: c.verbose}
	if c.format.json {
		return a.printImport(ctx, i, e.Warnings, failed)
	}
	if _, err := fmt.Fprint(a.out, i.text(a.out)); err != nil {
		return err
	}
	if failed == nil && report.Refused > 0 {
		return silentError(exitError)
	}
	return failed
}

// importableDocument is what import prints as JSON without a resource.
type importableDocument struct {
	SchemaVersion int              `json:"schema_version"`
	OK            bool             `json:"ok"`
	Importable    []importableBody `json:"importable"`
	State         string           `json:"state"`
	Diagnostics   []diagnosticBody `json:"diagnostics,omitempty"`
}

type importableBody struct {
	NodeID        string  `json:"node_id"`
	Type          string  `json:"type"`
	IdentityField *string `json:"identity_field"`
}

// listImportable tells what could be imported.
func (a *app) listImportable(ctx context.Context, c *importCommand, w *workspace, at *target, e *evaluated, request engine.ImportRequest) error {
	snapshot, err := at.load(ctx)
	if err != nil {
		return err
	}
	nodes := w.engine.Importable(request, snapshot)
	if c.format.json {
		document := importableDocument{SchemaVersion: schemaVersion, OK: true, Importable: []importableBody{}, State: at.Label, Diagnostics: diagnosticBodies(e.Warnings)}
		for _, n := range nodes {
			document.Importable = append(document.Importable, importableBody{n.NodeID, n.Type, n.IdentityField})
		}
		return printJSON(a.out, document)
	}
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(a.out, a.out.in(faint, "the state records every resource that the config declares; there is nothing to import"))
		return err
	}
	var text strings.Builder
	for _, n := range nodes {
		text.WriteString("  " + oneLine(n.NodeID))
		if n.IdentityField != nil {
			text.WriteString("  (by its " + oneLine(*n.IdentityField) + ")")
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "\n%d to import\n", len(nodes))
	_, err = fmt.Fprint(a.out, text.String())
	return err
}

// imported is what an import did, and how it is told.
type imported struct {
	*apply.ImportReport

	label           string // of the state
	document        *ir.Document
	dryRun, verbose bool
}

// answers are how the statuses of an import are told.
var answers = map[string]struct {
	sign, text string
	part       plan.Part
	read       bool // the resource was found and compared
	refused    bool
}{
	apply.Imported:       {sign: "+", text: "imported", part: plan.PartCreate, read: true},
	apply.WouldImport:    {sign: "+", text: "would import", part: plan.PartCreate, read: true},
	apply.AlreadyTracked: {sign: "=", text: "tracked", part: plan.PartNoop},
	apply.ImportDrifted:  {sign: "!", text: "drifted", part: plan.PartUpdate, read: true, refused: true},
	apply.NotFound:       {sign: "x", text: "not found", part: plan.PartDelete, refused: true},
	apply.Blocked:        {sign: "x", text: "blocked", part: plan.PartDelete, refused: true},
}

// text tells the answers in the order of the work, and ends with how many there are of
// each outcome (cli.md 7).
func (i *imported) text(s screen) string {
	width, verb := len(answers[apply.NotFound].text), "Imported: "
	if i.dryRun {
		width, verb = len(answers[apply.WouldImport].text), "Would import: "
	}
	var text strings.Builder
	adopted := 0
	for k := range i.Nodes {
		n := &i.Nodes[k]
		answer := answers[n.Status]
		if answer.read && !answer.refused {
			adopted++
		}
		text.WriteString("  " + s.paint(answer.part, fmt.Sprintf("%s %-*s  %s", answer.sign, width, answer.text, oneLine(n.NodeID))))
		if n.ExternalID != nil && n.IdentityField != nil {
			text.WriteString("  " + oneLine(*n.IdentityField+"="+*n.ExternalID))
		}
		text.WriteString(i.about(n) + "\n")
		for _, field := range slices.Sorted(maps.Keys(n.Drift)) {
			text.WriteString(differing(field, n.Drift[field].Config, n.Drift[field].Live))
		}
		if n.Detail != "" {
			text.WriteString("      " + continued(n.Detail) + "\n")
		}
		if i.verbose {
			text.WriteString(named("recorded", n.Recorded) + named("not checked", n.Unobserved))
		}
	}
	fmt.Fprintf(&text, "\n%s%d adopted, %d refused\n", verb, adopted, i.Refused)
	return text.String()
}

// about says how much of a resource its read covered.
func (i *imported) about(n *apply.ImportedNode) string {
	declared := i.document.Node(n.NodeID)
	if declared == nil || !answers[n.Status].read {
		return ""
	}
	return covered(len(declared.Properties)-len(n.Unobserved), len(n.Unobserved))
}

// importDocument is what import prints as JSON (cli.md 8), also where it failed.
type importDocument struct {
	SchemaVersion int          `json:"schema_version"`
	OK            bool         `json:"ok"`
	Error         *failureBody `json:"error,omitempty"`
	apply.ImportReport
	State       string           `json:"state"`
	Diagnostics []diagnosticBody `json:"diagnostics,omitempty"`
}

// printImport prints the document; failed is what ended the import before its end.
func (a *app) printImport(ctx context.Context, i *imported, warnings []model.Diagnostic, failed error) error {
	document := importDocument{
		SchemaVersion: schemaVersion, OK: true, ImportReport: *i.ImportReport, State: i.label, Diagnostics: diagnosticBodies(warnings),
	}
	document.Nodes = slices.Clone(i.Nodes)
	for k := range document.Nodes {
		drift := make(map[string]apply.ImportDrift, len(i.Nodes[k].Drift))
		for field, values := range i.Nodes[k].Drift {
			declared, live, err := encodedPair(values.Config, values.Live)
			if err != nil {
				return err
			}
			drift[field] = apply.ImportDrift{Config: declared, Live: live}
		}
		document.Nodes[k].Drift = drift
	}
	if failed == nil {
		failed = i.refusal()
	}
	if failed != nil {
		body := failure(failed)
		document.OK, document.Error = false, &body.Error
		document.Diagnostics = append(body.Diagnostics, document.Diagnostics...)
	}
	if err := printJSON(a.out, document); err != nil {
		return err
	}
	if failed != nil {
		return failing(ctx)
	}
	return nil
}

// refusal is the error of an import that was refused in part; nil of any other.
func (i *imported) refusal() error {
	if i.Refused == 0 {
		return nil
	}
	err := model.Errorf(model.AtlantideError, model.ClassUser, "%d of %d resource(s) could not be imported; each says why", i.Refused, len(i.Nodes))
	for k := range i.Nodes {
		if n := &i.Nodes[k]; answers[n.Status].refused {
			err.Nodes = append(err.Nodes, n.NodeID)
		}
	}
	return err
}
