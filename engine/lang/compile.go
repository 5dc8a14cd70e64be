// Package lang compiles a config: it checks the tree, runs it under a budget and turns
// what it declared into IR, a graph and hashes.
//
// It owns the surface that configs import (stacks, environments, handles, resources,
// policies) and the order in which a stack's defaults, validation and lowering happen
// (lang.md §9–§13). Resource types reach it as data: it must never know a particular
// one, nor a provider, a store, or how its result is planned.
//
// The map: compile.go (the pipeline), run.go and operators.go (the run and what the lowered tree calls),
// errors.go (Python error names), places.go (positions), hints.go (what was meant),
// imports.go (the modules), codemodule.go
// and component.go (modules and classes in the component dialect), sources.go (the files
// that came with the config), registry.go (what a config declared), stack.go, config.go and environment.go, handles.go and
// combinators.go, resource.go, coerce.go and numbers.go, canonical.go (values to IR),
// inline.go (outputs read inside the config) and build.go (the document).
package lang

import (
	"context"
	"io/fs"
	"slices"

	star "go.starlark.net/syntax"

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
// than one violation, the first in source order is the error and the next ones are in
// AlsoFailed, maxViolations in all.
//
// A panic anywhere becomes an AtlantideError: no config may end the process.
func Compile(ctx context.Context, src Source, o Options) (res *Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			res, err = nil, model.Errorf(model.AtlantideError, model.ClassUnknown,
				"compiling %s failed inside the compiler: %v; this is a defect of Atlantide, please report it", src.Filename, r)
		}
	}()
	meter := py.NewMeter(ctx, py.Limits{
		Fuel:          o.Fuel,
		MaxValueBytes: o.MaxValueBytes,
		MaxTotalBytes: o.MaxTotalBytes,
		MaxCallDepth:  o.MaxCallDepth,
	})
	defer meter.Close()
	if err := maySource(meter, src.Text); err != nil {
		return nil, err
	}
	module, err := parse(src, check.Options{Filename: src.Filename})
	if err != nil {
		return nil, err
	}
	ev := newEvaluation(o, meter, src.Filename, module.Lines)
	if err := ev.evaluate(module); err != nil {
		return nil, err
	}
	if err := ev.registry.inlineOutputs(); err != nil {
		return nil, ev.atOutputs(err)
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
	first, others := violations[0], violations[1:]
	if len(violations) > maxViolations {
		left := languageErrorf("%d more are not shown; mend the first ones and check again", len(violations)-maxViolations)
		left.File = src.Filename
		others = append(slices.Clip(violations[1:maxViolations]), left)
	}
	first.AlsoFailed = append(first.AlsoFailed, others...)
	return nil, first
}

// maxViolations bounds how many violations of the subset one error reports.
const maxViolations = 20

// sourceShare is the part of the memory that one file may come to: reading a byte of it
// takes up to twice as many.
const sourceShare = 256

// maySource refuses a text that would take more memory to read than there is.
func maySource(m *py.Meter, text string) error {
	if most := m.Limit() / sourceShare; int64(len(text)) > most {
		return languageErrorf("the config is larger than %d bytes, what its memory limit allows; split it into several", most)
	}
	return nil
}

// lowered is a checked module in the form that runs, paid for.
func (ev *evaluation) lowered(module *syntax.Module, file string) (*star.File, error) {
	limit := ev.meter.Room() / lower.NodeBytes
	lowered, nodes, ok := lower.File(module, file, ev.builtins.Has, int(limit))
	if !ok {
		return nil, model.Errorf(model.FuelExhaustedError, model.ClassUser,
			"%s takes more memory to run than the evaluation has left; split it into several, or write less of it out", file)
	}
	return lowered, ev.meter.Reserve(int64(nodes) * lower.NodeBytes)
}

// evaluate runs a checked module to its end.
func (ev *evaluation) evaluate(module *syntax.Module) error {
	file, err := ev.lowered(module, ev.file)
	if err != nil {
		return err
	}
	if err := ev.run(file, ev.predeclared(nil)); err != nil {
		return err
	}
	return ev.finish()
}
