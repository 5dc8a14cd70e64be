package py

import (
	"math"
	"math/bits"

	"go.starlark.net/starlark"
)

var intMethods = methodTable(nil, map[string]methodFunc{
	"bit_length": func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		i, _ := asInt(recv)
		if err := MeterOf(t).chargeBits(i); err != nil {
			return nil, err
		}
		return starlark.MakeInt64(bitLen(i)), noArgs("int.bit_length", args, kwargs)
	},
	"bit_count": func(t *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		i, _ := asInt(recv)
		if err := MeterOf(t).chargeBits(i); err != nil {
			return nil, err
		}
		n := 0
		for _, word := range i.BigInt().Bits() {
			n += bits.OnesCount(uint(word))
		}
		return starlark.MakeInt(n), noArgs("int.bit_count", args, kwargs)
	},
	"is_integer": func(_ *thread, _ value, args tuple, kwargs kwargsT) (value, error) {
		return starlark.True, noArgs("int.is_integer", args, kwargs)
	},
})

var floatMethods = methodTable(nil, map[string]methodFunc{
	"is_integer": func(_ *thread, recv value, args tuple, kwargs kwargsT) (value, error) {
		f := float64(recv.(starlark.Float))
		return starlark.Bool(!math.IsInf(f, 0) && f == math.Trunc(f)), noArgs("float.is_integer", args, kwargs)
	},
})
