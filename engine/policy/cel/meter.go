package cel

import (
	"errors"
	"slices"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// metered is a call that is charged before it runs, by all that it is about to look at or
// make.
//
// CEL has a cost limit of its own, which is not used: its tracker takes time in the square
// of the iterations, it charges a call after it returned, and it counts an aggregate by its
// own length alone, so that one comparison of lists that hold each other many times over
// could take any time before the limit is seen. Here every step of an evaluation is
// charged before it is taken. The walk that measures a value also finds what in it is not
// known, which the library's own equality would take for unequal.
type metered struct {
	interpreter.InterpretableCall
	args      []interpreter.InterpretableV2
	nonStrict bool // takes what is not known
	call      operation
}

// operation does a call whose arguments are neither errors nor, unless it is not strict,
// unknown.
type operation func(a *activation, args []ref.Val) ref.Val

// Exec evaluates the arguments and does the call.
func (m *metered) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(m.args))
	var unknowns *types.Unknown
	for i, arg := range m.args {
		v := arg.Exec(frame)
		if types.IsError(v) {
			return v
		}
		if !m.nonStrict {
			unknowns, _ = types.MaybeMergeUnknowns(v, unknowns)
		}
		args[i] = v
	}
	if unknowns != nil {
		return unknowns
	}
	meter := meterOf(frame)
	meter.charge(1)
	return types.LabelErrNode(m.ID(), m.call(meter, args))
}

// Eval is Exec for callers of the older interface.
func (m *metered) Eval(vars interpreter.Activation) ref.Val { return m.Exec(interpreter.AsFrame(vars)) }

// step is any other part of an expression; its own work is bounded by its units.
type step struct {
	interpreter.InterpretableV2
	units uint64
}

func (s *step) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	meterOf(frame).charge(s.units)
	return s.InterpretableV2.Exec(frame)
}

func (s *step) Eval(vars interpreter.Activation) ref.Val { return s.Exec(interpreter.AsFrame(vars)) }

// attribute is a step that the library goes on to qualify.
type attribute struct {
	interpreter.InterpretableAttribute
}

func (s *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	meterOf(frame).charge(1)
	return s.InterpretableAttribute.Exec(frame)
}

func (s *attribute) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

func meterOf(frame *interpreter.ExecutionFrame) *activation {
	found, _ := frame.ResolveName(nameMeter)
	return found.(*activation) // session.run evaluates nothing else
}

// meter charges every part of an expression, and makes constants of lists of constants.
func meter(env *celgo.Env) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch i := i.(type) {
		case *attribute, interpreter.InterpretableConst:
			return i, nil
		case interpreter.InterpretableAttribute:
			return &attribute{i}, nil
		case interpreter.InterpretableConstructor:
			if made := constant(env, i); made != nil {
				return made, nil
			}
			return &step{i, uint64(1 + len(i.InitVals()))}, nil
		case interpreter.InterpretableCall:
			call, err := meteredOperation(env, i)
			if call == nil || err != nil {
				return &step{i, 1}, err
			}
			asks := i.Function() == fnKnown || i.Function() == fnSensitive
			return &metered{InterpretableCall: i, args: i.Args(), nonStrict: asks, call: call}, nil
		default:
			return &step{i, 1}, nil
		}
	}
}

// constant is a list of constants made once; nil for what is none.
func constant(env *celgo.Env, made interpreter.InterpretableConstructor) interpreter.InterpretableV2 {
	if made.Type() != types.ListType {
		return nil
	}
	items := make([]ref.Val, len(made.InitVals()))
	for i, item := range made.InitVals() {
		value, ok := item.(interpreter.InterpretableConst)
		if !ok {
			return nil
		}
		items[i] = value.Value()
	}
	return interpreter.NewConstValue(made.ID(), types.NewRefValList(env.CELTypeAdapter(), items))
}

