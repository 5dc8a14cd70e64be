package lang

import (
	"fmt"
	"maps"

	"go.starlark.net/starlark"
	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/lower"
	"github.com/atlantide-org/atlantide-operator/engine/lang/py"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// evaluation is one run of a config. Nothing of it outlives the run but what its
// registry recorded.
type evaluation struct {
	options Options
	meter   *py.Meter
	file    string
	lines   []string

	builtins starlark.StringDict // of the language, without import
	modules  map[string]*module
	sources  *sources
	code     codeModules
	schema   *schemaBase // EnvSchema

	ambient ambient
	saved   []ambient // of the stacks and regions that are open

	registry registry
	consumed map[string]any    // inputs read
	defaults map[string]string // their defaults' types
	config   *configValue      // the one Config of the run
	selected []string
	warnings []string
	warned   map[string]bool
	decided  map[star.Position]bool // where a handle was asked what it cannot tell
	thread   *starlark.Thread       // that runs now
	// diagnostics are the warnings with their places.
	diagnostics []model.Diagnostic
}

func newEvaluation(o Options, meter *py.Meter, file string, lines []string) *evaluation {
	ev := &evaluation{
		options:  o,
		meter:    meter,
		file:     file,
		lines:    lines,
		schema:   &schemaBase{},
		ambient:  ambient{stack: model.DefaultStack},
		registry: newRegistry(o.MaxNodes),
		consumed: map[string]any{},
		defaults: map[string]string{},
		warned:   map[string]bool{},
		decided:  map[star.Position]bool{},
		sources:  newSources(o.Source),
		code:     newCodeModules(o.Source),
	}
	ev.builtins = ev.languageBuiltins()
	ev.modules = ev.importable()
	return ev
}

// run compiles and executes the lowered file.
func (ev *evaluation) run(file *star.File, predeclared starlark.StringDict) error {
	program, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return languageErrorf("the config cannot be compiled: %v", err)
	}
	thread := &starlark.Thread{Name: ev.file}
	ev.meter.Attach(thread)
	defer func(above *starlark.Thread) { ev.thread = above }(ev.thread)
	ev.thread = thread
	if _, err := program.Init(thread, predeclared); err != nil {
		return ev.failure(err)
	}
	return nil
}

// finish checks what can only be known at the end.
func (ev *evaluation) finish() error {
	if ev.options.Envs != nil && ev.config == nil {
		return languageErrorf("--env was given, but the config declares no Config; declare one, or leave --env out")
	}
	return nil
}

// languageBuiltins are the names a config has without importing them (lang.md §8).
func (ev *evaluation) languageBuiltins() starlark.StringDict {
	d := py.Builtins()
	maps.Copy(d, py.Helpers())
	maps.Copy(d, combinators())
	d["atlantide"] = ev.handle()
	return d
}

type intrinsic = func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error)

// predeclared is everything that a lowered file may name: the builtins of the language,
// and the functions that package lower calls. in is the module of the file, nil for the
// config.
func (ev *evaluation) predeclared(in *codeModule) starlark.StringDict {
	intrinsics := ev.intrinsics(in)
	maps.Copy(intrinsics, ev.componentIntrinsics(in))
	d := make(starlark.StringDict, len(operators)+len(ev.builtins)+len(intrinsics))
	maps.Copy(d, operators)
	maps.Copy(d, ev.builtins)
	for name, f := range intrinsics {
		addIntrinsic(d, name, f)
	}
	return d
}

// intrinsics are what package lower calls and works on the run.
func (ev *evaluation) intrinsics(in *codeModule) map[string]intrinsic {
	return map[string]intrinsic{
		lower.Undefined: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return nil, ev.undefined(t, text(args[0]))
		},
		lower.Builtin: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return ev.builtins[text(args[0])], nil
		},
		lower.Format: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			ev.warnHandle(t, args[0])
			var conv byte
			if c := text(args[1]); c != "" {
				conv = c[0]
			}
			return texted(py.Format(t, args[0], conv, text(args[2])))
		},
		lower.Enter: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			m, ok := args[0].(manager)
			if !ok {
				return nil, py.AttributeErrorf("a value of type '%s' cannot be used in a with statement; only Stack(...) and region(...) can", py.TypeName(args[0]))
			}
			return ev.enter(m)
		},
		lower.Exit: func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) {
			ev.exit()
			return starlark.None, nil
		},
		lower.Import: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return ev.importName(t, in, text(args[0]), text(args[1]))
		},
		lower.Base: func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return ev.classBase(text(args[0]), args[1])
		},
		lower.Field: func(t *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return ev.classField(t, args)
		},
	}
}

func texted(s string, err error) (starlark.Value, error) {
	if err != nil {
		return nil, err
	}
	return starlark.String(s), nil
}

func text(v starlark.Value) string {
	s, _ := v.(starlark.String)
	return string(s)
}

func integer(v starlark.Value) int {
	i, _ := v.(starlark.Int)
	n, _ := i.Int64()
	return int(n)
}

// tupleOf is the elements of a list or tuple.
func tupleOf(v starlark.Value) starlark.Tuple {
	switch v := v.(type) {
	case starlark.Tuple:
		return v
	case *starlark.List:
		out := make(starlark.Tuple, v.Len())
		for i := range out {
			out[i] = v.Index(i)
		}
		return out
	}
	panic(fmt.Sprintf("lang: %s is not a sequence", v.Type()))
}

// unset marks a local that has not been assigned; no config ever sees it.
var unset starlark.Value = unsetLocal{}

type unsetLocal struct{}

func (unsetLocal) String() string        { return "unset" }
func (unsetLocal) Type() string          { return "unset" }
func (unsetLocal) Freeze()               {}
func (unsetLocal) Truth() starlark.Bool  { return false }
func (unsetLocal) Hash() (uint32, error) { return 0, nil }
