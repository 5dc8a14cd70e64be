package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// StatePlace is one partition of a store, its lock, and how errors name it.
type StatePlace struct {
	Label     string // of the target, without credentials (RF-28)
	Partition string
	Store     state.Store
	Locker    lease.Locker
	// Secrets open and Recorder seals what is sensitive in the partition. They are needed
	// only where something sealed is brought to another partition, or comes from one.
	Secrets  StateSecrets
	Recorder apply.Recorder
}

// KeepSnapshot keeps a snapshot that is taken under the lock; an error ends what it was
// taken for before anything is written.
type KeepSnapshot func(ctx context.Context, s *state.Snapshot) error

// RecordedNode is what a listing says of a row (RF-21).
type RecordedNode struct {
	ID, Type, Provider, Status string
	Drifted                    bool // the next plan cannot skip it
	Dependencies               []string
}

// ListState lists the rows and the old halves of unfinished replaces, by id.
func ListState(s *state.Snapshot) []RecordedNode {
	rows := recorded(s)
	list := make([]RecordedNode, 0, len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		r := rows[id]
		list = append(list, RecordedNode{ID: id, Type: r.Type, Provider: r.Provider, Status: r.Status, Drifted: r.InputHash == "", Dependencies: r.Dependencies})
	}
	return list
}

// ShowState is one recorded row. Its sealed outputs are sealed.
func ShowState(s *state.Snapshot, id string) (*state.Row, error) {
	if row := recorded(s)[id]; row != nil {
		return row, nil
	}
	return nil, unknownNodes([]string{id})
}

// recorded is everything that is recorded, the old half of a replace under the id that
// plans show it by.
func recorded(s *state.Snapshot) map[string]*state.Row {
	rows := maps.Clone(s.Rows)
	if rows == nil {
		rows = map[string]*state.Row{}
	}
	for id, entry := range s.Pending {
		rows[id+state.ReplacedSuffix] = entry.Row
	}
	return rows
}

func unknownNodes(ids []string) error {
	e := model.Errorf(model.StateError, model.ClassUser, "the state has no %s", quoted(ids))
	e.Hint = "`atlantide state list` shows what it has"
	return e
}

func quoted(ids []string) string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = fmt.Sprintf("%+.200q", id)
	}
	return model.Listed(shown, ", ")
}

// RemovableState is what a removal of these ids would forget. Ids that are not recorded
// are refused, all of them named, and so are guarded ones without force (RF-22).
func RemovableState(s *state.Snapshot, ids []string, force bool) ([]*state.Row, error) {
	rows := recorded(s)
	var found []*state.Row
	var unknown, guarded []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		switch row := rows[id]; {
		case row == nil:
			unknown = append(unknown, id)
		case row.PreventDestroy && !force:
			guarded = append(guarded, id)
		default:
			found = append(found, row)
		}
	}
	if len(unknown) > 0 {
		return nil, unknownNodes(unknown)
	}
	if len(guarded) > 0 {
		e := model.Errorf(model.StateError, model.ClassUser, "%s must not be destroyed (prevent_destroy), and forgetting it would leave it unguarded", quoted(guarded))
		e.Hint = "--force forgets it all the same"
		return nil, e
	}
	return found, nil
}

// RemoveState forgets recorded nodes and calls no provider: what they stand for stays and
// would be made again. preview is the state that the removal was shown for. With keep, the
// whole state is kept first, and a state that gained a row since is refused (RF-22).
func (e *Engine) RemoveState(ctx context.Context, at StatePlace, preview *state.Snapshot, ids []string, force bool, keep KeepSnapshot) error {
	if _, err := RemovableState(preview, ids, force); err != nil {
		return err
	}
	return e.underLock(ctx, at, func(h *held, current *state.Snapshot) error {
		if _, err := RemovableState(current, ids, force); err != nil {
			return err
		}
		if keep != nil {
			if err := refuseGained(at, preview, current); err != nil {
				return err
			}
			if err := keep(ctx, current); err != nil {
				return err
			}
		}
		var batch state.Batch
		for _, id := range ids {
			if base, isOld := strings.CutSuffix(id, state.ReplacedSuffix); isOld && current.Rows[id] == nil {
				batch.DeletePending = append(batch.DeletePending, base)
			} else {
				batch.DeleteRows = append(batch.DeleteRows, id)
			}
		}
		return e.commitState(ctx, at, h, batch)
	})
}

// refuseGained refuses a state that has rows which it had not when it was looked at.
func refuseGained(at StatePlace, before, now *state.Snapshot) error {
	had := recorded(before)
	var gained []string
	for id := range recorded(now) {
		if had[id] == nil {
			gained = append(gained, id)
		}
	}
	if len(gained) == 0 {
		return nil
	}
	slices.Sort(gained)
	return model.Errorf(model.StateError, model.ClassTransient, "%s gained %s while it was waited for; nothing was done, try again", at.Label, quoted(gained))
}

// commitState writes under the lock, unless it was lost meanwhile.
func (e *Engine) commitState(ctx context.Context, at StatePlace, h *held, batch state.Batch) error {
	if err := h.Check(); err != nil {
		return err
	}
	return h.fenced(at.Store.Commit(ctx, at.Partition, h.Fence(), batch))
}

// HoldSelection says which locks are meant: every one, those of an owner, or those that
// cover a node.
type HoldSelection struct {
	All   bool
	Owner string
	Nodes []string
}

// SelectHolds is what a selection matches. One that matches nothing is an error; an empty
// one selects nothing (RF-26).
func SelectHolds(holds []state.Hold, by HoldSelection) ([]state.Hold, error) {
	if !by.All && by.Owner == "" && len(by.Nodes) == 0 {
		return nil, nil
	}
	var selected []state.Hold
	for _, h := range holds {
		ofNode := slices.Contains(by.Nodes, h.Node) || h.Node == "" && len(by.Nodes) > 0
		if by.All || by.Owner != "" && h.Holder == by.Owner || ofNode {
			selected = append(selected, h)
		}
	}
	if len(selected) == 0 {
		return nil, model.Errorf(model.LockError, model.ClassUser, "no lock of the state is meant by that; `atlantide state unlock` lists them")
	}
	return selected, nil
}

// BreakHolds breaks the locks of the selected holders, and no other that came meanwhile,
// and reports how many of the selected holds are gone by that. The run of a broken lock
// writes nothing any more.
func BreakHolds(ctx context.Context, locks state.Locks, partition string, selected []state.Hold) (broken int, err error) {
	held := map[string]int{}
	for _, h := range selected {
		held[h.Holder]++
	}
	for _, holder := range slices.Sorted(maps.Keys(held)) {
		was, err := locks.BreakLock(ctx, partition, holder)
		if err != nil {
			return broken, err
		}
		if was {
			broken += held[holder]
		}
	}
	return broken, nil
}

// StateChecker is a store that can say how it is.
type StateChecker interface {
	Checks(ctx context.Context) []state.Check
}

// CheckState looks at everything, and reports whether nothing failed (RF-27). further are
// checks of what is beside the store, such as the secrets.
func CheckState(ctx context.Context, store StateChecker, further ...state.Check) (checks []state.Check, ok bool) {
	checks = append(store.Checks(ctx), further...)
	failed := slices.ContainsFunc(checks, func(c state.Check) bool { return c.Status == state.CheckFail })
	return checks, !failed
}
