package engine

import (
	"context"
	"io/fs"

	"github.com/atlantide-org/atlantide-operator/engine/components"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/lang"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
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

		MaxNodes:      options.MaxNodes,
		MaxTotalBytes: options.Memory,
	})
	if err != nil {
		return nil, err
	}
	for _, d := range policy.Lint(result.Policies, e.Registry.Schemas()) {
		result.Warn(source.Filename, d)
	}
	return result.Compilation, nil
}

// CheckComponents holds the vendored components of a project to its lock file, both
// found in the project's tree; whoever evaluates a config of a folder does so before
// (cli.md 14). It returns the compiled caches in the trees that matched: no hash covers
// them, so whoever may write to the project removes them.
func CheckComponents(ctx context.Context, project fs.FS) (caches []string, err error) {
	return components.Check(ctx, project, components.Limits{})
}

// ComponentPins are the commits that a project's lock pins its components to, by alias:
// what BuildOptions take. Without a lock there are none.
func ComponentPins(project fs.FS) (map[string]string, error) {
	lock, err := components.ReadLock(project)
	if err != nil {
		return nil, err
	}
	pins := make(map[string]string, len(lock))
	for alias, pin := range lock {
		pins[alias] = pin.Commit
	}
	return pins, nil
}
