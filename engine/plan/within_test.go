package plan_test

import (
	"bytes"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// EX-37: what is left of a plan after a part of it was done is within it, and nothing else is.
func TestWithin(t *testing.T) {
	const a, b = "s:local.File:a", "s:local.File:b"
	declared := func(change func(*config)) *config {
		c := newConfig()
		c.file(a, "a", "x")
		c.file(b, "b", ref(a, "checksum"))
		c.output("s:sum", ref(b, "checksum"))
		change(c)
		return c
	}
	same := declared(func(*config) {})
	first := newConfig()
	first.file(a, "a", "x")
	body := func(p *plan.Plan) []byte {
		t.Helper()
		text, err := p.Body()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	whole := body(mustPlan(t, same, emptySnapshot()))
	rest := body(mustPlan(t, same, applied(t, first)))
	other := func(change func(*config), with ...func(in *plan.Input)) []byte {
		t.Helper()
		return body(mustPlan(t, declared(change), applied(t, first), with...))
	}
	for _, c := range []struct {
		reason      string
		rest, whole []byte
		want        bool
	}{
		{"all of it", whole, whole, true},
		{"what is left of it", rest, whole, true},
		{"more than is left", whole, rest, false},
		{"another node beside", other(func(c *config) { c.file("s:local.File:c", "c", "x") }), whole, false},
		{"the node, otherwise", other(func(c *config) { c.file(b, "b", "y") }), whole, false},
		{"another output", other(func(c *config) { c.output("s:more", "x") }), whole, false},
		{"another failure mode", other(func(*config) {}, func(in *plan.Input) { in.OnFailure = plan.OnFailureRollback }), whole, false},
		{"a narrower run", other(func(*config) {}, func(in *plan.Input) { in.Targets = []string{b} }), whole, false},
		{"a body of another form", rest, []byte(`{"format":2}`), false},
		{"no body", rest, nil, false},
		{"of no body", nil, whole, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := plan.Within(c.rest, c.whole); got != c.want {
				t.Errorf("%v, want %v:\n%s\n%s", got, c.want, c.rest, c.whole)
			}
		})
	}
}

// A replace that was approved as one that may come may have become certain; the other way
// round, and any other action, was not approved.
func TestWithinOfAConditionalReplace(t *testing.T) {
	body := func(action, conditional string) []byte {
		return []byte(`{"changeset":{"envs":{},"external":{},"format":1,"inputs":"i","nodes":[{"action":"` + action + `","conditional":` + conditional +
			`,"id":"a"}],"onFailure":"halt","outputs":{"retired":[],"set":{}},"pins":{},"policies":[],"replace":[],"targets":[]},"format":1}`)
	}
	for _, c := range []struct {
		reason      string
		rest, whole []byte
		want        bool
	}{
		{"it has become certain", body("replace", "false"), body("replace", "true"), true},
		{"it was certain", body("replace", "true"), body("replace", "false"), false},
		{"it was an update", body("replace", "false"), body("update", "false"), false},
	} {
		if got := plan.Within(c.rest, c.whole); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

// What a changeset says that is not known here counts: a body of another release that asks
// for more is within nothing that does not.
func TestWithinOfUnknownParts(t *testing.T) {
	body := func(changeset, outputs string) []byte {
		return []byte(`{"changeset":{"external":{},"format":1,"nodes":[],"outputs":{"retired":[],"set":{}` + outputs + `}` + changeset + `},"format":1}`)
	}
	for _, c := range []struct {
		reason      string
		rest, whole []byte
		want        bool
	}{
		{"neither has any", body("", ""), body("", ""), true},
		{"both have the same", body(`,"x":[1]`, `,"y":1`), body(`,"x":[1]`, `,"y":1`), true},
		{"the rest alone has one", body(`,"x":null`, ""), body("", ""), false},
		{"the whole alone has one", body("", ""), body(`,"x":null`, ""), false},
		{"they differ", body(`,"x":[1]`, ""), body(`,"x":[2]`, ""), false},
		{"the rest alone has one of outputs", body("", `,"y":1`), body("", ""), false},
		{"the whole alone has one of outputs", body("", ""), body("", `,"y":1`), false},
		{"what it retires is no list", bytes.Replace(body("", ""), []byte(`"retired":[]`), []byte(`"retired":{"a":1}`), 1), body("", ""), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := plan.Within(c.rest, c.whole); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// FuzzWithin: no stored text makes it fail, and what cannot be read is within nothing.
func FuzzWithin(f *testing.F) {
	f.Add([]byte(`{"changeset":{"nodes":[{"id":[]}],"outputs":{}},"format":1}`), []byte(`{"changeset":{"nodes":[{"id":{}}]},"format":1}`))
	f.Add([]byte(`null`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, rest, whole []byte) {
		if plan.Within(rest, whole) && (len(rest) == 0 || len(whole) == 0) {
			t.Error("nothing is within something")
		}
	})
}
