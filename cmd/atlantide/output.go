package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// outputCommand prints what the state records of outputs.
type outputCommand struct {
	place  stateFlags
	format formatFlags
	stack  string
	reveal bool

	name string // the output that was asked for; "" = all
}

func (a *app) newOutput() *cobra.Command {
	c := &outputCommand{}
	cmd := &cobra.Command{
		Use:   "output [OPTIONS] [NAME]",
		Short: "Print the recorded outputs, or the bare value of one",
		Long: "Print the outputs that the state records or, with NAME, the bare value of one, ready to be piped. Only the state is\n" +
			"read, so that it works whatever the config looks like.",
		Args: arguments(0, "NAME"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.output(cmd.Context(), c, cmd.Flags(), args)
			if err != nil && strings.EqualFold(c.format.format, formatGitHub) {
				// Beside a result in this form, which goes into a file, an error is for people.
				if unset := cmd.Flags().Set("format", formatText); unset != nil {
					return unset
				}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.place.register(cmd)
	flags.Var(needed{&c.stack}, "stack", "only outputs of the stack `NAME`")
	flags.BoolVarP(&c.reveal, "reveal", "r", false, "print sensitive values as plain text")
	c.format.register(cmd, slices.Concat([]string{formatText, formatJSON}, variableFormats)...)
	return cmd
}

func (a *app) output(ctx context.Context, c *outputCommand, flags *pflag.FlagSet, args []string) error {
	format, err := c.format.chosen(flags)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if c.name = args[0]; c.name == "" {
			return model.Errorf(model.AtlantideError, model.ClassUser, "the name of the output is empty")
		}
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	told := a.err
	if format == formatText && c.name == "" {
		told = a.out
	}
	at, err := a.target(ctx, p, &c.place, told)
	if err != nil {
		return err
	}
	defer at.close()
	if c.name == "" {
		at.banner(told)
	}
	snapshot, err := at.load(ctx)
	if err != nil {
		return err
	}
	keys, err := c.selected(snapshot.Outputs)
	if err != nil {
		return err
	}
	recorded, err := c.values(p, at, snapshot.Outputs, keys)
	if err != nil {
		return err
	}
	switch format {
	case formatText:
		return a.printOutputs(c, recorded, snapshot.Outputs)
	case formatJSON:
		return a.printOutputDocument(c, recorded, at.Label)
	}
	text, err := assignments(format, recorded)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, text)
	return err
}

// selected are the keys that are meant, sorted. An output that is asked for by its name and
// is not there, or is not the only one of it, is an error (cli.md 11).
func (c *outputCommand) selected(outputs map[string]state.Output) ([]string, error) {
	all := slices.Sorted(maps.Keys(outputs))
	if c.name == "" {
		return slices.DeleteFunc(all, func(key string) bool { return c.stack != "" && stackOfOutput(key) != c.stack }), nil
	}
	for _, key := range []string{c.name, c.stack + ":" + c.name} {
		if _, ok := outputs[key]; ok && (c.stack == "" || stackOfOutput(key) == c.stack) {
			return []string{key}, nil
		}
	}
	var found []string
	if c.stack == "" {
		for _, key := range all {
			if nameOfOutput(key) == c.name {
				found = append(found, key)
			}
		}
	}
	switch len(found) {
	case 1:
		return found, nil
	case 0:
		return nil, c.unknown(all)
	}
	return nil, model.Errorf(model.AtlantideError, model.ClassUser, "several stacks have an output '%s': %s; say which with --stack",
		sourcetree.Shown(c.name), model.Listed(found, ", "))
}

// unknown is the error of a name that nothing has.
func (c *outputCommand) unknown(keys []string) error {
	wanted := sourcetree.Shown(c.name)
	if c.stack != "" {
		wanted += "' of the stack '" + sourcetree.Shown(c.stack)
	}
	if len(keys) == 0 {
		return model.Errorf(model.AtlantideError, model.ClassUser, "there is no output '%s': the state records none; apply a config that declares it", wanted)
	}
	err := model.Errorf(model.AtlantideError, model.ClassUser, "there is no output '%s'; there are %s", wanted, model.Listed(keys, ", "))
	names := slices.Clone(keys)
	for _, key := range keys {
		names = append(names, nameOfOutput(key))
	}
	err.Hint = model.DidYouMean(c.name, names)
	return err
}

// The parts of the key of an output.

func stackOfOutput(key string) string { return key[:max(0, strings.LastIndexByte(key, ':'))] }

func nameOfOutput(key string) string { return key[strings.LastIndexByte(key, ':')+1:] }

// recordedOutput is an output as it is shown.
type recordedOutput struct {
	key    string
	value  any
	hidden bool // it is sensitive, and was not to be revealed
}

// values opens what is to be shown. Keys are looked for only where something is sealed.
func (c *outputCommand) values(p *project.Project, at *target, outputs map[string]state.Output, keys []string) ([]recordedOutput, error) {
	shown := make([]recordedOutput, len(keys))
	for i, key := range keys {
		out := outputs[key]
		locked := model.HoldsSealed(out.Value)
		shown[i] = recordedOutput{key: key, value: out.Value, hidden: (out.Sensitive || locked) && !c.reveal}
		switch {
		case shown[i].hidden && c.name != "":
			return nil, model.Errorf(model.SecretsError, model.ClassUser, "the output '%s' is sensitive; it is printed only with --reveal", sourcetree.Shown(key))
		case shown[i].hidden:
			shown[i].value = sensitive
		case locked:
			known, err := session(p, at.given)
			if err != nil {
				return nil, err
			}
			if shown[i].value, err = known.Unseal(out.Value, key, ""); err != nil {
				return nil, model.Errorf(model.SecretsError, model.ClassUser, "the output '%s' cannot be revealed: %w", sourcetree.Shown(key), err)
			}
		}
	}
	return shown, nil
}

// printOutputs prints all of a list, or the bare value of the one that was asked for: what
// reads it gets it as it is.
func (a *app) printOutputs(c *outputCommand, recorded []recordedOutput, all map[string]state.Output) error {
	if c.name != "" {
		text, err := bare(recorded[0].value)
		if err == nil {
			_, err = fmt.Fprintln(a.out, text)
		}
		return err
	}
	if len(recorded) == 0 {
		text := "the state records no outputs"
		if len(all) > 0 {
			text += " of the stack '" + sourcetree.Shown(c.stack) + "', only of others"
		}
		_, err := fmt.Fprintln(a.out, a.out.in(faint, text))
		return err
	}
	var text strings.Builder
	for _, out := range recorded {
		value := sensitive
		if !out.hidden {
			value = oneLine(model.Repr(out.value))
		}
		text.WriteString(oneLine(out.key) + " = " + value + "\n")
	}
	_, err := fmt.Fprint(a.out, text.String())
	return err
}

// bare is a value for other programs: a text as it is, anything else as JSON.
func bare(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	data, err := encoded(v)
	return string(data), err
}

// outputsDocument is what output prints as JSON without a name (cli.md 8).
type outputsDocument struct {
	SchemaVersion int                        `json:"schema_version"`
	OK            bool                       `json:"ok"`
	Outputs       map[string]json.RawMessage `json:"outputs"`
	State         string                     `json:"state"`
}

// outputDocument is what it prints with one.
type outputDocument struct {
	SchemaVersion int             `json:"schema_version"`
	OK            bool            `json:"ok"`
	Name          string          `json:"name"`
	Value         json.RawMessage `json:"value"`
	State         string          `json:"state"`
}

func (a *app) printOutputDocument(c *outputCommand, recorded []recordedOutput, label string) error {
	values := make(map[string]json.RawMessage, len(recorded))
	for _, out := range recorded {
		data, err := encoded(out.value)
		if err != nil {
			return err
		}
		values[out.key] = data
	}
	if c.name != "" {
		key := recorded[0].key
		return printJSON(a.out, outputDocument{SchemaVersion: schemaVersion, OK: true, Name: key, Value: values[key], State: label})
	}
	return printJSON(a.out, outputsDocument{SchemaVersion: schemaVersion, OK: true, Outputs: values, State: label})
}
