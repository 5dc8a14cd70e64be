package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// X-52, PL-17: who reads the documented JSON finds all of it, and beside it what later
// releases added; of every change alike.
func TestKeysOfThePayload(t *testing.T) {
	p := everyChange(t)
	want := []string{"blocked", "changes", "envs", "inputs", "outputs", "summary", "violations", "warnings"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(p.Payload()))); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	changes, _ := p.Payload()["changes"].([]any)
	if len(changes) != len(p.Changes) || len(changes) == 0 {
		t.Fatalf("%d changes of %d", len(changes), len(p.Changes))
	}
	wantChange := []string{"action", "changed_fields", "conditional", "create_before_destroy", "lifecycle_changes", "node_id", "state_only", "upstream_moved"}
	for _, change := range changes {
		if diff := cmp.Diff(wantChange, slices.Sorted(maps.Keys(change.(map[string]any)))); diff != "" {
			t.Errorf("change (-want +got):\n%s", diff)
		}
	}
}

// SC-16: what lies sealed in the state is not shown in a plan, although nothing but its being
// sealed says that it is a secret, and although the plan can open it.
func TestWhatLiesSealedIsNotShown(t *testing.T) {
	const up, reader = "m:local.File:up", "m:local.File:reader"
	c := newConfig()
	c.file(up, "up.txt", "")
	c.file(reader, "r.txt", ref(up, "checksum"))
	snapshot := applied(t, c)
	row := snapshot.Rows[up]
	row.RowUID, row.Outputs["checksum"] = "u", map[string]any{model.KeySealed: "k/u/checksum/hunter2"}
	p := mustPlan(t, c, snapshot, newVault().with)
	if got := change(t, p, reader); got.Action != plan.Update || len(got.UpstreamMoved) != 1 {
		t.Fatalf("the plan does not see that the value moved: %+v", got)
	}
	for _, detail := range []plan.Detail{plan.DetailShort, plan.DetailFull} {
		text := p.TextWith(plan.TextOptions{Detail: detail})
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "content: (sensitive) (same reference") {
			t.Errorf("%s:\n%s", detail, text)
		}
	}
	if encoded, err := model.EncodeJSON(p.PayloadWithValues()); err != nil || strings.Contains(string(encoded), "hunter2") {
		t.Errorf("%s, %v", encoded, err)
	}
}
