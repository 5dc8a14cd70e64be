package main

import (
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/snapshot"
)

// readSnapshot reads a state snapshot as "state backup" writes it. The kind of a row, which
// the vectors leave out, is the type's; its uid, which they leave out too, is its id.
func readSnapshot(path string, schemas *model.Schemas) (*state.Snapshot, error) {
	file, err := snapshot.Read(path)
	if err != nil {
		return nil, err
	}
	for id, r := range file.Rows {
		r.RowUID, r.Kind = id, model.KindResource
		if schema := schemas.Type(r.Type); schema != nil {
			r.Kind = schema.Kind
		}
	}
	return file.Snapshot, nil
}
