package py

import (
	"go.starlark.net/starlark"
)

// newIterator is a one-shot iterator over the given ones. A chain of iterators is
// walked by recursion, so its length has the bound of calls.
func newIterator(t *thread, kind string, over tuple, next stepFunc) (value, error) {
	depth := 0
	for _, x := range over {
		if it, ok := x.(*Iterator); ok {
			depth = max(depth, it.depth+1)
		}
	}
	if limit := MeterOf(t).limits.MaxCallDepth; depth > limit {
		return nil, fuelErrorf("iterators are nested deeper than %d; make a list of one", limit)
	}
	return &Iterator{kind: kind, t: t, next: next, depth: depth}, MeterOf(t).Reserve(iterBytes + int64(len(over))*partBytes)
}

func stepsOfAll(t *thread, iterables tuple) ([]stepFunc, error) {
	steps := make([]stepFunc, 0, len(iterables))
	for _, x := range iterables {
		next, err := stepsOf(t, x)
		if err != nil {
			return nil, err
		}
		steps = append(steps, next)
	}
	return steps, nil
}

// makeMap is map(f, *iterables): f is called as elements are asked for.
func makeMap(t *thread, args tuple, kwargs kwargsT) (value, error) {
	if len(kwargs) > 0 {
		return nil, TypeErrorf("map() takes no keyword arguments")
	}
	if len(args) < 2 {
		return nil, TypeErrorf("map() must have at least two arguments.")
	}
	steps, err := stepsOfAll(t, args[1:])
	if err != nil {
		return nil, err
	}
	f := args[0]
	return newIterator(t, "map", args[1:], func() (value, error) {
		elems := make(tuple, len(steps))
		for i, next := range steps {
			v, err := next()
			if v == nil || err != nil {
				return nil, err
			}
			elems[i] = v
		}
		return Call(t, f, elems, nil)
	})
}

// makeFilter is filter(f or None, iterable).
func makeFilter(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("filter", []string{"function", "iterable", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	next, err := stepsOf(t, bound[1])
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	return newIterator(t, "filter", bound[1:], func() (value, error) {
		for {
			v, err := next()
			if v == nil || err != nil {
				return nil, err
			}
			verdict := v
			if bound[0] != starlark.None {
				if verdict, err = Call(t, bound[0], tuple{v}, nil); err != nil {
					return nil, err
				}
			} else if err := m.Charge(1); err != nil {
				return nil, err
			}
			if verdict.Truth() {
				return v, nil
			}
		}
	})
}

// makeZip is zip(*iterables, strict=False).
func makeZip(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("zip", []string{"*", "strict?"}, nil, kwargs)
	if err != nil {
		return nil, err
	}
	strict := bound[0] != nil && bool(bound[0].Truth())
	steps, err := stepsOfAll(t, args)
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	return newIterator(t, "zip", args, func() (value, error) {
		if len(steps) == 0 {
			return nil, nil
		}
		if err := m.Reserve(int64(len(steps)) * slotBytes); err != nil {
			return nil, err
		}
		elems := make(tuple, len(steps))
		for i, next := range steps {
			v, err := next()
			if err != nil {
				return nil, err
			}
			if v != nil {
				elems[i] = v
				continue
			}
			if !strict {
				return nil, nil
			}
			return nil, zipEnd(steps, i)
		}
		return elems, nil
	})
}

// zipEnd checks the end of a strict zip, of which iterable i ended first.
func zipEnd(steps []stepFunc, i int) error {
	if i > 0 {
		return ValueErrorf("zip() argument %d is shorter than argument%s", i+1, argumentsUpTo(i))
	}
	for j, next := range steps[1:] {
		v, err := next()
		if err != nil {
			return err
		}
		if v != nil {
			return ValueErrorf("zip() argument %d is longer than argument%s", j+2, argumentsUpTo(j+1))
		}
	}
	return nil
}

func argumentsUpTo(n int) string {
	if n == 1 {
		return " 1"
	}
	return "s 1-" + starlark.MakeInt(n).String()
}

// makeEnumerate is enumerate(iterable, start=0).
func makeEnumerate(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("enumerate", []string{"iterable", "start?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	i := intZero
	if bound[1] != nil {
		start, ok := asInt(bound[1])
		if !ok {
			return nil, errNotInteger(bound[1])
		}
		i = start
	}
	next, err := stepsOf(t, bound[0])
	if err != nil {
		return nil, err
	}
	m := MeterOf(t)
	return newIterator(t, "enumerate", bound[:1], func() (value, error) {
		v, err := next()
		if v == nil || err != nil {
			return nil, err
		}
		pair := tuple{i, v}
		i = i.Add(intOne)
		if err := m.number(i); err != nil {
			return nil, err
		}
		return pair, m.Reserve(2 * slotBytes)
	})
}

// makeReversed is reversed(sequence).
func makeReversed(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("reversed", []string{"sequence", "/"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	switch x := bound[0].(type) {
	case *starlark.List:
		return reversedOf(t, x)
	case starlark.Tuple:
		return reversedOf(t, x)
	case *Range:
		i := x.n
		return newIterator(t, "reversed", nil, func() (value, error) {
			if i == 0 {
				return nil, nil
			}
			i--
			return x.at(i), nil
		})
	case starlark.String:
		s := string(x)
		return newIterator(t, "reversed", nil, func() (value, error) {
			if s == "" {
				return nil, nil
			}
			_, size := decodeLast(s)
			c := s[len(s)-size:]
			s = s[:len(s)-size]
			return starlark.String(c), nil
		})
	case *starlark.Dict, *View:
		elems, err := drain(t, x)
		if err != nil {
			return nil, err
		}
		return reversedOf(t, tuple(elems))
	default:
		return nil, TypeErrorf("'%s' object is not reversible", TypeName(x))
	}
}

func reversedOf(t *thread, x starlark.Indexable) (value, error) {
	i := x.Len()
	return newIterator(t, "reversed", nil, func() (value, error) {
		i = min(i, x.Len())
		if i == 0 {
			return nil, nil
		}
		i--
		return x.Index(i), nil
	})
}
