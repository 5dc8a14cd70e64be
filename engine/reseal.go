package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// What is sealed is bound to its partition, row and field, and opens nowhere else (SC-11).
// State that is brought to another partition is sealed anew, and so is what a release
// wrote that bound nothing.

// StateSecrets open what is sealed in a partition.
type StateSecrets interface {
	// Reseal is v with what is sealed in it opened, and sealed again by seal. owner and
	// field are those of plan.Unsealer.
	Reseal(v any, owner, field string, seal func(v any, owner, field string) (any, error)) (any, error)
}

// ImportSecrets make ours what release 0.3 wrote of secrets. They never make a key.
type ImportSecrets interface {
	// Adopt is v with what is sealed in it sealed as this release does.
	Adopt(v any, owner, field string) (any, error)
	// AdoptDigest marks a digest as one that may have been made without a key.
	AdoptDigest(digest string) string
}

// Imported makes state of release 0.3 ours as far as secrets go, in place (ST-22, ST-23):
// the option Imported of the stores, and to be called on a snapshot of version 1 before it
// is restored. A sealed value that does not open is an error: it would never open again.
// newID makes the uid of a row that has none, which what is sealed is bound to.
func Imported(s ImportSecrets, newID func() string) func(context.Context, *state.Snapshot) error {
	return func(_ context.Context, snapshot *state.Snapshot) error {
		for _, row := range rowsOf(snapshot) {
			if row.RowUID == "" {
				row.RowUID = newID()
			}
			for field, digest := range row.SecretDigests {
				row.SecretDigests[field] = s.AdoptDigest(digest)
			}
		}
		return resealed(snapshot, s.Adopt)
	}
}

// rebound is the snapshot with what is sealed in it bound to the partition that it is
// brought to. It is run under the lock of that partition. Within one partition it is as it
// was, for which no key is needed.
func (e *Engine) rebound(s *state.Snapshot, from, to StatePlace) (*state.Snapshot, error) {
	if from.Partition == to.Partition {
		return s, nil
	}
	out := copied(s)
	return out, resealed(out, func(v any, owner, field string) (any, error) {
		switch {
		case !model.HoldsSealed(v):
			return v, nil
		case from.Secrets == nil || to.Recorder == nil:
			return nil, unsealable(from, to)
		}
		return from.Secrets.Reseal(v, owner, field, func(plain any, owner, field string) (any, error) {
			sealed, err := to.Recorder.Seal(plain, owner, field)
			if err == nil && !model.HoldsSealed(sealed) && !e.PlainSecrets {
				err = unsealable(from, to)
			}
			return sealed, err
		})
	})
}

func unsealable(from, to StatePlace) error {
	return model.Errorf(model.SecretsError, model.ClassUser,
		"it is sealed for %s, and there is no key to open it and to seal it for %s; provide the install keys of both", from.Label, to.Label)
}

// resealed gives all outputs of a snapshot to reseal, in place, with what they are bound to.
func resealed(s *state.Snapshot, reseal func(v any, owner, field string) (any, error)) error {
	for _, row := range rowsOf(s) {
		for _, field := range slices.Sorted(maps.Keys(row.Outputs)) {
			v, err := reseal(row.Outputs[field], row.RowUID, field)
			if err != nil {
				return model.Errorf(model.KindOf(err), model.ClassOf(err), "the output '%s' of node %+.200q cannot be taken over: %w", field, row.ID, err)
			}
			row.Outputs[field] = v
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Outputs)) {
		out := s.Outputs[key]
		v, err := reseal(out.Value, key, "")
		if err != nil {
			return model.Errorf(model.KindOf(err), model.ClassOf(err), "the output %+.200q cannot be taken over: %w", key, err)
		}
		out.Value = v
		s.Outputs[key] = out
	}
	return nil
}

// rowsOf is every row of a snapshot, the old halves of replaces included, in a fixed order.
func rowsOf(s *state.Snapshot) []*state.Row {
	rows := make([]*state.Row, 0, len(s.Rows)+len(s.Pending))
	for _, id := range slices.Sorted(maps.Keys(s.Rows)) {
		rows = append(rows, s.Rows[id])
	}
	for _, id := range slices.Sorted(maps.Keys(s.Pending)) {
		rows = append(rows, s.Pending[id].Row)
	}
	return rows
}

func copied(s *state.Snapshot) *state.Snapshot {
	out := state.NewSnapshot()
	out.Serial = s.Serial
	for id, row := range s.Rows {
		out.Rows[id] = row.Clone()
	}
	for id, entry := range s.Pending {
		out.Pending[id] = entry.Clone()
	}
	for key, o := range s.Outputs {
		out.Outputs[key] = o.Clone()
	}
	return out
}
