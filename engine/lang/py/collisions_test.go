package py

import (
	"testing"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Keys chosen to share a hash run out of fuel long before their chains are long enough
// to matter; ordinary keys do not.
func TestCollidingKeys(t *testing.T) {
	const many = 20_000
	shifted := func(i int) value { return starlark.MakeInt(i).Lsh(32) }
	cases := []struct {
		name string
		key  func(i int) value
		most int // entries a budget may reach; 0 = all
	}{
		{"ints that differ above 32 bits", shifted, 6000},
		{"fractions", func(i int) value { return starlark.Float(float64(i) / 1e6) }, 6000},
		{"tuples of colliding ints", func(i int) value { return tuple{shifted(i), intOne} }, 6000},
		{"functions of one name", func(int) value { return NewNative("f", nil).(value) }, 6000},
		{"small ints", func(i int) value { return starlark.MakeInt(i) }, 0},
		{"short texts", func(i int) value { return starlark.String(starlark.MakeInt(i).String()) }, 0},
		{"pairs of small ints", func(i int) value { return tuple{starlark.MakeInt(i % 100), starlark.MakeInt(i / 100)} }, 0},
	}
	for _, c := range cases {
		th := newThread(t, Limits{})
		d := starlark.NewDict(0)
		var err error
		n := 0
		for ; n < many && err == nil; n++ {
			err = SetItem(th, d, c.key(n), starlark.None)
		}
		if c.most == 0 && err != nil {
			t.Errorf("%s: %v after %d", c.name, err, n)
		}
		if c.most > 0 && (!model.IsKind(err, model.FuelExhaustedError) || n > c.most) {
			t.Errorf("%s: %v after %d entries", c.name, err, n)
		}
	}
}
