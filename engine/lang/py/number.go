package py

import (
	"math"
	"math/big"
	"math/bits"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model/pytext"
)

// maxIntBits bounds the result of an operator on two ints (lang.md §5.4).
const maxIntBits = 65536

var (
	intZero = starlark.MakeInt(0)
	intOne  = starlark.MakeInt(1)
)

func boolInt(b starlark.Bool) starlark.Int {
	if b {
		return intOne
	}
	return intZero
}

// asInt is x as an int, if it is an int or a bool.
func asInt(x value) (starlark.Int, bool) {
	switch x := x.(type) {
	case starlark.Int:
		return x, true
	case starlark.Bool:
		return boolInt(x), true
	default:
		return starlark.Int{}, false
	}
}

// asNumber is x as a float, if it is a number. An int beyond the floats is an error.
func asNumber(x value) (f float64, ok bool, err error) {
	if f, ok := x.(starlark.Float); ok {
		return float64(f), true, nil
	}
	i, ok := asInt(x)
	if !ok {
		return 0, false, nil
	}
	f, err = intFloat(i)
	return f, true, err
}

func intFloat(i starlark.Int) (float64, error) {
	if small, ok := i.Int64(); ok {
		return float64(small), nil
	}
	return pytext.IntFloat(i.BigInt())
}

func bitLen(i starlark.Int) int64 {
	if small, ok := i.Int64(); ok {
		if small < 0 {
			small = -small
		}
		return int64(bits.Len64(uint64(small)))
	}
	return int64(i.BigInt().BitLen())
}

// chargeInt bounds the result of an operator and takes what computing it costs.
func (m *Meter) chargeInt(length int64) error {
	if length > maxIntBits {
		return fuelErrorf("an integer result would exceed %d bits; compute with smaller numbers", maxIntBits)
	}
	return m.Charge(length / 64)
}

// intBinary is x op y on ints; ok is false when op is not defined on them.
func intBinary(m *Meter, op string, x, y starlark.Int) (v value, ok bool, err error) {
	if op == "/" {
		v, err = intDivide(m, x, y)
		return v, true, err
	}
	if v, ok := smallInts(op, x, y); ok {
		return v, true, nil
	}
	switch op {
	case "**":
		v, err = intPower(m, x, y)
		return v, true, err
	case "<<", ">>":
		v, err = intShift(m, op, x, y)
		return v, true, err
	}
	l, r := bitLen(x), bitLen(y)
	length := max(l, r) + 1
	switch op {
	case "*":
		length = l + r
	case "//", "%":
		length = max(l, r)
		if y.Sign() == 0 {
			return nil, true, errIntZero(op)
		}
	}
	if err := m.chargeInt(length); err != nil {
		return nil, true, err
	}
	switch op {
	case "+":
		return x.Add(y), true, nil
	case "-":
		return x.Sub(y), true, nil
	case "*":
		return x.Mul(y), true, nil
	case "//":
		return x.Div(y), true, nil
	case "%":
		return x.Mod(y), true, nil
	case "&":
		return x.And(y), true, nil
	case "|":
		return x.Or(y), true, nil
	case "^":
		return x.Xor(y), true, nil
	default:
		return nil, false, nil
	}
}

