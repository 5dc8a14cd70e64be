package cel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
	"github.com/atlantide-org/atlantide-operator/engine/policy/cel"
)

const (
	nodeID = "prod:aws.Database:main"
	canary = "hunter2-canary"
)

// database is a type with a sensitive input.
func database() *model.ResourceType {
	text := model.FieldType{Kind: model.KindString}
	t := &model.ResourceType{Name: "aws.Database", Provider: "aws", Class: "Database", Kind: model.KindResource}
	for _, name := range []string{"name", "size", "ratio", "public", "owner", "address", "zones", "tags", "nested", "long", "mixed"} {
		t.Fields = append(t.Fields, model.Field{Name: name, Type: text})
	}
	t.Fields = append(t.Fields, model.Field{Name: "password", Type: text, Sensitive: true})
	return t
}

// update is a change with a value of every kind on its desired side.
func update() *policy.Change {
	ref := model.Reference{NodeID: "prod:aws.Vpc:v", Output: "id"}.Marker()
	return &policy.Change{
		NodeID: nodeID, Type: "aws.Database", Action: "update", ChangedFields: []string{"name", "size"}, Schema: database(),
		Desired: map[string]any{
			"name": "main", "size": int64(20), "ratio": 1.5, "public": false, "owner": nil,
			"address":  ref,
			"zones":    []any{"a", "b"},
			"tags":     map[string]any{"env": "prod", "ref": ref},
			"nested":   map[string]any{"token": model.Transform{Op: "concat", Args: []any{"x", model.SecretRef{Name: "t"}.Marker()}}.Marker()},
			"mixed":    []any{"a", ref},
			"long":     strings.Repeat("a", 70_000),
			"password": canary,
		},
		Prior: map[string]any{"name": "old", "size": int64(10), "password": map[string]any{model.KeySealed: "c2VhbGVk"}},
	}
}

func create() *policy.Change {
	c := update()
	c.Action, c.Prior, c.ChangedFields = "create", nil, nil
	return c
}

func remove() *policy.Change {
	c := update()
	c.Action, c.Desired, c.ChangedFields = "delete", nil, nil
	return c
}

