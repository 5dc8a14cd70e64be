package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// A pooler that hands every transaction to another session keeps no prepared statements;
// its DSN says so. Rows arrive as texts then, and are the same.
func TestWithoutPreparedStatements(t *testing.T) {
	dsn := devenv.Database(t)
	s := open(t, dsn)
	partition := newPartition(t, s)
	row := &state.Row{
		ID: "s:local.Null:é", Type: "local.Null", Status: state.StatusCreated, PreventDestroy: true,
		Outputs: map[string]any{"é\"\\": []any{int64(1), 1.0, nil, true}}, Properties: map[string]any{"t": "漢"},
		Dependencies: []string{"s:local.Null:b"}, RefDigests: map[string]string{"a": "b"}, UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
	if err := s.Commit(t.Context(), partition, take(t, s, partition, "run"), state.Batch{PutRows: []*state.Row{row}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]*state.Row{row.ID: row}
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		got, err := open(t, dsn+"&default_query_exec_mode="+mode).Load(t.Context(), partition)
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		if diff := cmp.Diff(want, got.Rows, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Row{}, "Epoch")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}
