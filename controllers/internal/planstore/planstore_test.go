package planstore

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func stored() *state.PlanRecord {
	body := []byte(`{"format":1}`)
	return &state.PlanRecord{
		ID: "id", Status: state.PlanPlanned, ChangesetDigest: "sha256:aa", InputsDigest: "sha256:ii", BaseSerial: 7,
		Head: state.Head{UID: "u", Generation: 3, Revision: "sha256:rr", ArtifactDigest: "sha256:ir"},
		Body: body, Hash: state.PlanHash(body),
	}
}

func TestCheck(t *testing.T) {
	if err := Check(stored(), stored(), state.PlanPlanned); err != nil {
		t.Fatalf("the record as it was stored: %v", err)
	}
	cases := []struct {
		reason string
		change func(current, running *state.PlanRecord)
	}{
		{"another plan", func(c, _ *state.PlanRecord) { c.ID = "newer" }},
		{"discarded meanwhile", func(c, _ *state.PlanRecord) { c.Status = state.PlanDiscarded }},
		{"applied meanwhile", func(c, _ *state.PlanRecord) { c.Status = state.PlanApplied }},
		{"a status of another release", func(c, _ *state.PlanRecord) { c.Status = "Simmering" }},
		{"another generation", func(c, _ *state.PlanRecord) { c.Head.Generation++ }},
		{"another revision", func(c, _ *state.PlanRecord) { c.Head.Revision = "sha256:xx" }},
		{"another artifact", func(c, _ *state.PlanRecord) { c.Head.ArtifactDigest = "" }},
		{"an empty identity on both sides", func(c, r *state.PlanRecord) { c.Head.UID, r.Head.UID = "", "" }},
		{"an empty revision on both sides", func(c, r *state.PlanRecord) { c.Head.Revision, r.Head.Revision = "", "" }},
		{"another changeset", func(c, _ *state.PlanRecord) { c.ChangesetDigest = "sha256:bb" }},
		{"one byte of the body", func(c, _ *state.PlanRecord) { c.Body[2] ^= 1 }},
		{"no body", func(c, _ *state.PlanRecord) { c.Body = nil }},
		{"body and hash exchanged together", func(c, _ *state.PlanRecord) {
			c.Body, c.Hash = []byte("x"), state.PlanHash([]byte("x"))
		}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			current, running := stored(), stored()
			c.change(current, running)
			if err := Check(current, running, state.PlanPlanned); !model.IsKind(err, model.PlanDriftError) {
				t.Errorf("answer %v, want a PlanDriftError", err)
			}
		})
	}
	// A run that is under way started something already.
	superseded := stored()
	superseded.ID, superseded.Status = "newer", state.PlanPlanned
	for status, want := range map[state.PlanStatus]string{
		state.PlanPlanned: "nothing was started", state.PlanApplying: "nothing more is started, what is left is planned again",
	} {
		if err := Check(superseded, stored(), status); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: answer %v, want %q", status, err, want)
		}
	}
	if err := Check(nil, stored(), state.PlanPlanned); !model.IsKind(err, model.PlanDriftError) {
		t.Errorf("no record: %v", err)
	}
}

func TestCovers(t *testing.T) {
	nothing := func(r *state.PlanRecord) *state.PlanRecord { r.Status = state.PlanNoChanges; return r }
	applied := func(r *state.PlanRecord) *state.PlanRecord {
		r.Status, r.ChangesetDigest = state.PlanApplied, "sha256:before"
		return r
	}
	moved := stored()
	moved.Head.Generation++
	grown := stored()
	grown.BaseSerial++
	inputs := stored()
	inputs.InputsDigest = "sha256:jj"
	cases := []struct {
		reason          string
		current, record *state.PlanRecord
		want            bool
	}{
		{"nothing is recorded", nil, stored(), false},
		{"the same plan waits", stored(), stored(), true},
		{"the head moved", stored(), moved, false},
		{"the state moved", stored(), grown, false},
		{"the inputs moved", stored(), inputs, false},
		{"nothing to do, recorded as such", nothing(stored()), nothing(stored()), true},
		{"nothing to do since this head was applied", applied(stored()), nothing(stored()), true},
		{"nothing to do, but a plan waits", stored(), nothing(stored()), false},
		{"applied once, and something to do again", applied(stored()), stored(), false},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := Covers(c.current, c.record); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