// smallInts is the operators on two 32-bit ints, whose results cost nothing.
func smallInts(op string, xi, yi starlark.Int) (value, bool) {
	x, xok := xi.Int64()
	y, yok := yi.Int64()
	if !xok || !yok || int64(int32(x)) != x || int64(int32(y)) != y {
		return nil, false
	}
	switch op {
	case "+":
		return starlark.MakeInt64(x + y), true
	case "-":
		return starlark.MakeInt64(x - y), true
	case "*":
		return starlark.MakeInt64(x * y), true
	case "//":
		if y == 0 {
			return nil, false
		}
		return starlark.MakeInt64(floorDiv(x, y)), true
	case "%":
		if y == 0 {
			return nil, false
		}
		return starlark.MakeInt64(x - y*floorDiv(x, y)), true
	case "&":
		return starlark.MakeInt64(x & y), true
	case "|":
		return starlark.MakeInt64(x | y), true
	case "^":
		return starlark.MakeInt64(x ^ y), true
	default:
		return nil, false
	}
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func errIntZero(op string) error {
	if op == "%" {
		return ZeroDivisionErrorf("integer modulo by zero")
	}
	return ZeroDivisionErrorf("integer division or modulo by zero")
}

func intDivide(m *Meter, x, y starlark.Int) (value, error) {
	if y.Sign() == 0 {
		return nil, ZeroDivisionErrorf("division by zero")
	}
	const exact = 1 << 53
	xs, xok := x.Int64()
	ys, yok := y.Int64()
	if xok && yok && xs <= exact && xs >= -exact && ys <= exact && ys >= -exact {
		return starlark.Float(float64(xs) / float64(ys)), nil
	}
	if err := m.chargeInt(max(bitLen(x), bitLen(y)) + 1); err != nil {
		return nil, err
	}
	if x.Sign() == 0 && y.Sign() < 0 {
		return starlark.Float(math.Copysign(0, -1)), nil
	}
	f := quotient(x.BigInt(), y.BigInt())
	if math.IsInf(f, 0) {
		return nil, OverflowErrorf("integer division result too large for a float")
	}
	return starlark.Float(f), nil
}

// quotient is x / y, correctly rounded: of the whole part of a quotient that has more
// bits than a float, the last of which tells that there is a rest.
func quotient(x, y *big.Int) float64 {
	const enough = 66
	shift := enough - (x.BitLen() - y.BitLen())
	num, den := new(big.Int).Abs(x), new(big.Int).Abs(y)
	if shift > 0 {
		num.Lsh(num, uint(shift))
	} else {
		den.Lsh(den, uint(-shift))
	}
	q, rest := num.QuoRem(num, den, new(big.Int))
	if rest.Sign() != 0 {
		q.SetBit(q, 0, 1)
	}
	if x.Sign()*y.Sign() < 0 {
		q.Neg(q)
	}
	scaled := new(big.Float).SetInt(q)
	f, _ := scaled.SetMantExp(scaled, -shift).Float64()
	return f
}

func intPower(m *Meter, x, y starlark.Int) (value, error) {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			return nil, ZeroDivisionErrorf("0.0 cannot be raised to a negative power")
		}
		xf, err := intFloat(x)
		if err != nil {
			return nil, err
		}
		yf, err := intFloat(y)
		if err != nil {
			return nil, err
		}
		return floatPower(m, xf, yf)
	}
	length := int64(1)
	abs := new(big.Int).Abs(x.BigInt())
	if y.Sign() > 0 && abs.Cmp(big.NewInt(1)) > 0 {
		n, ok := y.Int64()
		if !ok || n > maxIntBits {
			return nil, m.chargeInt(infinite)
		}
		length = int64(float64(n)*log2(abs)) + 1
	}
	if err := m.chargeInt(length); err != nil {
		return nil, err
	}
	if abs.Cmp(big.NewInt(1)) <= 0 {
		return tinyPower(x, y), nil
	}
	return starlark.MakeBigInt(new(big.Int).Exp(x.BigInt(), y.BigInt(), nil)), nil
}

// tinyPower is x ** y for a base of -1, 0 or 1 and y >= 0.
func tinyPower(x, y starlark.Int) value {
	switch {
	case y.Sign() == 0:
		return intOne
	case x.Sign() < 0 && y.BigInt().Bit(0) == 0:
		return intOne
	default:
		return x
	}
}

func log2(x *big.Int) float64 {
	shift := max(x.BitLen()-64, 0)
	top, _ := new(big.Float).SetInt(new(big.Int).Rsh(x, uint(shift))).Float64()
	return math.Log2(top) + float64(shift)
}

func intShift(m *Meter, op string, x, y starlark.Int) (value, error) {
	if y.Sign() < 0 {
		return nil, ValueErrorf("negative shift count")
	}
	count, ok := y.Int64()
	if op == "<<" {
		if x.Sign() == 0 {
			return intZero, nil
		}
		if !ok {
			count = infinite
		}
		if err := m.chargeInt(satAdd(bitLen(x), count)); err != nil {
			return nil, err
		}
		return x.Lsh(uint(count)), nil
	}
	if err := m.chargeInt(max(bitLen(x), bitLen(y))); err != nil {
		return nil, err
	}
	if !ok || count > maxIntBits {
		if x.Sign() < 0 {
			return starlark.MakeInt(-1), nil
		}
		return intZero, nil
	}
	return x.Rsh(uint(count)), nil
}

