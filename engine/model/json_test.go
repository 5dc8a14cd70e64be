package model_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// values draws symbolic values of every kind.
func values() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return draw(t, 3) })
}

func draw(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3:
		return rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }).Draw(t, "float")
	case 4:
		return rapid.String().Draw(t, "text")
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = draw(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			object[rapid.String().Draw(t, "key")] = draw(t, depth-1)
		}
		return object
	}
}

func TestLawStoredValuesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "value")
		data, err := model.EncodeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := model.DecodeJSON(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(v, back); diff != "" {
			t.Fatalf("%s\n%s", data, diff)
		}
		again, err := model.EncodeJSON(model.Clone(v))
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("a copy is written as %s, not %s (%v)", again, data, err)
		}
	})
}

func TestEncodeJSON(t *testing.T) {
	for _, c := range []struct {
		reason string
		value  any
		want   string
	}{
		{"an integral float keeps its point, so that it prints as written", 1.0, "1.0"},
		{"an integer has none", int64(1), "1"},
		{"negative zero keeps its sign", math.Copysign(0, -1), "-0.0"},
		{"keys are sorted", map[string]any{"b": nil, "a": true}, `{"a":true,"b":null}`},
		{"markup is not escaped", "<&>", `"<&>"`},
		{"an empty list is not null", []any{}, "[]"},
	} {
		got, err := model.EncodeJSON(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.reason, got, err, c.want)
		}
	}
}

func TestEncodeJSONRefuses(t *testing.T) {
	deep := any("x")
	for range 10_002 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		reason string
		value  any
		say    string
	}{
		{"JSON has no NaN", math.NaN(), "not finite"},
		{"JSON has no infinity", []any{math.Inf(1)}, "not finite"},
		{"a Go int is not a Value", 1, "type int"},
		{"recursion is bounded", deep, "nested deeper"},
	} {
		_, err := model.EncodeJSON(c.value)
		if !model.IsKind(err, model.IRError) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, want an IRError that says %q", c.reason, err, c.say)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		want         any
	}{
		{"an integer is an integer", "12", int64(12)},
		{"a point makes a float", "12.0", 12.0},
		{"an exponent makes a float", "1e2", 100.0},
		{"the widest integer", "-9223372036854775808", int64(math.MinInt64)},
	} {
		got, err := model.DecodeJSON([]byte(c.text))
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v", c.reason, got, err)
		}
	}
	for _, text := range []string{"", "{", "1 2", `{"a":9223372036854775808}`, "1e999"} {
		if v, err := model.DecodeJSON([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

// A document is all of its text: nothing but space may follow it.
func TestDecodeJSONReadsOneDocument(t *testing.T) {
	for _, document := range []string{"1", `"x"`, "null", "[1]", "{}", `{"a":[]}`} {
		for _, after := range []string{"]", "}", ",", ":", " 1", " x", "null", "{}", "[", "\x00", "\n]", " }"} {
			if v, err := model.DecodeJSON([]byte(document + after)); err == nil {
				t.Errorf("%q was read as %v", document+after, v)
			}
		}
		if _, err := model.DecodeJSON([]byte(" " + document + " \r\n\t")); err != nil {
			t.Errorf("%s with space around it: %v", document, err)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,1.0,null,true,"\u00e9"]}`, `[`, `-0.0`, `{"$ref":"s:T:n#o"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := model.DecodeJSON(data)
		if err != nil {
			return
		}
		written, err := model.EncodeJSON(v)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := model.DecodeJSON(written)
		if err != nil || !cmp.Equal(v, back) {
			t.Fatalf("%s comes back as %v, %v", written, back, err)
		}
	})
}
