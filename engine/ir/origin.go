package ir

import (
	"fmt"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Declared is where the config declares a node; the zero Place when that is not known,
// as of a node that came with an artifact.
func (c *Compilation) Declared(id string) model.Place {
	if c == nil || c.Document == nil {
		return model.Place{}
	}
	i := c.Document.index(id)
	if i < 0 || i >= len(c.Origins) {
		return model.Place{}
	}
	return c.Origins[i]
}

// Warn adds a warning, once. The text of one in the config itself leaves the file's name
// out.
func (c *Compilation) Warn(config string, d model.Diagnostic) {
	text := d.Message
	if d.Line > 0 {
		text = fmt.Sprintf("line %d, col %d: %s", d.Line, d.Col, d.Message)
		if d.File != config {
			text = d.File + ", " + text
		}
	}
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	if !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
		c.Diagnostics = append(c.Diagnostics, d)
	}
}

// Located is err, when it concerns nodes and has no position yet, at the declaration of
// the first of them; the declarations of the others are its related places.
func (c *Compilation) Located(err error) error {
	e, ok := err.(*model.Error) //nolint:errorlint // what is wrapped has its place in the text of its wrapper
	if !ok || e.Line > 0 {
		return err
	}
	nodes := e.Nodes
	if len(nodes) == 0 && e.NodeID != "" {
		nodes = []string{e.NodeID}
	}
	located := *e
	located.Related = slices.Clone(e.Related)
	for _, id := range nodes {
		at := c.Declared(id)
		switch {
		case at.Line == 0:
		case located.Line == 0:
			located.File, located.Line, located.Col, located.Source = at.File, at.Line, at.Col, at.Source
		case len(located.Related) < model.MaxRelated:
			located.Related = append(located.Related, model.Related{Place: at, Message: id + " is declared here"})
		}
	}
	return &located
}
