// Package lang compiles a config: it checks the tree, runs it under a budget and turns
// what it declared into IR, a graph and hashes.
//
// It owns the surface that configs import (stacks, environments, handles, resources,
// policies) and the order in which a stack's defaults, validation and lowering happen
// (lang.md §9–§13). Resource types reach it as data: it must never know a particular
// one, nor a provider, a store, or how its result is planned.
//
// The map: compile.go (the pipeline), run.go (the run and what the lowered tree calls),
// errors.go (positions and Python error names), imports.go (the modules), codemodule.go
// and component.go (modules and classes in the component dialect), sources.go (the files
// that came with the config), registry.go (what a config declared), stack.go, config.go and environment.go, handles.go and
// combinators.go, resource.go, coerce.go and numbers.go, canonical.go (values to IR),
// inline.go (outputs read inside the config) and build.go (the document).
package lang

import (
	"context"
	"io/fs"

	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/lower"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Source is the text of a config.
type Source struct {
	Filename string // shown in errors
	Text     string
}

// Options are all that a config may depend on beside its text.
type Options struct {
	Schemas *model.Schemas // required
	Inputs  map[string]any // model.Values
	Envs    []string       // requested environments; nil = all declared
	Fuel    int64          // steps; 0 = 5,000,000 (lang.md §7.3)
	// Source is the tree of files that came with the config: what its paths name, and
	// its components; nil = none. Only what the config names is read.
	Source fs.FS

	// MaxNodes bounds the declared resources, and the outputs; 0 = 100,000.
	MaxNodes int
	// Limits of one value and of all values, in bytes, and of nested calls; 0 takes
	// the defaults of package py.
	MaxValueBytes, MaxTotalBytes int64
	MaxCallDepth                 int
}

// Result is a config compiled.
type Result struct {
	*ir.Compilation
	Graph *graph.Graph
}

// Compile evaluates a config. Its error is a *model.Error; when the check finds more
// than one violation, the first in source order is the error and the others are in
// AlsoFailed.
//
// A panic anywhere becomes an AtlantideError: no config may end the process.
func Compile(ctx context.Context, src Source, o Options) (res *Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			res, err = nil, model.Errorf(model.AtlantideError, model.ClassUnknown,
				"compiling %s failed inside the compiler: %v; this is a defect of Atlantide, please report it", src.Filename, r)
		}
	}()
	module, err := parse(src, check.Options{Filename: src.Filename})
	if err != nil {
		return nil, err
	}
	meter := py.NewMeter(ctx, py.Limits{
		Fuel:          o.Fuel,
		MaxValueBytes: o.MaxValueBytes,
		MaxTotalBytes: o.MaxTotalBytes,
		MaxCallDepth:  o.MaxCallDepth,
	})
	defer meter.Close()
	ev := newEvaluation(o, meter, src.Filename, module.Lines)
	if err := ev.evaluate(module); err != nil {
		return nil, err
	}
	if err := ev.registry.inlineOutputs(); err != nil {
		return nil, err
	}
	return ev.build()
}

// parse reads and checks.
func parse(src Source, o check.Options) (*syntax.Module, error) {
	module, err := syntax.Parse(src.Filename, src.Text)
	if err != nil {
		return nil, err
	}
	violations := check.Check(module, o)
	if len(violations) == 0 {
		return module, nil
	}
	first := violations[0]
	first.AlsoFailed = append(first.AlsoFailed, violations[1:]...)
	return nil, first
}

// evaluate runs a checked module to its end.
func (ev *evaluation) evaluate(module *syntax.Module) error {
	file := lower.File(module, ev.file, ev.builtins.Has)
	if err := ev.run(file, ev.predeclared(nil)); err != nil {
		return err
	}
	return ev.finish()
}