// meteredOperation is what a call does; nil for one whose work does not grow with its
// arguments.
func meteredOperation(env *celgo.Env, call interpreter.InterpretableCall) (operation, error) {
	switch call.Function() {
	case operators.Equals:
		return func(a *activation, args []ref.Val) ref.Val { return a.equal(args[0], args[1]) }, nil
	case operators.NotEquals:
		return func(a *activation, args []ref.Val) ref.Val {
			equal := a.equal(args[0], args[1])
			if b, ok := equal.(types.Bool); ok {
				return !b
			}
			return equal
		}, nil
	case operators.In:
		return func(a *activation, args []ref.Val) ref.Val { return a.contains(args[1], args[0]) }, nil
	case operators.Add:
		return func(a *activation, args []ref.Val) ref.Val { return a.add(args[0], args[1]) }, nil
	case fnKnown:
		return func(a *activation, args []ref.Val) ref.Val { return types.Bool(a.walk(args[0]) == nil) }, nil
	case fnSensitive:
		return func(a *activation, args []ref.Val) ref.Val {
			found := a.walk(args[0])
			return types.Bool(found != nil && slices.Contains(reasons(found), whySensitive))
		}, nil
	case fnMatches:
		return matching(call)
	case "size":
		return func(a *activation, args []ref.Val) ref.Val { return a.size(args[0]) }, nil
	case "replace", "join", "format", "indexOf", "lastIndexOf", "split", "contains", "startsWith", "endsWith",
		"charAt", "substring", "lowerAscii", "upperAscii", "trim", "reverse", "strings.quote",
		"int", "uint", "double", "bool", "string":
		return onTexts(env, call)
	}
	return nil, nil
}

func (a *activation) equal(l, r ref.Val) ref.Val {
	if u := types.MergeUnknowns(a.walk(l), a.walk(r)); u != nil {
		return u
	}
	return types.Equal(l, r)
}

// contains looks among the keys of a map and the elements of a list. What is found is
// found, whatever else the list may hold.
func (a *activation) contains(container, wanted ref.Val) ref.Val {
	if m, ok := container.(traits.Mapper); ok {
		return m.Contains(wanted)
	}
	l, ok := container.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(container)
	}
	u := types.MergeUnknowns(a.walk(container), a.walk(wanted))
	if found := l.Contains(wanted); found == types.True || u == nil {
		return found
	}
	return u
}

// size counts the characters of a text, and knows the length of anything else.
func (a *activation) size(v ref.Val) ref.Val {
	sizer, ok := v.(traits.Sizer)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	if text, ok := v.(types.String); ok {
		a.charge(length(text) / chunk)
	}
	return sizer.Size()
}

func (a *activation) add(l, r ref.Val) ref.Val {
	adder, ok := l.(traits.Adder)
	if !ok {
		return types.MaybeNoSuchOverloadErr(l)
	}
	a.bounded(length(l) + length(r))
	return adder.Add(r)
}

// length is the bytes of a text or the elements of a list.
func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	case traits.Lister:
		n, _ := v.Size().(types.Int)
		return uint64(n)
	}
	return 1
}

// bounded refuses to make a text or a list that is longer than any may be.
func (a *activation) bounded(size uint64) {
	if size > maxText {
		a.charge(maxWork)
	}
}

const (
	// chunk is how many bytes of a text are looked at for one unit of work.
	chunk = 64
	// maxWalk bounds how deep values are nested.
	maxWalk = 200
)

// charge ends the evaluation when it has done too much or nobody waits for it any more.
// That is no error that an expression could get past with ||.
func (a *activation) charge(work uint64) {
	a.work += work
	if a.work >= maxWork {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "too much work"})
	}
	if a.work < a.look {
		return
	}
	a.look = a.work + lookEvery
	select {
	case <-a.done:
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled, Message: "the plan ended"})
	default:
	}
}

// walk charges for everything in a value and says what of it is not known.
func (a *activation) walk(v ref.Val) *types.Unknown { return a.walkDown(v, 0) }

func (a *activation) walkDown(v ref.Val, depth int) *types.Unknown {
	a.charge(1)
	if depth > maxWalk {
		a.charge(maxWork)
	}
	var found *types.Unknown
	switch v := v.(type) {
	case *types.Unknown:
		return v
	case types.String, types.Bytes:
		a.charge(length(v) / chunk)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			a.charge(1 + length(key)/chunk)
			found = types.MergeUnknowns(found, a.walkDown(v.Get(key), depth+1))
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			found = types.MergeUnknowns(found, a.walkDown(it.Next(), depth+1))
		}
	}
	return found
}

func isCancelled(err error) bool {
	cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err)
	return ok && cancelled.Cause == interpreter.CostLimitExceeded
}
