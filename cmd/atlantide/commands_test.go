package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command has the flags that mean something for it, and no other: a destroy
// always halts and replaces nothing, a refresh asks nothing.
func TestFlags(t *testing.T) {
	var told strings.Builder
	var list func(c *cobra.Command)
	list = func(c *cobra.Command) {
		if !c.HasSubCommands() {
			var flags []string
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				name := "--" + f.Name
				if f.Shorthand != "" {
					name += "/-" + f.Shorthand
				}
				flags = append(flags, name)
			})
			fmt.Fprintf(&told, "%s: %s\n", strings.TrimPrefix(c.CommandPath(), "atlantide "), strings.Join(flags, " "))
		}
		for _, below := range c.Commands() {
			list(below)
		}
	}
	list(newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).newRoot())
	golden(t, "no folder", "testdata/commands.txt", told.String())
}
