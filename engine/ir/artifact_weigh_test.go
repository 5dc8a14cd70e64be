package ir

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// A small file that asks for much memory is refused before anything of it is made.
func TestWeighRefusesWithoutAllocation(t *testing.T) {
	for _, c := range []struct {
		why, text string
		refused   bool
	}{
		{"values", "[" + strings.Repeat("0,", maxArtifactValues) + "0]", true},
		{"fewer values", "[" + strings.Repeat("0,", maxArtifactValues-2) + "0]", false},
		{"objects", "[" + strings.Repeat(`{"a":1},`, maxArtifactValues/4) + "0]", true},
		{"members of one object", "{" + strings.Repeat(`"a":0,`, maxArtifactValues/3+9) + `"a":0}`, true},
		{"a long text", `"` + strings.Repeat("a", textUnit*maxArtifactValues) + `"`, true},
		{"brackets and escapes in a text", `["` + strings.Repeat(`[{\"`, 2000) + `"]`, false},
		{"depth", strings.Repeat("[", maxArtifactDepth+2) + strings.Repeat("]", maxArtifactDepth+2), true},
		{"the deepest", strings.Repeat("[", maxArtifactDepth+1) + strings.Repeat("]", maxArtifactDepth+1), false},
	} {
		t.Run(c.why, func(t *testing.T) {
			data := []byte(c.text)
			if err := weigh(data); (err != nil) != c.refused || err != nil && model.KindOf(err) != model.ArtifactError {
				t.Errorf("error %v, want a refusal: %v", err, c.refused)
			}
			if n := testing.AllocsPerRun(1, func() { _ = weigh(data) }); n > 16 { // the error
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// What is too large is refused before its text exists.
func TestEncodeCountsFirst(t *testing.T) {
	a := &Artifact{Document: &Document{}, Outputs: []Output{{Key: "s:x", Value: strings.Repeat("a", 100)}}}
	data, err := a.Encode(0)
	if err != nil || cap(data) != len(data) {
		t.Fatalf("%d bytes in room for %d, error %v", len(data), cap(data), err)
	}
	if _, err := a.Encode(len(data)); err != nil {
		t.Error(err)
	}
	if _, err := a.Encode(len(data) - 1); model.KindOf(err) != model.ArtifactError {
		t.Errorf("one byte too many: error %v", err)
	}
}
