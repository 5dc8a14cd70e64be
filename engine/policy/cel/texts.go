package cel

import (
	"regexp"
	"regexp/syntax"
	"strings"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// matching is matches() with its pattern compiled. The work is the text's length times
// the size of the pattern's program.
func matching(call interpreter.InterpretableCall) (operation, error) {
	pattern, ok := call.Args()[len(call.Args())-1].(interpreter.InterpretableConst)
	if !ok {
		return nil, refused("the pattern of matches() must be a literal text")
	}
	text, _ := pattern.Value().(types.String)
	instructions, err := programSize(string(text))
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(string(text))
	if err != nil {
		return nil, err
	}
	return func(a *activation, args []ref.Val) ref.Val {
		subject, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		a.charge(1 + length(subject)*instructions/chunk)
		return types.Bool(compiled.MatchString(string(subject)))
	}, nil
}

func programSize(pattern string) (uint64, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	made, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return uint64(len(made.Inst)), nil
}

// onTexts is a function on texts: it looks at all that it is given, and some look at it
// several times or make more of it.
func onTexts(env *celgo.Env, call interpreter.InterpretableCall) (operation, error) {
	bound, err := env.Functions()[call.Function()].Bindings()
	if err != nil {
		return nil, err
	}
	var chosen *functions.Overload
	for _, o := range bound {
		if o.Operator == call.OverloadID() || chosen == nil && o.Operator == call.Function() {
			chosen = o
		}
	}
	if chosen == nil {
		return nil, refused("%s() has no implementation", call.Function())
	}
	function := call.Function()
	return func(a *activation, args []ref.Val) ref.Val {
		before := a.work
		for _, arg := range args {
			if u := a.walk(arg); u != nil {
				return u
			}
		}
		switch function {
		case "replace":
			a.bounded(replacedSize(args))
		case "join":
			a.bounded(joinedSize(args))
		case "format":
			// A clause writes one argument, with at most a hundred digits after the point.
			a.bounded((a.work-before)*chunk + length(args[0])*maxPrecision)
		case "indexOf", "lastIndexOf":
			a.charge(length(args[0]) * length(args[1]) / chunk)
		case "split":
			a.charge(length(args[0]))
		}
		return invoke(chosen, args)
	}, nil
}

// maxPrecision is more than a format clause may ask for.
const maxPrecision = 128

// replacedSize is the length of a text in which every occurrence is replaced.
func replacedSize(args []ref.Val) uint64 {
	text, _ := args[0].(types.String)
	old, _ := args[1].(types.String)
	return uint64(len(text)) + uint64(strings.Count(string(text), string(old)))*length(args[2])
}

func joinedSize(args []ref.Val) uint64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	separator := uint64(0)
	if len(args) > 1 {
		separator = length(args[1])
	}
	size := uint64(0)
	for it := list.Iterator(); it.HasNext() == types.True; {
		size += length(it.Next()) + separator
	}
	return size
}

func invoke(o *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && o.Unary != nil:
		return o.Unary(args[0])
	case len(args) == 2 && o.Binary != nil:
		return o.Binary(args[0], args[1])
	case o.Function != nil:
		return o.Function(args...)
	default:
		return types.NoSuchOverloadErr()
	}
}
