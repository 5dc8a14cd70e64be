package engine

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// BackupState keeps the state as it is under its lock. A state that gains a row while the
// lock is waited for is refused; an empty one is kept like any other (RF-23).
func (e *Engine) BackupState(ctx context.Context, at StatePlace, keep KeepSnapshot) error {
	before, err := at.Store.Load(ctx, at.Partition)
	if err != nil {
		return err
	}
	return e.underLock(ctx, at, func(_ *held, current *state.Snapshot) error {
		if err := refuseGained(at, before, current); err != nil {
			return err
		}
		return keep(ctx, current)
	})
}

// StateRestore is what a restore would do to the state that it was made for.
type StateRestore struct {
	Serial    int64    // of that state
	Restored  []string // ids that appear
	Forgotten []string // ids that are recorded no more; what they stand for stays

	// From is where the snapshot was taken, as far as that is known: its Partition, Label and
	// Secrets. nil = the place that it is restored to.
	From *StatePlace

	snapshot *state.Snapshot
}

// PreviewRestore compares a snapshot with the state. A snapshot of another serial is
// refused without force (RF-24).
func (e *Engine) PreviewRestore(current, snapshot *state.Snapshot, force bool) (*StateRestore, error) {
	if current.Serial != snapshot.Serial && !force {
		err := model.Errorf(model.StateError, model.ClassUser, "the snapshot is of serial %d and the state has serial %d: it was written since", snapshot.Serial, current.Serial)
		err.Hint = "--force restores it all the same"
		return nil, err
	}
	now, then := recorded(current), recorded(snapshot)
	return &StateRestore{Serial: current.Serial, Restored: missingIn(now, then), Forgotten: missingIn(then, now), snapshot: e.adopted(snapshot)}, nil
}

