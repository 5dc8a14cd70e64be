package main

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestEqual(t *testing.T) {
	tests := []struct {
		name, reason string
		want, got    string
		partial      bool
		differs      string // in the diff; "" = equal
	}{
		{name: "equal", reason: "key order means nothing", want: `{"a":1,"b":[null,true]}`, got: `{"b":[null,true],"a":1}`},
		{name: "integer and float", reason: "1 and 1.0 are different values", want: `1`, got: `1.0`, differs: "- 1\n+ 1.0"},
		{name: "float spelling", reason: "1e3 is 1000.0", want: `1000.0`, got: `1e3`},
		{name: "negative zero", reason: "its bits differ", want: `-0.0`, got: `0.0`, differs: "-0.0"},
		{name: "missing key", reason: "a complete comparison sees it", want: `{"a":1}`, got: `{}`, differs: "(absent)"},
		{name: "extra key", reason: "a complete comparison sees it", want: `{}`, got: `{"a":1}`, differs: "(absent)"},
		{name: "extra key in a partial case", reason: "only keys that are present are compared, at any depth", want: `{"a":{}}`, got: `{"a":{"x":1},"b":2}`, partial: true},
		{name: "missing key in a partial case", reason: "a key that is present must be there", want: `{"a":1}`, got: `{}`, partial: true, differs: "(absent)"},
		{name: "list length", reason: "lists are compared whole", want: `[1]`, got: `[1,2]`, differs: "[1,2]"},
		{name: "any, equal numbers", reason: "equal numbers are equal values", want: `["<<any:1>>","<<any:1>>"]`, got: `["x","x"]`},
		{name: "any, equal numbers differ", reason: "equal numbers are equal values", want: `["<<any:1>>","<<any:1>>"]`, got: `["x","y"]`, differs: "<<any:1>>"},
		{name: "any, different numbers", reason: "different numbers are different values", want: `["<<any:1>>","<<any:2>>"]`, got: `["x","x"]`, differs: "<<any:1>>"},
		{name: "sealed", reason: "ciphertext is the implementation's own", want: `{"$sealed":"a"}`, got: `{"$sealed":"b"}`},
		{name: "unsealed", reason: "plain text in place of a sealed value", want: `{"$sealed":"a"}`, got: `"a"`, differs: "$sealed"},
		{name: "null", reason: "null is a value here", want: `null`, got: `0`, differs: "- null"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmp := newComparison()
			cmp.equal("", parse(t, test.want), parse(t, test.got), test.partial)
			checkDiff(t, cmp.take(), test.differs, test.reason)
		})
	}
}

func TestAnyHoldsFromStepToStep(t *testing.T) {
	cmp := newComparison()
	cmp.equal("", "<<any:1>>", "x", false)
	cmp.take()
	cmp.equal("", "<<any:1>>", "y", false)
	checkDiff(t, cmp.take(), "<<any:1>>", "a value made in one step is the same in the next")
}

func TestFailure(t *testing.T) {
	err := &model.Error{
		Kind: model.FencedWriteError, Message: "the row of 'n' is fenced off", Line: 3, Col: 7,
		NodeID: "s:t:n", Op: "create", ResourceType: "t",
	}
	tests := []struct {
		name, reason, want string
		err                error
		differs            string
	}{
		{"as expected", "every key agrees", `{"error":"FencedWriteError","line":3,"col":7,"node_id":"s:t:n","message_contains":["'n'","col 7"]}`, err, ""},
		{"class", "a parent's name is another name", `{"error":"StateError"}`, err, "StateError"},
		{"null position", "a null is not compared", `{"error":"FencedWriteError","line":null,"col":null}`, err, ""},
		{"line", "a number is", `{"error":"FencedWriteError","line":4}`, err, "- 4\n+ 3"},
		{"message", "each text must occur", `{"error":"FencedWriteError","message_contains":["absent word"]}`, err, "absent word"},
		{"provider op", "the keys of a failed call are compared where they are given", `{"error":"FencedWriteError","provider_op":"delete"}`, err, "delete"},
		{"no error", "a success is a difference", `{"error":"StateError"}`, nil, "none: it passed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmp := newComparison()
			cmp.failure(parse(t, test.want).(map[string]any), test.err, "it passed")
			checkDiff(t, cmp.take(), test.differs, test.reason)
		})
	}
}

func TestReportListsAreSets(t *testing.T) {
	want := sets(parse(t, `{"created":["b","a"],"outputs":{}}`))
	got := sets(parse(t, `{"created":["a","b"],"outputs":{}}`))
	cmp := newComparison()
	cmp.equal("report", want, got, false)
	checkDiff(t, cmp.take(), "", "order in a report is not compared")
}

func checkDiff(t *testing.T, diff, want, reason string) {
	t.Helper()
	if want == "" && diff != "" || want != "" && !strings.Contains(diff, want) {
		t.Errorf("diff = %q, want %q in it: %s", diff, want, reason)
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := decode([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
