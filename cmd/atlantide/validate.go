package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
)

func (a *app) newValidate() *cobra.Command {
	config, format := &configFlags{}, &formatFlags{}
	cmd := &cobra.Command{
		Use:   "validate [OPTIONS] [CONFIG]",
		Short: "Evaluate a config; no state, no provider, no credentials",
		Long: "Evaluate a config, or the one that " + project.FileName + " names, with every environment that it declares.\n" +
			"Reads no state, asks no provider, needs no credentials.",
		Args: arguments(0, "CONFIG"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, err := format.chosen(cmd.Flags())
			if err != nil {
				return err
			}
			given, err := argument(args)
			if err != nil {
				return err
			}
			w, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer w.Close()
			if _, err := session(w.Project, ""); err != nil {
				return err // the settings are wrong; no secret is looked up
			}
			result, err := w.evaluate(cmd.Context(), config, cmd.Flags(), given)
			if err != nil {
				return err
			}
			return a.printValid(form, result)
		},
	}
	config.register(cmd)
	format.register(cmd, formatText, formatJSON, formatGitHub, formatSARIF)
	return cmd
}

func (a *app) printValid(form string, e *evaluated) error {
	switch form {
	case formatJSON:
		for _, warning := range e.Warnings {
			printWarning(a.err, warning)
		}
		return printJSON(a.out, validated(e))
	case formatSARIF:
		return printSARIF(a.out, here(), e.Warnings, true)
	case formatGitHub:
		if err := printGitHub(a.out, here(), e.Warnings); err != nil {
			return err
		}
	default:
		for _, warning := range e.Warnings {
			printWarning(a.out, warning)
		}
	}
	return a.out.verdict("ok", valid(e))
}

// valid is the line of a config that compiles.
func valid(e *evaluated) string {
	text := fmt.Sprintf("%s — %d resource(s)", oneLine(e.Config), len(e.Document.Nodes))
	if len(e.EnvsSelected) > 0 {
		text += fmt.Sprintf(", %d environment(s) [%s]", len(e.EnvsSelected), strings.Join(e.EnvsSelected, ", "))
	}
	return text + ", no cycles"
}

type validateDocument struct {
	SchemaVersion int              `json:"schema_version"`
	OK            bool             `json:"ok"`
	Config        string           `json:"config"`
	Resources     int              `json:"resources"`
	Envs          envsOfRun        `json:"envs"`
	Diagnostics   []diagnosticBody `json:"diagnostics,omitempty"`
}

type envsOfRun struct {
	Declared []string `json:"declared"`
	Selected []string `json:"selected"`
}

func newEnvsOfRun(declared, selected []string) envsOfRun {
	return envsOfRun{Declared: append([]string{}, declared...), Selected: append([]string{}, selected...)}
}

func validated(e *evaluated) validateDocument {
	return validateDocument{
		SchemaVersion: schemaVersion, OK: true, Config: e.Config, Resources: len(e.Document.Nodes),
		Envs:        newEnvsOfRun(e.EnvsDeclared, e.EnvsSelected),
		Diagnostics: diagnosticBodies(e.Warnings),
	}
}
