package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// retagged is the plan of an update that gives the tags of one node another value.
func retagged(t fataler, old, now any) *plan.Plan {
	t.Helper()
	c := newConfig()
	c.add(vpcID, map[string]any{"cidr_block": "10.0.0.0/16", "tags": old})
	snapshot := applied(t, c)
	c.nodes[vpcID].Properties = map[string]any{"cidr_block": "10.0.0.0/16", "tags": now}
	return mustPlan(t, c, snapshot)
}

// lines are what a full text tells of the only change.
func lines(p *plan.Plan) []string {
	var told []string
	for line := range strings.Lines(p.TextWith(plan.TextOptions{Detail: plan.DetailFull})) {
		if text, ok := strings.CutPrefix(line, "      "); ok {
			told = append(told, strings.TrimSuffix(text, "\n"))
		}
	}
	return told
}

func object(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func statement(sid string, actions ...any) map[string]any {
	return object("Sid", sid, "Effect", "Allow", "Action", actions)
}

func TestPlaces(t *testing.T) {
	long := strings.Repeat("x", 100)
	secret := model.SecretRef{Name: "app/key"}.Marker()
	for _, tc := range []struct {
		why      string
		old, now any
		want     []string
	}{
		{"a scalar is a place", "a", "b", []string{"tags: 'a' → 'b'"}},
		{"a value of another kind is told whole", "a", []any{"b"}, []string{"tags: 'a' → ['b']"}},
		{"a member that changes, comes and goes", object("a", "1", "b", "2"), object("a", "3", "c", "4"), []string{
			"tags.a: '1' → '3'", "- tags.b: '2'", "+ tags.c: '4'",
		}},
		{"a key that is no name is quoted", object("a b", "1", "", "2"), object("a b", "3", "", "4"), []string{"tags['']: '2' → '4'", "tags['a b']: '1' → '3'"}},
		{"null is a value", object("a", nil, "b", "x"), object("a", "x", "b", nil), []string{"tags.a: None → 'x'", "tags.b: 'x' → None"}},
		{"depth", object("a", object("b", []any{object("c", int64(1))})), object("a", object("b", []any{object("c", int64(2))})), []string{"tags.a.b[0].c: 1 → 2"}},
		{"an item that goes shifts no other", []any{"a", "b", "c", "d"}, []any{"a", "c", "d"}, []string{"- tags[1]: 'b'"}},
		{"an item that comes", []any{"a", "c"}, []any{"a", "b", "c"}, []string{"+ tags[1]: 'b'"}},
		{"an item in the place of another", []any{"a", "b", "c"}, []any{"a", "x", "c"}, []string{"tags[1]: 'b' → 'x'"}},
		{
			"a statement is found by its Sid", []any{statement("A", "x", "y"), statement("B", "x")}, []any{statement("C", "z"), statement("A", "x", "q")},
			[]string{"+ tags[Sid='C']: {'Action': ['z'], 'Effect': 'Allow', 'Sid': 'C'}", "tags[Sid='A'].Action[1]: 'y' → 'q'", "- tags[Sid='B']: {'Action': ['x'], 'Effect': 'Allow', 'Sid': 'B'}"},
		},
		{"the order of what has names", []any{object("name", "a"), object("name", "b")}, []any{object("name", "b"), object("name", "a")}, []string{"tags: ['a', 'b'] → ['b', 'a'] (another order)"}},
		{"one name twice tells nothing apart", []any{object("name", "a", "v", "1"), object("name", "a", "v", "2")}, []any{object("name", "a", "v", "1"), object("name", "a", "v", "3")}, []string{"tags[1].v: '2' → '3'"}},
		{"lines of a text", "a\nb\nc\n", "a\nc\nd\n", []string{"- tags:2: 'b'", "+ tags:3: 'd'"}},
		{"JSON in a text is compared as what it holds", `{"Statement": [{"Sid": "A", "Action": "x"}], "v": 1}`, `{"v":1,"Statement":[{"Action":"y","Sid":"A"}]}`, []string{"tags.Statement[Sid='A'].Action: 'x' → 'y'"}},
		{"JSON in another layout is another text", `{"a":1}`, `{"a": 1}`, []string{`tags: '{"a":1}' → '{"a": 1}'`}},
		{"half of a JSON text is a text", `{"a":1}`, `{"a":2`, []string{`tags: '{"a":1}' → '{"a":2'`}},
		{"long texts are told where they begin to differ", long + "abc", long + "xyz", []string{"tags: '…xxxxxxxxxxxxabc' → '…xxxxxxxxxxxxxyz'"}},
		{"what comes whole and does not fit is taken apart", object(), object("m", object("a", long, "b", "2")), []string{"+ tags.m.a: '" + long[:58] + "…", "+ tags.m.b: '2'"}},
		{"a secret is not told, nor what stood in its place", object("a", "hunter2", "b", "1"), object("a", secret, "b", "2"), []string{"tags.a: (sensitive) → (sensitive)", "tags.b: '1' → '2'"}},
		{"a secret that comes with others", object(), object("m", object("k", secret, "v", "1")), []string{"+ tags.m.k: (sensitive)", "+ tags.m.v: '1'"}},
		{"a list that is given up for a secret", []any{"hunter2"}, secret, []string{"tags: (sensitive) → (sensitive)"}},
		{"control characters", object("a\x1b[2J", "1"), object("a\x1b[2J", "\x1b\u202e"), []string{`tags['a\x1b[2J']: '1' → '\x1b\u202e'`}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(retagged(t, tc.old, tc.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What depends on values that are known later, is forced or moved by itself.
func TestPlacesOfReferences(t *testing.T) {
	golden(t, "changes-full", everyChange(t).TextWith(plan.TextOptions{Detail: plan.DetailFull}))
	golden(t, "changes-none", everyChange(t).TextWith(plan.TextOptions{Detail: plan.DetailNone}))
	golden(t, "hostile-full", hostile(t).TextWith(plan.TextOptions{Detail: plan.DetailFull}))
	snapshot := applied(t, network())
	forced := mustPlan(t, network(), snapshot, func(in *plan.Input) { in.Replace = []string{fileID} })
	if diff := cmp.Diff([]string{"(forced): None → None"}, lines(forced)[:1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFieldsOfEveryAction(t *testing.T) {
	secret := model.SecretRef{Name: "app/key"}.Marker()
	c := newConfig()
	c.add("m:aws.Database:db", map[string]any{"password": "hunter2", "tags": object("a", "1", "k", secret)})
	first := mustPlan(t, c, emptySnapshot())
	snapshot := applied(t, c)
	idle := mustPlan(t, c, snapshot)
	gone := mustPlan(t, newConfig(), snapshot)
	created := []plan.FieldChange{
		{Path: "password", Added: true, Sensitive: true},
		{Path: "tags.a", New: "1", Added: true},
		{Path: "tags.k", Added: true, Sensitive: true},
	}
	var deleted []plan.FieldChange
	for _, f := range created {
		f.Old, f.New, f.Added, f.Removed = f.New, nil, false, true
		deleted = append(deleted, f)
	}
	for _, tc := range []struct {
		why  string
		plan *plan.Plan
		want []plan.FieldChange
	}{{"a create", first, created}, {"an idle node has none", idle, nil}, {"a delete", gone, deleted}} {
		got, omitted := tc.plan.Fields(&tc.plan.Changes[0])
		if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(plan.FieldChange{})); diff != "" || omitted != 0 {
			t.Errorf("%s (-want +got), %d omitted:\n%s", tc.why, omitted, diff)
		}
	}
}

// How much is told of one node is bounded, and what is left out is counted.
func TestPlacesAreBounded(t *testing.T) {
	many := object()
	for i := range 2500 {
		many[fmt.Sprintf("k%04d", i)] = "v"
	}
	p := retagged(t, object("k", "v"), many)
	told := lines(p)
	if len(told) != 101 || told[100] != "… and 2401 more" {
		t.Errorf("%d lines, the last %q", len(told), told[len(told)-1])
	}
	fields, omitted := p.Fields(&p.Changes[0])
	if len(fields) != 1000 || omitted != 1501 {
		t.Errorf("%d places, %d more", len(fields), omitted)
	}
	change, _ := p.PayloadWithValues()["changes"].([]any)[0].(map[string]any)
	if len(change["fields"].([]any)) != 1000 || change["fields_omitted"] != int64(1501) {
		t.Errorf("fields_omitted %v", change["fields_omitted"])
	}

	deep := func(leaf any) any {
		for range 500 {
			leaf = object(strings.Repeat("k", 40), leaf)
		}
		return leaf
	}
	for _, line := range lines(retagged(t, deep("a"), deep("b"))) {
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	list := func(n int, tail ...any) []any { return append(slices.Repeat([]any{"a", "b"}, n), tail...) }
	if told := lines(retagged(t, list(2000, "x"), append([]any{"y"}, list(2000)...))); len(told) == 0 {
		t.Error("lists too long to align are not told")
	}
}

// The work on one node is bounded as a whole: once the first list has used it up, others
// are compared place by place, and what lies behind the last place is not taken apart.
func TestListsOfANodeShareOneBound(t *testing.T) {
	list := func(first, n int) []any {
		items := make([]any, n)
		for i := range items {
			items[i] = int64(first + i)
		}
		return items
	}
	deep := func(leaf string) any {
		return object("x", list(0, 10), "y", object("a", leaf, "b", leaf, "c", leaf))
	}
	p := retagged(t,
		object("a", list(0, 1000), "b", list(0, 1000), "c", deep("1")),
		object("a", list(-1, 1000), "b", list(-1, 1000), "c", deep("2")))
	fields, omitted := p.Fields(&p.Changes[0])
	told := map[string]int{}
	for _, f := range fields {
		told[f.Path[:len("tags.a")]]++
	}
	if diff := cmp.Diff(map[string]int{"tags.a": 2, "tags.b": 998}, told); diff != "" || omitted != 3 {
		t.Errorf("%d omitted (-want +got):\n%s", omitted, diff)
	}
}

// Two values are equal exactly where nothing is told, and what is told holds neither a
// control character nor a secret.
func TestPlacesTellEveryDifference(t *testing.T) {
	const canary = "canary"
	scalar := rapid.SampledFrom([]any{nil, true, int64(1), 1.5, "a", "b\nc", "", `{"a": [1]}`, `{"a": [2]}`, "\x1b", model.SecretRef{Name: canary}.Marker(), ref(fileID, "checksum")})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		below := value(depth - 1)
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(below, 0, 4), func(items []any) any { return items }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"Sid", "name", "a", "b c", "\x1b"}), below, 0, 4), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		old, now := value(3).Draw(t, "old"), value(3).Draw(t, "now")
		c := newConfig()
		c.file(fileID, "f.txt", "")
		c.add(vpcID, map[string]any{"cidr_block": "x", "tags": old})
		snapshot := applied(t, c)
		c.nodes[vpcID].Properties = map[string]any{"cidr_block": "x", "tags": now}
		p := mustPlan(t, c, snapshot)
		text := p.TextWith(plan.TextOptions{Detail: plan.DetailFull})
		if told := len(lines(p)) > 0; told == ir.Equal(old, now) {
			t.Fatalf("equal: %t, told: %t\n%s", ir.Equal(old, now), told, text)
		}
		payload, err := model.EncodeJSON(p.PayloadWithValues())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text+string(payload), canary) {
			t.Fatalf("a secret's name is told:\n%s\n%s", text, payload)
		}
		for _, r := range text {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%U came through", r)
			}
		}
	})
}
