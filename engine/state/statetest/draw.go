package statetest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// DrawValue is any value that a config or a provider can hold, nested up to depth.
func DrawValue(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3:
		// A database has no negative zero; the canonical form has none either.
		return rapid.Float64().Filter(func(f float64) bool { return f == f && f-f == 0 && (f != 0 || 1/f > 0) }).Draw(t, "float")
	case 4:
		return drawText(t)
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = DrawValue(t, depth-1)
		}
		return list
	default:
		return drawMap(t, depth)
	}
}

func drawText(t *rapid.T) string {
	return rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 && (r < 0xd800 || r > 0xdfff) })).Draw(t, "text")
}

func drawMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		m[drawText(t)] = DrawValue(t, depth-1)
	}
	return m
}

func drawTexts(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(drawText), 0, 2).Draw(t, "texts")
}

func drawTextMap(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.Custom(drawText), rapid.Custom(drawText), 0, 2).Draw(t, "text map")
}

// DrawRow is any row of that id that a store keeps.
func DrawRow(t *rapid.T, id string) *state.Row {
	r := &state.Row{
		ID: id, Type: drawText(t), Kind: rapid.SampledFrom([]string{"", model.KindResource, model.KindData}).Draw(t, "kind"),
		Provider: drawText(t), ProviderVersion: drawText(t), InputHash: drawText(t), Outputs: drawMap(t, 2), Properties: drawMap(t, 2),
		Dependencies: drawTexts(t), DependsOn: drawTexts(t), PreventDestroy: rapid.Bool().Draw(t, "guard"), CreateBeforeDestroy: rapid.Bool().Draw(t, "order"),
		Status:        rapid.SampledFrom([]string{state.StatusCreated, state.StatusCreating}).Draw(t, "status"),
		SecretDigests: drawTextMap(t), RefDigests: drawTextMap(t), RefreshedOutputs: drawTexts(t), RowUID: drawText(t), Attempt: drawText(t),
		Epoch: rapid.Int64Range(0, 1<<40).Draw(t, "epoch"),
	}
	if at := rapid.Int64Range(0, 4e9).Draw(t, "at"); at > 0 {
		r.UpdatedAt = time.Unix(at, at*1000%1e9).UTC()
	}
	return r
}

// DrawSnapshot is any content of a partition.
func DrawSnapshot(t *rapid.T) *state.Snapshot {
	ids := []string{"s:local.Null:a", "s:local.Null:b", "t:local.File:ü"}
	s := &state.Snapshot{Serial: rapid.Int64Range(0, 1<<50).Draw(t, "serial"), Rows: map[string]*state.Row{},
		Pending: map[string]*state.PendingDestroy{}, Outputs: map[string]state.Output{}}
	for _, id := range ids {
		if rapid.Bool().Draw(t, "row") {
			s.Rows[id] = DrawRow(t, id)
		}
		if rapid.Bool().Draw(t, "old half") {
			s.Pending[id] = &state.PendingDestroy{NodeID: id, Row: DrawRow(t, id),
				Mode: rapid.SampledFrom([]string{state.DestroyBeforeCreate, state.CreateBeforeDestroy}).Draw(t, "mode")}
		}
	}
	for _, key := range []string{"s:o", "t:secret"} {
		if len(s.Rows)+len(s.Pending) > 0 && rapid.Bool().Draw(t, "output") {
			s.Outputs[key] = state.Output{Value: DrawValue(t, 2), Sensitive: rapid.Bool().Draw(t, "sensitive"), SourceNodes: drawTexts(t)}
		}
	}
	return s
}
