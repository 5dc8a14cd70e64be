package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// What no row or output can keep is refused before anything is locked, with the place
// where it stands (ST-20).
func TestUnrecordable(t *testing.T) {
	deep := any("x")
	for range state.MaxNesting + 1 {
		deep = []any{deep}
	}
	for what, c := range map[string]struct {
		value any
		says  string
	}{
		"NUL":                    {"a\x00b", "NUL"},
		"NUL in a combinator":    {model.Transform{Op: "concat", Args: []any{"a\x00", ref(fileID, "checksum")}}.Marker(), "NUL"},
		"NUL in a key":           {map[string]any{"a\x00": "b"}, "NUL"},
		"not UTF-8":              {[]any{"\xff"}, "UTF-8"},
		"not a number":           {math.NaN(), "finite"},
		"a sealed value":         {map[string]any{"$sealed": "v2:x"}, "$sealed"},
		"a sealed value, deep":   {[]any{map[string]any{"k": map[string]any{"$sealed": "v2:x"}}}, "$sealed"},
		"too large":              {strings.Repeat("x", state.MaxDocument), "bytes"},
		"nested without an end":  {deep, "nested"},
		"what is not even there": {make(chan int), "no JSON form"},
	} {
		for place, put := range map[string]func(into *config){
			fileID + ".content":           func(into *config) { into.nodes[fileID].Properties["content"] = c.value },
			netID + ".tags":               func(into *config) { into.nodes[netID].Properties["tags"] = c.value },
			"output 'n:o'":                func(into *config) { into.output("n:o", c.value) },
			"output 'n:o' that is a list": func(into *config) { into.output("n:o", []any{c.value}) },
		} {
			t.Run(what+" in "+place, func(t *testing.T) {
				snapshot := applied(t, network())
				compilation, g := network().compile(t)
				edited := network()
				put(edited)
				// Not everything here has a hash: the language refuses it, an artifact
				// or another front end may not.
				compilation.Outputs = edited.outputs
				for i := range compilation.Document.Nodes {
					n := &compilation.Document.Nodes[i]
					n.Properties = edited.nodes[n.ID].Properties
					compilation.Hashes[n.ID] += "'"
				}
				p, err := plan.New(plan.Input{Compilation: compilation, Graph: g, Snapshot: snapshot, Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt})
				if err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(place, " that")
				checkRefusal(t, p.Unsupported(), model.StateError, name, c.says)
			})
		}
	}
}

func TestTogetherTooLarge(t *testing.T) {
	c := network()
	half := strings.Repeat("x", state.MaxDocument/2)
	c.nodes[fileID].Properties["content"], c.nodes[fileID].Properties["more"] = half, half
	checkRefusal(t, mustPlan(t, c, emptySnapshot()).Unsupported(), model.StateError, fileID, "together")
}

// An idle node has its row already, and a store that took it can keep it.
func TestIdleNodesAreNotJudged(t *testing.T) {
	c := network()
	snapshot := applied(t, c)
	c.nodes[fileID].Properties["content"] = map[string]any{"$sealed": "x"}
	snapshot.Rows[fileID].Properties = c.nodes[fileID].Properties
	compilation, _ := c.compile(t)
	snapshot.Rows[fileID].InputHash = compilation.Hashes[fileID]
	snapshot.Rows[otherID].InputHash = compilation.Hashes[otherID]
	if err := mustPlan(t, c, snapshot).Unsupported(); err != nil {
		t.Error(err)
	}
}

// While nothing is sealed, what would write a secret down is refused; with key material,
// or where plain text is agreed to, it runs.
func TestUnsealed(t *testing.T) {
	const database = "n:aws.Database:db"
	withDatabase := func(tags string) *config {
		c := network()
		c.add(database, map[string]any{"password": "p", "tags": tags})
		return c
	}
	for _, tc := range []struct {
		why     string
		state   *config
		rows    func(s *state.Snapshot)
		edit    func(c *config)
		refused []string // nil: runs
	}{
		{why: "a create", state: network(), refused: []string{database, "'token'"}},
		{why: "an update records outputs again", state: withDatabase("old"), refused: []string{database, "'token'"}},
		{why: "finishing a replace", state: withDatabase("new"), refused: []string{database},
			rows: func(s *state.Snapshot) { interrupt(s, database, state.DestroyBeforeCreate, "") }},
		{why: "nothing to do", state: withDatabase("new")},
		{why: "a delete", state: withDatabase("new"), edit: func(c *config) { delete(c.nodes, database) }},
		{why: "an output made of a secret", state: withDatabase("new"), refused: []string{"'n:o'"},
			edit: func(c *config) {
				c.output("n:o", model.Transform{Op: "concat", Args: []any{"x", ref(database, "token")}}.Marker())
			}},
		{why: "an output made of a sensitive output", state: withDatabase("new"), refused: []string{"'n:o'"},
			rows: func(s *state.Snapshot) { s.Outputs["m:secret"] = state.Output{Value: "v", Sensitive: true} },
			edit: func(c *config) { c.output("n:o", model.StackOutputMarker("m:secret")) }},
		{why: "an output made of something else", state: withDatabase("new"), edit: func(c *config) { c.output("n:o", ref(fileID, "checksum")) }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			snapshot := applied(t, tc.state)
			if tc.rows != nil {
				tc.rows(snapshot)
			}
			c := withDatabase("new")
			if tc.edit != nil {
				tc.edit(c)
			}
			compilation, g := c.compile(t)
			in := plan.Input{Compilation: compilation, Graph: g, Snapshot: snapshot, Schemas: testSchemas(t), OnFailure: plan.OnFailureHalt}
			for _, in.PlainSecrets = range []bool{false, true} {
				p, err := plan.New(in)
				if err != nil {
					t.Fatal(err)
				}
				err = p.Unsupported()
				if in.PlainSecrets || tc.refused == nil {
					if err != nil {
						t.Errorf("plain secrets %t: error %v; want none", in.PlainSecrets, err)
					}
					continue
				}
				checkRefusal(t, err, model.AtlantideError, append(tc.refused, "plain text")...)
			}
		})
	}
}

// What is copied from the config's own files is as open as the config.
func TestUnsealedSourceFile(t *testing.T) {
	schemas := testSchemas(t)
	schemas.Type("aws.Database").Field("token").FromSource = true
	c := newConfig()
	c.add("n:aws.Database:db", map[string]any{"password": "p", "tags": "t"})
	c.output("n:o", ref("n:aws.Database:db", "token"))
	compilation, g := c.compile(t)
	p, err := plan.New(plan.Input{Compilation: compilation, Graph: g, Snapshot: emptySnapshot(), Schemas: schemas, OnFailure: plan.OnFailureHalt})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Unsupported(); err != nil {
		t.Error(err)
	}
}
