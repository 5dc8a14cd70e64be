package policy

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Names of the built-in policies (PL-14). DenyDestroyAlias is the older name of
// DenyDestroy.
const (
	RequireTags       = "require-tags"
	RequireSecretRefs = "require-secret-refs"
	DenyDestroy       = "deny-destroy-in-protected"
	DenyDestroyAlias  = "deny-destroy-in-prod"
)

func builtins() map[string]Policy {
	return map[string]Policy{
		RequireTags:       requireTags,
		RequireSecretRefs: requireSecretRefs,
		DenyDestroy:       denyDestroy,
		DenyDestroyAlias:  denyDestroy,
	}
}

// Names are the built-in policies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builtins())) }

// fieldTags is the field that makes a type one with tags.
const fieldTags = "tags"

// requireTags wants each of the keys with a value that is not blank or, without keys, at
// least one tag. Tags that only an apply knows may lack anything, and fail.
func requireTags(policy string, params map[string]any) (Check, error) {
	keys, err := names(policy, params, "keys")
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, c *Change) (string, error) {
		value, ok := c.Desired[fieldTags]
		if !ok {
			return "", nil
		}
		tags, isMap := value.(map[string]any)
		switch {
		case model.IsHandle(value):
			return c.NodeID + " has tags that are known only after the apply, so that nobody can tell which", nil
		case !isMap && value != nil:
			return c.NodeID + " has tags that are no mapping of names to values", nil
		case len(keys) == 0 && len(tags) == 0:
			return c.NodeID + " has no tags", nil
		}
		var missing []string
		for _, key := range keys {
			if blank(tags[key]) {
				missing = append(missing, key)
			}
		}
		if len(missing) == 0 {
			return "", nil
		}
		return c.NodeID + " is missing tag(s): " + strings.Join(missing, ", "), nil
	}, nil
}

// blank reports whether nothing can be read: no value, or a text of white space. A handle
// is a value.
func blank(v any) bool {
	text, isText := v.(string)
	return v == nil || isText && strings.TrimSpace(text) == ""
}

// requireSecretRefs refuses a text that is written out where the type declares a
// sensitive input.
func requireSecretRefs(string, map[string]any) (Check, error) {
	return func(_ context.Context, c *Change) (string, error) {
		if c.Schema == nil {
			return "", nil
		}
		var fields []string
		for i := range c.Schema.Fields {
			f := &c.Schema.Fields[i]
			if f.Sensitive && f.Mutability != model.Computed && writtenOut(c.Desired[f.Name]) {
				fields = append(fields, f.Name)
			}
		}
		if len(fields) == 0 {
			return "", nil
		}
		slices.Sort(fields)
		return c.NodeID + " has a secret written out in " + strings.Join(fields, ", ") + "; use a SecretRef", nil
	}, nil
}

// writtenOut reports whether v holds a text that is no part of a handle, at any depth.
func writtenOut(v any) bool {
	found := false
	model.Walk(v, func(v model.Value) bool {
		text, ok := v.(string)
		found = found || ok && text != ""
		return !found && !model.IsHandle(v)
	})
	return found
}

// denyDestroy refuses what takes a node of the stacks away, if only to make it anew.
func denyDestroy(policy string, params map[string]any) (Check, error) {
	stacks, err := names(policy, params, "stacks")
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, c *Change) (string, error) {
		stack := model.StackOf(c.NodeID)
		if c.Action != "delete" && c.Action != "replace" || !slices.Contains(stacks, stack) {
			return "", nil
		}
		return c.NodeID + " would go in a " + c.Action + ", and the stack '" + stack + "' is protected", nil
	}, nil
}
