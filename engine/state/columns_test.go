package state_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/statetest"
)

// columnsOf are the JSON columns of a row as a table keeps them.
func columnsOf(t interface{ Fatal(args ...any) }, r *state.Row) state.Columns {
	var c state.Columns
	doc := r.Document()
	for name, into := range map[string]*[]byte{
		"outputs": &c.Outputs, "properties": &c.Properties, "dependencies": &c.Dependencies, "depends_on": &c.DependsOn,
		"secret_digests": &c.SecretDigests, "ref_digests": &c.RefDigests, "refreshed_outputs": &c.RefreshedOutputs,
	} {
		var err error
		if *into, err = model.EncodeJSON(doc[name]); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A row that is written and read column by column is the one that its document gives.
func TestLawColumnsAreTheDocument(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := statetest.DrawRow(rt, "s:local.File:a")
		want, err := model.EncodeJSON(row.Document())
		if err != nil {
			rt.Fatal(err)
		}
		got, err := row.AppendJSON([]byte("before"))
		if err != nil || string(got) != "before"+string(want) {
			rt.Fatalf("%v\n%s, not\n%s", err, got, want)
		}
		columns := columnsOf(rt, row)
		read := *row
		read.Outputs, read.Properties, read.Dependencies, read.DependsOn = nil, nil, nil, nil
		read.SecretDigests, read.RefDigests, read.RefreshedOutputs = nil, nil, nil
		if err := columns.Decode(&read); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(row, &read, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("row (-want +got):\n%s", diff)
		}
	})
}

func TestUnreadableColumns(t *testing.T) {
	for name, spoil := range map[string]func(c *state.Columns){
		"outputs":           func(c *state.Columns) { c.Outputs = []byte("{") },
		"properties":        func(c *state.Columns) { c.Properties = []byte("[]") },
		"dependencies":      func(c *state.Columns) { c.Dependencies = []byte("[1]") },
		"depends_on":        func(c *state.Columns) { c.DependsOn = []byte("{}") },
		"secret_digests":    func(c *state.Columns) { c.SecretDigests = []byte(`{"a":1}`) },
		"ref_digests":       func(c *state.Columns) { c.RefDigests = []byte(`[]`) },
		"refreshed_outputs": func(c *state.Columns) { c.RefreshedOutputs = nil },
	} {
		row := &state.Row{ID: "s:local.File:a"}
		c := columnsOf(t, row)
		spoil(&c)
		err := c.Decode(row)
		if !model.IsKind(err, model.StateError) || !strings.Contains(err.Error(), "s:local.File:a") || !strings.Contains(err.Error(), "'"+name+"'") {
			t.Errorf("%s: %v does not name node and column", name, err)
		}
	}
	row := &state.Row{ID: "s:local.File:a", Outputs: map[string]any{"a": 1}}
	if _, err := row.AppendJSON(nil); !model.IsKind(err, model.IRError) {
		t.Errorf("what has no JSON form: %v", err)
	}
}
