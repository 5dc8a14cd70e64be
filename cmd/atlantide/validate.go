package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// maxFuel is the most steps that --fuel may allow (cli.md 6).
const maxFuel = 100_000_000

// maxConfigBytes bounds what is read of a config.
const maxConfigBytes = 4 << 20

type validateOptions struct {
	vars []string
	envs []string
	fuel int64
	json bool
}

func newValidate() *cobra.Command {
	o := &validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate CONFIG",
		Short: "Evaluate a config; no state, no provider, no credentials",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil && o.json && !errors.Is(err, context.Canceled) {
				return errors.Join(errReported, printJSON(cmd.OutOrStdout(), failure(err)))
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&o.vars, "var", nil, "an input as `NAME=VALUE`, always text; repeatable, also -var")
	cmd.Flags().StringArrayVarP(&o.envs, "env", "e", nil, "evaluate only this environment; repeatable")
	cmd.Flags().Int64Var(&o.fuel, "fuel", 0, "evaluation steps, 1 to 100000000 (default 5000000)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	return cmd
}

func (o *validateOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("no config: name its file, as in 'atlantide validate infra.py'; this version takes none from atlantide.toml")
	}
	if o.fuel < 0 || o.fuel > maxFuel {
		return fmt.Errorf("--fuel must be from 1 to %d, not %d", maxFuel, o.fuel)
	}
	inputs, err := inputsOf(o.vars)
	if err != nil {
		return err
	}
	text, err := readConfig(args[0])
	if err != nil {
		return err
	}
	project, err := projectFolder()
	if err != nil {
		return err
	}
	tree, err := sourcetree.OpenFolder(project)
	if err != nil {
		return fmt.Errorf("cannot read the project folder: %w", err)
	}
	defer tree.Close()
	e, err := newEngine(project)
	if err != nil {
		return err
	}
	compilation, err := e.Compile(ctx, engine.Source{Filename: args[0], Text: text}, engine.CompileOptions{
		Inputs: inputs, Envs: o.envs, Fuel: o.fuel, Source: tree,
	})
	if err != nil {
		return err
	}
	for _, warning := range compilation.Warnings {
		fmt.Fprintf(stderr, "warning %s\n", printable(warning))
	}
	if o.json {
		return printJSON(stdout, validated(args[0], compilation))
	}
	_, err = fmt.Fprintln(stdout, verdict(args[0], compilation))
	return err
}

// verdict is the line of a config that compiles.
func verdict(config string, c *ir.Compilation) string {
	text := fmt.Sprintf("ok %s — %d resource(s)", config, len(c.Document.Nodes))
	if len(c.EnvsSelected) > 0 {
		text += fmt.Sprintf(", %d environment(s) [%s]", len(c.EnvsSelected), strings.Join(c.EnvsSelected, ", "))
	}
	return text + ", no cycles"
}

type validateDocument struct {
	SchemaVersion int       `json:"schema_version"`
	OK            bool      `json:"ok"`
	Config        string    `json:"config"`
	Resources     int       `json:"resources"`
	Envs          envsOfRun `json:"envs"`
}

type envsOfRun struct {
	Declared []string `json:"declared"`
	Selected []string `json:"selected"`
}

func validated(config string, c *ir.Compilation) validateDocument {
	return validateDocument{
		SchemaVersion: schemaVersion, OK: true, Config: config, Resources: len(c.Document.Nodes),
		Envs: envsOfRun{Declared: append([]string{}, c.EnvsDeclared...), Selected: append([]string{}, c.EnvsSelected...)},
	}
}

// inputsOf reads NAME=VALUE; a later one wins, and a value may hold "=" (cli.md 4).
func inputsOf(vars []string) (map[string]any, error) {
	inputs := make(map[string]any, len(vars))
	for _, v := range vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--var '%s' is not NAME=VALUE", v)
		}
		inputs[name] = value
	}
	return inputs, nil
}

// readConfig reads the text of a config; its error names the path and the reason.
func readConfig(path string) (string, error) {
	// Opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("cannot read the config: %s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the config: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the config: %w", err)
	}
	if len(data) > maxConfigBytes {
		return "", fmt.Errorf("cannot read the config: %s is larger than %d bytes", path, maxConfigBytes)
	}
	return string(data), nil
}

// projectFile marks the folder of a project (cli.md 2).
const projectFile = "atlantide.toml"

// projectFolder is the working directory or the nearest folder above it that has a
// project file; without one it is the working directory.
func projectFolder() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, projectFile)); err == nil && info.Mode().IsRegular() {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return working, nil
		}
	}
}

// newEngine is the engine of the command line.
func newEngine(project string) (*engine.Engine, error) {
	files, err := local.NewProject(project)
	if err != nil {
		return nil, err
	}
	registry, err := providers.NewRegistry(files, random.New(rand.Reader, time.Now), aws.New())
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Registry: registry}, nil
}