// missingIn is the ids of all that a lacks, sorted.
func missingIn(a, all map[string]*state.Row) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if a[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// RestoreState makes the state what the snapshot says, in one write under the lock, and
// touches no resource. A state that is not the previewed one any more is refused, with
// force too (RF-24). The serial moves on.
func (e *Engine) RestoreState(ctx context.Context, at StatePlace, restore *StateRestore) error {
	return e.underLock(ctx, at, func(h *held, current *state.Snapshot) error {
		if current.Serial != restore.Serial {
			return model.Errorf(model.StateError, model.ClassTransient, "%s was written since the restore was shown (serial %d, then %d); nothing was restored, look again", at.Label, restore.Serial, current.Serial)
		}
		from := at
		if restore.From != nil {
			from = *restore.From
		}
		restored, err := e.rebound(restore.snapshot, from, at)
		if err != nil {
			return err
		}
		return e.commitState(ctx, at, h, state.Replacement(current, restored))
	})
}

// adopted is the snapshot with what its writer may not have known: the kind of a row,
// which its type says, and the uid that a record keeps through renames.
func (e *Engine) adopted(s *state.Snapshot) *state.Snapshot {
	complete := func(row *state.Row) *state.Row {
		row = row.Clone()
		if row.Kind == "" {
			row.Kind = model.KindResource
			if schema := e.Registry.Schemas().Type(row.Type); schema != nil {
				row.Kind = schema.Kind
			}
		}
		if row.RowUID == "" {
			row.RowUID = e.NewID()
		}
		return row
	}
	out := state.NewSnapshot()
	out.Serial = s.Serial
	maps.Copy(out.Outputs, s.Outputs)
	for id, row := range s.Rows {
		out.Rows[id] = complete(row)
	}
	for id, entry := range s.Pending {
		out.Pending[id] = &state.PendingDestroy{NodeID: id, Row: complete(entry.Row), Mode: entry.Mode}
	}
	return out
}

// StateMigration is a migration as it was shown: of these two states and of no other.
type StateMigration struct {
	Source      StateCount // what there is to copy
	Destination StateCount // what is replaced by it

	from, to int64 // the serials of the two
}

// StateCount is how much a state holds: nodes, with the old halves of unfinished replaces, and
// outputs.
type StateCount struct{ Nodes, Outputs int }

// CountState counts what a state holds.
func CountState(s *state.Snapshot) StateCount {
	return StateCount{Nodes: len(s.Rows) + len(s.Pending), Outputs: len(s.Outputs)}
}

// PreviewMigration is what a migration would copy and replace. A destination with nodes is
// refused, unless force says to replace them (RF-25).
func PreviewMigration(source, destination *state.Snapshot, to StatePlace, force bool) (*StateMigration, error) {
	m := &StateMigration{Source: CountState(source), Destination: CountState(destination), from: source.Serial, to: destination.Serial}
	if m.Destination.Nodes > 0 && !force {
		e := model.Errorf(model.StateError, model.ClassUser, "%s already has %d nodes", to.Label, m.Destination.Nodes)
		e.Hint = "--force replaces them"
		return nil, e
	}
	return m, nil
}

// MigrateState copies a state to another place in one write, both locked, and reports what it
// copied; what the destination had, rows and outputs, is replaced (RF-25). The source stays as
// it is. A state that is not the previewed one any more is refused on either side, with force
// too; a source that was written during the copy is an error, and what arrived is compared
// with what was sent.
func (e *Engine) MigrateState(ctx context.Context, from, to StatePlace, m *StateMigration) (copied StateCount, err error) {
	if from.Label == to.Label {
		return copied, model.Errorf(model.StateError, model.ClassUser, "%s cannot be migrated to itself", from.Label)
	}
	// One order for everybody, so that two migrations in opposite directions do not wait
	// for each other.
	first, second := from, to
	if second.Label < first.Label {
		first, second = second, first
	}
	err = e.underLock(ctx, first, func(one *held, _ *state.Snapshot) error {
		return e.underLock(ctx, second, func(other *held, _ *state.Snapshot) error {
			h := other
			if first.Label == to.Label {
				h = one
			}
			copied, err = e.copyState(ctx, from, to, h, m)
			return err
		})
	})
	return copied, err
}

// copyState runs under both locks; h is that of the destination.
func (e *Engine) copyState(ctx context.Context, from, to StatePlace, h *held, m *StateMigration) (none StateCount, err error) {
	source, err := asShown(ctx, from, m.from)
	if err != nil {
		return none, err
	}
	destination, err := asShown(ctx, to, m.to)
	if err != nil {
		return none, err
	}
	sent, err := e.rebound(e.adopted(source), from, to)
	if err != nil {
		return none, err
	}
	if err := e.commitState(ctx, to, h, state.Replacement(destination, sent)); err != nil {
		return none, err
	}
	if err := verified(ctx, from, to, sent); err != nil {
		return none, err
	}
	return CountState(sent), nil
}

// asShown is the state of a place, which must be the one that a migration was shown for.
func asShown(ctx context.Context, at StatePlace, serial int64) (*state.Snapshot, error) {
	s, err := at.Store.Load(ctx, at.Partition)
	if err == nil && s.Serial != serial {
		err = model.Errorf(model.StateError, model.ClassTransient, "%s was written since the migration was shown (serial %d, then %d); nothing was copied, look again", at.Label, serial, s.Serial)
	}
	return s, err
}

// verified looks at both sides again after the copy.
func verified(ctx context.Context, from, to StatePlace, sent *state.Snapshot) error {
	unverified := func(at StatePlace, err error) error {
		return model.Errorf(model.KindOf(err), model.ClassOf(err),
			"the copy is written to %s but was not verified, since %s could not be read again: %w; go on using %s, and migrate again with --force", to.Label, at.Label, err, from.Label)
	}
	serial, err := from.Store.Serial(ctx, from.Partition)
	if err != nil {
		return unverified(from, err)
	}
	if serial != sent.Serial {
		return model.Errorf(model.StateError, model.ClassTransient, "%s was written while it was copied; what %s holds now is not all of it, migrate again with --force", from.Label, to.Label)
	}
	arrived, err := to.Store.Load(ctx, to.Partition)
	if err != nil {
		return unverified(to, err)
	}
	if !sameContent(sent, arrived) {
		return model.Errorf(model.StateError, model.ClassUnknown, "%s does not give back what was written to it; go on using %s", to.Label, from.Label)
	}
	return nil
}

// sameContent compares everything but the serial, and the writer and time of a row, which
// are the store's.
func sameContent(a, b *state.Snapshot) bool {
	same := func(a, b *state.Row) bool { return reflect.DeepEqual(fields(a), fields(b)) }
	return maps.EqualFunc(a.Rows, b.Rows, same) &&
		maps.EqualFunc(a.Pending, b.Pending, func(a, b *state.PendingDestroy) bool { return a.Mode == b.Mode && same(a.Row, b.Row) }) &&
		maps.EqualFunc(a.Outputs, b.Outputs, func(a, b state.Output) bool {
			return a.Sensitive == b.Sensitive && slices.Equal(a.SourceNodes, b.SourceNodes) && reflect.DeepEqual(a.Value, b.Value)
		})
}

func fields(r *state.Row) map[string]any {
	doc := r.Document()
	delete(doc, "epoch")
	delete(doc, "updated_at")
	return doc
}
