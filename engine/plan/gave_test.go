package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// A reference stands for what it gave when the row was written; where its upstream has
// moved on, nobody knows what that was.
func TestRecordedInputs(t *testing.T) {
	up := model.Reference{NodeID: fileID, Output: "checksum"}
	gives := func(v any) plan.Values {
		return plan.Values{Output: func(r model.Reference) (any, bool) { return v, v != nil && r == up }}
	}
	digests, err := plan.RefDigests(&ir.Node{ID: otherID, Type: "local.File", Properties: map[string]any{"content": up.Marker()}}, testSchemas(t), gives("one"), nil, nil)
	if err != nil || digests["content"] == "" {
		t.Fatal(digests, err)
	}
	for _, tc := range []struct {
		why     string
		digests map[string]string
		now     any
		want    map[string]any
	}{
		{"the same value", digests, "one", map[string]any{"path": "p", "content": "one"}},
		{"another one", digests, "two", map[string]any{"path": "p"}},
		{"none", digests, nil, map[string]any{"path": "p"}},
		{"a row of an older release, which records nothing", nil, "two", map[string]any{"path": "p", "content": "two"}},
		{"a digest of a later scheme", map[string]string{"content": "v9:x"}, "two", map[string]any{"path": "p", "content": "two"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			row := &state.Row{Properties: map[string]any{"path": "p", "content": up.Marker()}, RefDigests: tc.digests}
			if diff := cmp.Diff(tc.want, plan.RecordedInputs(row, gives(tc.now), nil)); diff != "" {
				t.Errorf("inputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSameField(t *testing.T) {
	const digest = "sha256:x"
	inputs := map[string]any{"f": "one"}
	up := model.Reference{NodeID: fileID, Output: "checksum"}
	node := &ir.Node{ID: otherID, Type: "local.File", Properties: map[string]any{"f": up.Marker()}}
	plain, err := plan.RefDigests(node, testSchemas(t), plan.Values{Output: func(model.Reference) (any, bool) { return "one", true }}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	salted := map[string]string{"f": "salted:salt"}
	for _, tc := range []struct {
		why            string
		recorded, next map[string]string // digests
		was            map[string]any
		same, known    bool
		digests        plan.SecretDigests
	}{
		{"two digests decide", map[string]string{"f": digest}, map[string]string{"f": digest}, map[string]any{"f": "two"}, true, true, nil},
		{"two digests that differ", map[string]string{"f": digest}, map[string]string{"f": "sha256:y"}, map[string]any{"f": "one"}, false, true, nil},
		{"a digest and a literal", map[string]string{"f": digest}, nil, map[string]any{"f": "one"}, false, true, nil},
		{"two literals", nil, nil, map[string]any{"f": "one"}, true, true, nil},
		{"what has become a secret since, and is the same", plain, salted, map[string]any{}, true, true, saltedBy("salt")},
		{"what has become a secret since, and is another", map[string]string{"f": digest}, salted, map[string]any{}, false, true, saltedBy("salt")},
		{"what was a secret and is the same", salted, plain, map[string]any{}, true, true, saltedBy("salt")},
		{"what was a secret and is another", map[string]string{"f": "salted:x"}, plain, map[string]any{}, false, true, saltedBy("salt")},
		{"what was a secret and was salted with another key", map[string]string{"f": "salted:old"}, salted, map[string]any{}, true, true, saltedBy("old")},
		{"what was a secret, and there is no key", salted, plain, map[string]any{}, false, false, nil},
		{"two literals that differ", nil, nil, map[string]any{"f": "two"}, false, true, nil},
		{"what does not resolve is not known", nil, nil, map[string]any{}, false, false, nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			row := &state.Row{Properties: map[string]any{"f": nil}, RefDigests: tc.recorded}
			if same, known := plan.SameField(row, &state.Row{RefDigests: tc.next}, "f", tc.was, inputs, tc.digests); same != tc.same || known != tc.known {
				t.Errorf("same %v, known %v", same, known)
			}
		})
	}
}

// saltedBy is key material under which "one" has one digest.
type saltedBy string

func (s saltedBy) Digest(string, string) (string, error) { return string(s), nil }

func (s saltedBy) Matches(digest, text string, _ ...string) (bool, error) {
	return digest == string(s) && text == `"one"`, nil
}