func newCompiler(t testing.TB) *cel.Compiler {
	t.Helper()
	compiler, err := cel.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// verdict is what a rule says of a change.
func verdict(t testing.TB, compiler *cel.Compiler, s cel.Source, params map[string]any, c *policy.Change) string {
	t.Helper()
	demanded, _, err := compiler.Compile(s)
	if err != nil {
		t.Fatalf("%s: %v", s.Expression, err)
	}
	check, err := demanded("rule", params)
	if err != nil {
		t.Fatal(err)
	}
	message, err := check(context.Background(), c)
	if err != nil {
		t.Fatalf("%s: %v", s.Expression, err)
	}
	return message
}

func TestRules(t *testing.T) {
	const (
		pass  = ""
		unmet = "the rule is not met"
		later = "known only after the apply"
		hush  = "a value that is sensitive"
	)
	compiler := newCompiler(t)
	for _, tc := range []struct {
		why, expression string
		change          *policy.Change
		wants           string
	}{
		{"true allows", `true`, update(), pass},
		{"false does not", `false`, update(), unmet},
		{"each field of a change is what it says", `change.nodeId == "prod:aws.Database:main" && change.action == "update" && change.stack == "prod" &&
			change.type == "aws.Database" && change.changedFields == ["name", "size"] && !change.conditional`, update(), pass},
		{"values of every kind", `change.desired.name == "main" && change.desired.size == 20 && change.desired.ratio < 2 &&
			change.desired.public == false && change.desired.owner == null && "a" in change.desired.zones`, update(), pass},
		{"both sides", `change.desired.size >= change.prior.size`, update(), pass},
		{"parameters", `change.desired.size <= params.most`, update(), pass},
		{"functions on texts", `change.desired.name.upperAscii().replace("A", "o") == "MoIN" && change.stack.matches("^pr[a-z]+$")`, update(), pass},
		{"comprehensions", `change.desired.zones.all(z, z.size() == 1) && change.desired.zones.map(z, z + "1") == ["a1", "b1"]`, update(), pass},
		{"a presence test of a side", `!has(change.prior) && has(change.desired)`, create(), pass},

		{"a missing side is an error", `change.prior.size == 10`, create(), "change.prior is not set"},
		{"also of a delete", `change.desired.name != "x"`, remove(), "change.desired is not set"},
		{"a missing property is an error", `change.desired.title != "x"`, update(), "no such key: title"},
		{"a missing parameter is an error", `change.desired.size < params.least`, update(), "no such key: least"},
		{"values of other types are not compared in silence", `change.desired.zones < 3`, update(), "no such overload"},
		{"has() of a field of a text is no answer", `!has(change.desired.name.x)`, update(), "cannot be evaluated"},
		{"a division by zero", `1 / (change.desired.size - 20) == 0`, update(), "division by zero"},
		{"an error cannot be compared away", `!(change.desired.nope == 1)`, update(), "no such key"},

		{"a reference is not known", `change.desired.address == "x"`, update(), later},
		{"nor is it known not to be", `change.desired.address != "x"`, update(), later},
		{"nor what it holds", `change.desired.address["$ref"] == "x"`, update(), later},
		{"nor what is made from it", `size(change.desired.address + "x") > 3`, update(), later},
		{"a list that holds one is not unequal", `change.desired.mixed != ["a", "b"]`, update(), later},
		{"in whichever order", `["a", "b"] != change.desired.mixed`, update(), later},
		{"a list that holds one may hold more", `!("b" in change.desired.mixed)`, update(), later},
		{"a literal list holds what it is given", `!("b" in ["a", change.desired.address])`, update(), later},
		{"but holds what it shows", `"a" in change.desired.mixed`, update(), pass},
		{"a quantifier rests on every element", `change.desired.mixed.all(m, m != "b")`, update(), later},
		{"unless one decides", `change.desired.mixed.exists(m, m == "a")`, update(), pass},
		{"what decides alone decides", `change.action == "update" || change.desired.address == "x"`, update(), pass},
		{"in whichever order it stands", `!(change.desired.address == "x" && change.action == "delete")`, update(), pass},
		{"a choice by it is open", `change.desired.address == "x" ? true : true`, update(), later},
		{"it can be asked for", `!known(change.desired.address) && known(change.desired.name) && !sensitive(change.desired.address)`, update(), pass},
		{"at any depth", `!known(change.desired.tags) && !known(change.desired.mixed) && known(change.desired.zones)`, update(), pass},
		{"asking hides no error", `!known(change.desired.nope)`, update(), "no such key"},
		{"a key is known without its value", `"ref" in change.desired.tags && !("nope" in change.desired.tags)`, update(), pass},
		{"has() of an unknown value is unknown", `has(change.desired.tags.ref)`, update(), later},
		{"other keys are not touched by it", `change.desired.tags.env == "prod"`, update(), pass},

		{"a sensitive value cannot be read", `change.desired.password == "hunter2-canary"`, update(), hush},
		{"nor guessed by its size", `change.desired.password.size() > 8`, update(), hush},
		{"nor by a part", `change.desired.password.startsWith("h")`, update(), hush},
		{"nor through its map", `change.desired == {"password": "hunter2-canary"}`, update(), "sensitive"},
		{"nor the recorded one", `change.prior.password != ""`, update(), hush},
		{"nor a combinator with a secret", `change.desired.nested.token == "x"`, update(), hush},
		{"it can be asked for", `sensitive(change.desired.password) && sensitive(change.desired.nested) && !sensitive(change.desired.name)`, update(), pass},
		{"a sensitive value that is not set is null", `change.desired.password == null`, func() *policy.Change {
			c := update()
			c.Desired["password"] = nil
			return c
		}(), pass},
		{"a type that nobody declares shows nothing", `change.desired.name == "main"`, func() *policy.Change {
			c := update()
			c.Schema = nil
			return c
		}(), hush},
		{"a text over the limit cannot be read", `change.desired.long != "x"`, update(), "too long"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := verdict(t, compiler, cel.Source{Expression: tc.expression}, map[string]any{"most": int64(100)}, tc.change)
			if (got == "") != (tc.wants == pass) || !strings.Contains(got, tc.wants) {
				t.Errorf("%s\ngives %q, want %q", tc.expression, got, tc.wants)
			}
			if got != "" && !strings.HasPrefix(got, nodeID+": ") {
				t.Errorf("%q does not start with the node id", got)
			}
			if strings.Contains(got, canary) && !strings.Contains(tc.expression, canary) {
				t.Errorf("%q holds a sensitive value", got)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	const standard = nodeID + ": the rule is not met: change.desired.size < 5"
	compiler := newCompiler(t)
	for _, tc := range []struct{ why, message, wants string }{
		{"none gives the standard one", ``, standard},
		{"one of its own", `"size " + string(change.desired.size) + " is over " + string(params.most)`, nodeID + ": size 20 is over 4"},
		{"formatted", `"%s has %d of %s".format([change.desired.name, change.desired.size, change.desired.zones])`, nodeID + `: main has 20 of [a, b]`},
		{"control characters are shown", `"a\u001b[31m\nb"`, nodeID + `: a\x1b[31m\x0ab`},
		{"an error in it does not hide the violation", `string(change.desired.nope)`, standard},
		{"nor does what is not known", `"at " + change.desired.address`, standard},
		{"a sensitive value is not told", `"it is " + change.desired.password`, standard},
		{"nor by a format", `"%s".format([change.desired.nested])`, standard},
		{"nor is an empty one", `" "`, standard},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := verdict(t, compiler, cel.Source{Expression: "change.desired.size < 5", Message: tc.message}, map[string]any{"most": int64(4)}, update())
			if got != tc.wants {
				t.Errorf("%s\ngives %q\nwant  %q", tc.message, got, tc.wants)
			}
		})
	}
	long := verdict(t, compiler, cel.Source{Expression: "false", Message: `"` + strings.Repeat("é", 900) + `"`}, nil, update())
	if n := len([]rune(long)); n > 600 || !strings.HasSuffix(long, "…") {
		t.Errorf("a message of 900 characters is shown in %d", n)
	}
}
