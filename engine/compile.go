package engine

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lang"
)

// Compile evaluates a config. It is pure: the result depends on its arguments and the
// schemas alone.
func (e *Engine) Compile(ctx context.Context, source Source, options CompileOptions) (*ir.Compilation, error) {
	result, err := lang.Compile(ctx, lang.Source{Filename: source.Filename, Text: source.Text}, lang.Options{
		Schemas: e.Registry.Schemas(),
		Inputs:  options.Inputs,
		Envs:    options.Envs,
		Fuel:    options.Fuel,
		Source:  options.Source,

		MaxNodes: options.MaxNodes,
	})
	if err != nil {
		return nil, err
	}
	return result.Compilation, nil
}
