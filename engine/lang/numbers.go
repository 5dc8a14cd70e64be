package lang

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// coerceScalar reads a value leniently as a scalar type (providers.md 1.14); nil when
// it is none. A number is never read as a text.
func coerceScalar(kind model.TypeKind, v starlark.Value) starlark.Value {
	switch kind {
	case model.KindString:
		if s, ok := v.(starlark.String); ok {
			return s
		}
	case model.KindInt:
		return coerceInt(v)
	case model.KindFloat:
		return coerceFloat(v)
	case model.KindBool:
		return coerceBool(v)
	}
	return nil
}

func coerceInt(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case starlark.Int:
		return v
	case starlark.Bool:
		return boolInt(v)
	case starlark.Float:
		f := float64(v)
		if math.Trunc(f) != f || math.IsInf(f, 0) {
			return nil
		}
		i, _ := big.NewFloat(f).Int(nil)
		return starlark.MakeBigInt(i)
	case starlark.String:
		digits, ok := numeric(string(v))
		if !ok {
			return nil
		}
		if whole, fraction, ok := strings.Cut(digits, "."); ok && fraction != "" && strings.Trim(fraction, "0") == "" {
			digits = whole
		}
		if i, ok := new(big.Int).SetString(digits, 10); ok {
			return starlark.MakeBigInt(i)
		}
	}
	return nil
}

func coerceFloat(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case starlark.Float:
		return v
	case starlark.Bool:
		return coerceFloat(boolInt(v))
	case starlark.Int:
		f, _ := new(big.Float).SetInt(v.BigInt()).Float64()
		if !math.IsInf(f, 0) {
			return starlark.Float(f)
		}
	case starlark.String:
		digits, ok := numeric(string(v))
		if !ok || strings.ContainsAny(digits, "xXpP") {
			return nil
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err == nil || math.IsInf(f, 0) {
			return starlark.Float(f)
		}
	}
	return nil
}

// maxNumber is the longest text that is read as a number.
const maxNumber = 400

// numeric trims a text and takes out single underscores between digits.
func numeric(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxNumber {
		return "", false
	}
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !digit(s[i-1]) || !digit(s[i+1])) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func coerceBool(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case starlark.Bool:
		return v
	case starlark.Int:
		if i, ok := v.Int64(); ok && (i == 0 || i == 1) {
			return starlark.Bool(i == 1)
		}
	case starlark.Float:
		if v == 0 || v == 1 {
			return starlark.Bool(v == 1)
		}
	case starlark.String:
		switch strings.ToLower(string(v)) {
		case "true", "yes", "on", "t", "y", "1":
			return starlark.True
		case "false", "no", "off", "f", "n", "0":
			return starlark.False
		}
	}
	return nil
}

func boolInt(b starlark.Bool) starlark.Int {
	if b {
		return starlark.MakeInt(1)
	}
	return starlark.MakeInt(0)
}
