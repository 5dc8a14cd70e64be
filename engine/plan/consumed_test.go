package plan_test

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func outputsOf(outputs map[string]any) *state.Snapshot {
	s := emptySnapshot()
	s.Rows[fileID] = &state.Row{Type: "local.File", Status: state.StatusCreated, Outputs: outputs}
	return s
}

func op(name string, args ...any) map[string]any {
	return model.Transform{Op: name, Args: args}.Marker()
}

func TestRefDigests(t *testing.T) {
	snapshot := outputsOf(map[string]any{"checksum": "a-checksum", "big": int64(1) << 60})
	snapshot.Rows["n:aws.Database:d"] = &state.Row{Status: state.StatusCreated, Outputs: map[string]any{"token": "t"}}
	for _, tc := range []struct {
		why, resourceType, field string
		value                    any
		want                     string
	}{
		{"ST-21 the published scheme", "local.File", "content", ref(fileID, "checksum"), "sha256:78ce1903251f41b573fcd73e8031c56bd4f9b357e97131b8812865c032c0b399"},
		{"a combinator of literals has one as well", "local.File", "content", op("concat", "a-", "checksum"), "sha256:78ce1903251f41b573fcd73e8031c56bd4f9b357e97131b8812865c032c0b399"},
		{"a literal has none", "local.File", "content", "a-checksum", ""},
		{"what does not resolve has none", "local.File", "content", ref(fileID, "nope"), ""},
		{"a value without canonical form has none", "local.File", "content", ref(fileID, "big"), ""},
		{"a sensitive field has none", "aws.Database", "password", ref(fileID, "checksum"), ""},
		{"a sensitive output leaves none", "local.File", "content", op("concat", ref("n:aws.Database:d", "token")), ""},
		{"an unknown upstream type leaves none", "local.File", "content", ref("n:other.Type:x", "y"), ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			n := &ir.Node{Type: tc.resourceType, Properties: map[string]any{tc.field: tc.value}}
			got := refDigests(n, testSchemas(t), snapshot)
			if got[tc.field] != tc.want || len(got) > 1 {
				t.Errorf("%v; want %q", got, tc.want)
			}
		})
	}
}