// floatBinary is x op y on floats; ok is false when op is not defined on them.
func floatBinary(m *Meter, op string, x, y float64) (v value, ok bool, err error) {
	switch op {
	case "+":
		return starlark.Float(x + y), true, nil
	case "-":
		return starlark.Float(x - y), true, nil
	case "*":
		return starlark.Float(x * y), true, nil
	case "/":
		if y == 0 {
			return nil, true, ZeroDivisionErrorf("float division by zero")
		}
		return starlark.Float(x / y), true, nil
	case "//", "%":
		if y == 0 {
			return nil, true, ZeroDivisionErrorf("float floor division or modulo by zero")
		}
		q, r := floatDivmod(x, y)
		if op == "//" {
			return starlark.Float(q), true, nil
		}
		return starlark.Float(r), true, nil
	case "**":
		v, err = floatPower(m, x, y)
		return v, true, err
	default:
		return nil, false, nil
	}
}

// floatDivmod is the floor of x / y and the remainder with the sign of y; y is not 0.
func floatDivmod(x, y float64) (q, r float64) {
	r = math.Mod(x, y)
	q = (x - r) / y
	if r != 0 {
		if (y < 0) != (r < 0) {
			r += y
			q--
		}
	} else {
		r = math.Copysign(0, y)
	}
	if q == 0 {
		return math.Copysign(0, x/y), r
	}
	floor := math.Floor(q)
	if q-floor > 0.5 {
		floor++
	}
	return floor, r
}

func floatPower(m *Meter, x, y float64) (value, error) {
	switch {
	case y == 0 || x == 1:
		return starlark.Float(1), nil
	case x == 0 && y < 0:
		return nil, ZeroDivisionErrorf("0.0 cannot be raised to a negative power")
	case x < 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) && y != math.Trunc(y):
		return nil, ValueErrorf("a negative number cannot be raised to a fractional power")
	}
	f, err := power(m, x, y)
	if err != nil {
		return nil, err
	}
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, OverflowErrorf("Numerical result out of range")
	}
	return starlark.Float(f), nil
}

const (
	powerPrecision = 256
	// powerUnits is what a fractional power costs: some hundred roots.
	powerUnits = 256
)

// power is x ** y, correctly rounded, which math.Pow does not promise and does not
// compute alike on every machine. Left to it are the special values, and results so far
// beyond a float's range that they are 0 or infinite.
func power(m *Meter, x, y float64) (float64, error) {
	const beyond = 1 << 11 // in binary digits
	digits := math.Abs(y) * math.Abs(math.Log2(math.Abs(x)))
	if x == 0 || x == -1 || math.IsInf(x, 0) || math.IsNaN(x) || math.IsInf(y, 0) || math.IsNaN(y) || digits > beyond {
		return math.Pow(x, y), nil
	}
	whole, fraction := math.Modf(math.Abs(y))
	if err := m.Charge(int64(bits.Len64(uint64(whole)))); err != nil {
		return 0, err
	}
	result := newPrecise(1)
	for n, square := uint64(whole), newPrecise(x); n > 0; n >>= 1 {
		if n&1 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	if fraction != 0 {
		if err := m.Charge(powerUnits); err != nil {
			return 0, err
		}
		result.Mul(result, fractionPower(x, fraction))
	}
	if y < 0 {
		result.Quo(newPrecise(1), result)
	}
	f, _ := result.Float64()
	return f, nil
}

func newPrecise(x float64) *big.Float {
	return new(big.Float).SetPrec(powerPrecision).SetFloat64(x)
}

// fractionPower is x ** f for x > 0 and 0 < f < 1: the product of the roots that f's
// binary digits name. Digits beyond the precision change nothing.
func fractionPower(x, f float64) *big.Float {
	result, root := newPrecise(1), newPrecise(x)
	for range powerPrecision {
		if f == 0 {
			break
		}
		root.Sqrt(root)
		if f *= 2; f >= 1 {
			f--
			result.Mul(result, root)
		}
	}
	return result
}

// numberUnary is -x, +x or ~x.
func numberUnary(op string, x value) (value, bool) {
	if f, ok := x.(starlark.Float); ok {
		switch op {
		case "-":
			return -f, true
		case "+":
			return f, true
		default:
			return nil, false
		}
	}
	i, ok := asInt(x)
	if !ok {
		return nil, false
	}
	switch op {
	case "-":
		return intZero.Sub(i), true
	case "+":
		return i, true
	case "~":
		return i.Not(), true
	default:
		return nil, false
	}
}
