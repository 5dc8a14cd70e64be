package py

import (
	"math"
	"math/big"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// makeSum is sum(iterable, start=0). Floats are summed with compensation (LX-13).
func makeSum(t *thread, args tuple, kwargs kwargsT) (value, error) {
	bound, err := BindArgs("sum", []string{"iterable", "/", "start?"}, args, kwargs)
	if err != nil {
		return nil, err
	}
	start := bound[1]
	switch start.(type) {
	case nil:
		start = intZero
	case starlark.String:
		return nil, TypeErrorf("sum() can't sum strings [use ''.join(seq) instead]")
	case *starlark.List, starlark.Tuple:
		return nil, LanguageErrorf("sum() of a list or tuple start copies the whole result at every element; use a comprehension")
	}
	s := newSummation(t, start)
	if _, err := walk(t, bound[0], s.add); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// summation adds ints of a machine word, then, once the sum is a float, floats with a
// running compensation, and from the first other value on as the operator does.
type summation struct {
	t      *thread
	mode   sumMode
	total  value
	sum, c float64
}

type sumMode uint8

const (
	sumOther sumMode = iota
	sumInts
	sumFloats
)

func newSummation(t *thread, start value) *summation {
	s := &summation{t: t, total: start}
	switch start := start.(type) {
	case starlark.Int:
		if _, ok := start.Int64(); ok {
			s.mode = sumInts
		}
	case starlark.Float:
		s.mode, s.sum = sumFloats, float64(start)
	}
	return s
}

func (s *summation) add(v value) (bool, error) {
	switch s.mode {
	case sumInts:
		if i, ok := asInt(v); ok {
			total := s.total.(starlark.Int).Add(i)
			if _, ok := total.Int64(); ok {
				s.total = total
				return false, nil
			}
		}
	case sumFloats:
		if s.addFloat(v) {
			return false, nil
		}
		s.total = s.floatResult()
	}
	total, err := Binary(s.t, "+", s.total, v)
	if f, ok := total.(starlark.Float); ok && s.mode == sumInts {
		s.mode, s.sum = sumFloats, float64(f)
	} else {
		s.mode = sumOther
	}
	s.total = total
	return false, err
}

// addFloat adds a float, compensated, or an int of a machine word, plainly.
func (s *summation) addFloat(v value) bool {
	f, ok := v.(starlark.Float)
	if !ok {
		i, ok := asInt(v)
		small, fits := i.Int64()
		if !ok || !fits {
			return false
		}
		s.sum += float64(small)
		return true
	}
	x := float64(f)
	t := s.sum + x
	if math.Abs(s.sum) >= math.Abs(x) {
		s.c += (s.sum - t) + x
	} else {
		s.c += (x - t) + s.sum
	}
	s.sum = t
	return true
}

func (s *summation) floatResult() starlark.Float {
	if s.c != 0 && !math.IsInf(s.c, 0) && !math.IsNaN(s.c) {
		return starlark.Float(s.sum + s.c)
	}
	return starlark.Float(s.sum)
}

func (s *summation) result() value {
	if s.mode == sumFloats {
		return s.floatResult()
	}
	return s.total
}

func roundWhole(f float64) (value, error) {
	i, err := floatInt(math.RoundToEven(f))
	return i, err
}

// roundInt rounds to a power of ten, half to even; digits that are not negative
// change nothing.
func roundInt(i starlark.Int, digits int64) value {
	if digits >= 0 {
		return i
	}
	if -digits > pytext.MaxIntDigits*5 || -digits*3 > bitLen(i)+3 { // less than half of the power
		return intZero
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(-digits), nil)
	q, rest := new(big.Int).DivMod(i.BigInt(), scale, new(big.Int))
	if half := rest.Lsh(rest, 1).Cmp(scale); half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return starlark.MakeBigInt(q.Mul(q, scale))
}
