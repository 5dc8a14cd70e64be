package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// requireStackOutputs fails a plan in which something to be created or changed reads a
// stack output that nobody committed yet (PL-9). Of a stack that the config itself declares
// no other apply could commit it: there it is a name that does not exist.
func requireStackOutputs(changes []Change, outputs map[string]state.Output, config *ir.Compilation) error {
	var missing []string
	here := declaredOutputs(config)
	var absent, keys []string
	for i := range changes {
		c := &changes[i]
		if !c.Actionable() || c.Desired == nil {
			continue
		}
		for field, value := range c.Desired.Properties {
			for _, key := range stackOutputs(value) {
				if _, ok := outputs[key]; ok {
					continue
				}
				reader := fmt.Sprintf("%s.%s -> '%s'", c.NodeID, field, key)
				if _, declared := here[model.StackOf(key)]; declared {
					absent, keys = append(absent, reader), append(keys, key)
				} else {
					missing = append(missing, reader)
				}
			}
		}
	}
	slices.Sort(missing)
	uncommitted := model.Errorf(model.AtlantideError, model.ClassUser,
		"stack outputs are not committed yet: %s; apply the stack that declares them first", model.Listed(missing, ", "))
	switch {
	case len(absent) == 0 && len(missing) == 0:
		return nil
	case len(absent) == 0:
		return uncommitted
	}
	slices.Sort(absent)
	err := model.Errorf(model.AtlantideError, model.ClassUser,
		"stack outputs do not exist: %s; this config declares %s", model.Listed(absent, ", "), outputsOf(here, keys))
	err.Hint = suggestedOutput(here, keys)
	if len(missing) > 0 {
		err.AlsoFailed = []*model.Error{uncommitted}
	}
	return err
}

// declaredOutputs are the names of the outputs of each stack that a config declares.
func declaredOutputs(c *ir.Compilation) map[string][]string {
	declared := map[string][]string{}
	if c == nil {
		return declared
	}
	for i := range c.Document.Nodes {
		declared[model.StackOf(c.Document.Nodes[i].ID)] = nil
	}
	for _, o := range c.Outputs {
		stack := model.StackOf(o.Key)
		declared[stack] = append(declared[stack], outputName(o.Key))
	}
	return declared
}

// outputName is the part of an output's key behind its stack.
func outputName(key string) string {
	_, name, _ := strings.Cut(key, ":")
	return name
}

// outputsOf lists what the stacks of some keys have: "stack 'a' with the outputs x, y".
func outputsOf(declared map[string][]string, keys []string) string {
	var stacks, parts []string
	for _, key := range keys {
		stacks = append(stacks, model.StackOf(key))
	}
	slices.Sort(stacks)
	for _, stack := range slices.Compact(stacks) {
		names := slices.Clone(declared[stack])
		slices.Sort(names)
		if len(names) == 0 {
			parts = append(parts, fmt.Sprintf("stack '%s' without an output", stack))
			continue
		}
		parts = append(parts, fmt.Sprintf("stack '%s' with the outputs %s", stack, model.Listed(names, ", ")))
	}
	return model.Listed(parts, ", ")
}

// suggestedOutput is the hint for the first key, in order, that another name is near.
func suggestedOutput(declared map[string][]string, keys []string) string {
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if hint := model.DidYouMean(outputName(key), declared[model.StackOf(key)]); hint != "" {
			return hint
		}
	}
	return ""
}

// absentOutputs warn of outputs that read one which their own config's stack lacks: they
// would never be committed, and nothing else would say so.
func absentOutputs(c *ir.Compilation, committed map[string]state.Output) []string {
	here := declaredOutputs(c)
	var warnings []string
	for _, o := range c.Outputs {
		for _, key := range stackOutputs(o.Value) {
			_, known := committed[key]
			if _, declared := here[model.StackOf(key)]; !declared || known || slices.Contains(here[model.StackOf(key)], outputName(key)) {
				continue
			}
			text := fmt.Sprintf("output '%s' reads '%s', which does not exist; this config declares %s", o.Key, key, outputsOf(here, []string{key}))
			if hint := suggestedOutput(here, []string{key}); hint != "" {
				text += "; " + hint
			}
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// stackOutputs lists the keys of the stack outputs that v reads, at any depth.
func stackOutputs(v any) []string {
	var keys []string
	model.Walk(v, func(v model.Value) bool {
		if key, ok := model.AsStackOutput(v); ok {
			keys = append(keys, key)
		}
		return true
	})
	return keys
}
