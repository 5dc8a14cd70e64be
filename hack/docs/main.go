// Command docs writes docs/resources.md, what a config can declare, from the schemas of
// the providers:
//
//	docs FILE
//
// It owns the form of that page; its content is the schemas' own. Its tests hold the other
// pages to what compiles. It must never know a particular type.
package main

import (
	"fmt"
	"os"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docs FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	page, err := render(schemas())
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// schemas are those of the providers that the programs are built with. They are read
// alone, so that the providers need no folder, clock or randomness.
func schemas() []*model.ProviderSchema {
	return []*model.ProviderSchema{
		local.NewTenants("", local.Quota{}).Schema(),
		random.New(nil, nil).Schema(),
		aws.New().Schema(),
	}
}
