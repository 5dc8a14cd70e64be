package applytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Config is a stack "s" in declaration order: a node refers to what stands before it.
type Config []Decl

// Decl declares one node. Names are unique, whatever the type.
type Decl struct {
	Name, Type  string
	Key, Value  Expr     // of a Lookup, Key is its query
	After       []string // names
	CreateFirst bool
	Guarded     bool
}

// Expr is a text: a literal, a secret, or an output of another node, with or without a
// prefix.
type Expr struct{ Text, Secret, Of, Output string }

// Nodes are the config as a compiler makes it.
func (c Config) Nodes() []ir.Node {
	ids := map[string]string{}
	nodes := make([]ir.Node, 0, len(c))
	for _, d := range c {
		ids[d.Name] = "s:" + d.Type + ":" + d.Name
		n := ir.Node{
			ID: ids[d.Name], Type: d.Type, Kind: model.KindResource, Provider: "test", ProviderVersion: "1.0.0",
			Properties:          map[string]any{"key": d.Key.value(ids), "value": d.Value.value(ids)},
			CreateBeforeDestroy: d.CreateFirst, PreventDestroy: d.Guarded,
		}
		if d.Type == Lookup {
			n.Kind, n.Properties = model.KindData, map[string]any{"query": d.Key.value(ids)}
		}
		for _, ref := range model.References(n.Properties) {
			n.Dependencies = append(n.Dependencies, ref.NodeID)
		}
		slices.Sort(n.Dependencies)
		n.Dependencies = slices.Compact(n.Dependencies)
		for _, up := range d.After {
			n.DependsOn = append(n.DependsOn, ids[up])
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (e Expr) value(ids map[string]string) any {
	switch {
	case e.Secret != "":
		return model.SecretRef{Name: e.Secret}.Marker()
	case e.Of == "":
		return e.Text
	}
	ref := model.Reference{NodeID: ids[e.Of], Output: e.Output}.Marker()
	if e.Text == "" {
		return ref
	}
	return model.Transform{Op: "concat", Args: []any{e.Text, ref}}.Marker()
}

// Text is the config in Atlas-lang; that of nothing is empty.
func (c Config) Text() string {
	if len(c) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("from atlantide.core import Lifecycle, SecretRef, Stack, concat, output\n" +
		"from atlantide.providers.test import Bucket, Lookup, Thing, Ticket\n\nwith Stack('s', region='eu-north-1'):\n")
	for _, d := range c {
		args := []string{fmt.Sprintf("'%s'", d.Name)}
		if d.Type == Lookup {
			args = append(args, "query="+d.Key.text())
		} else {
			args = append(args, "key="+d.Key.text(), "value="+d.Value.text())
		}
		if len(d.After) > 0 {
			args = append(args, "depends_on=["+strings.Join(d.After, ", ")+"]")
		}
		var rules []string
		if d.CreateFirst {
			rules = append(rules, "create_before_destroy=True")
		}
		if d.Guarded {
			rules = append(rules, "prevent_destroy=True")
		}
		if len(rules) > 0 {
			args = append(args, "lifecycle=Lifecycle("+strings.Join(rules, ", ")+")")
		}
		fmt.Fprintf(&text, "    %s = %s(%s)\n", d.Name, strings.TrimPrefix(d.Type, "test."), strings.Join(args, ", "))
		if d.Type != Lookup {
			fmt.Fprintf(&text, "    output('%s', %s.sum)\n", d.Name, d.Name)
		}
	}
	return text.String()
}

func (e Expr) text() string {
	switch {
	case e.Secret != "":
		return fmt.Sprintf("SecretRef('%s')", e.Secret)
	case e.Of == "":
		return fmt.Sprintf("'%s'", e.Text)
	case e.Text == "":
		return e.Of + "." + e.Output
	}
	return fmt.Sprintf("concat('%s', %s.%s)", e.Text, e.Of, e.Output)
}

// Things is what exists once the config is applied, as Cloud.Things lists it.
func (c Config) Things(secrets map[string]string) map[string]string {
	outputs := map[string]map[string]string{}
	resolved := func(e Expr) string {
		if e.Secret != "" {
			return secrets[e.Secret]
		}
		if e.Of == "" {
			return e.Text
		}
		return e.Text + outputs[e.Of][e.Output]
	}
	things := map[string]string{}
	for _, d := range c {
		key, value := resolved(d.Key), resolved(d.Value)
		if d.Type == Lookup {
			outputs[d.Name] = map[string]string{"answer": Answer(key)}
			continue
		}
		outputs[d.Name] = map[string]string{"id": "id(" + d.Name + ")", "sum": Sum(value)}
		things[d.Name] = key + "=" + value
	}
	return things
}
