package state

import (
	"maps"
	"slices"
)

// Merge makes one batch of several that are written in this order: of what they say about
// one row, entry or output, the last counts. The batches are not changed.
func Merge(batches ...Batch) Batch {
	if len(batches) == 1 {
		return batches[0]
	}
	var rows, pending, outputs = changes[*Row]{}, changes[*PendingDestroy]{}, changes[Output]{}
	ahead := false
	for _, b := range batches {
		ahead = ahead || b.Ahead
		rows.remove(b.DeleteRows)
		for _, r := range b.PutRows {
			rows[r.ID] = change[*Row]{put: true, value: r}
		}
		pending.remove(b.DeletePending)
		for _, p := range b.PutPending {
			pending[p.NodeID] = change[*PendingDestroy]{put: true, value: p}
		}
		outputs.remove(b.RemoveOutputs)
		for key, o := range b.SetOutputs {
			outputs[key] = change[Output]{put: true, value: o}
		}
	}
	merged := Batch{SetOutputs: map[string]Output{}, Ahead: ahead}
	merged.PutRows, merged.DeleteRows = rows.list()
	merged.PutPending, merged.DeletePending = pending.list()
	for key, c := range outputs {
		if c.put {
			merged.SetOutputs[key] = c.value
		} else {
			merged.RemoveOutputs = append(merged.RemoveOutputs, key)
		}
	}
	slices.Sort(merged.RemoveOutputs)
	return merged
}

type change[T any] struct {
	put   bool // else removed
	value T
}

type changes[T any] map[string]change[T]

func (c changes[T]) remove(keys []string) {
	for _, key := range keys {
		c[key] = change[T]{}
	}
}

// list is what is put and what is removed, each in the order of the keys.
func (c changes[T]) list() (put []T, removed []string) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if c[key].put {
			put = append(put, c[key].value)
		} else {
			removed = append(removed, key)
		}
	}
	return put, removed
}

// Replacement is the batch that makes next of current: its rows, pending destroys and
// outputs and no others (RF-24).
func Replacement(current, next *Snapshot) Batch {
	b := Batch{SetOutputs: map[string]Output{}}
	b.PutRows, b.DeleteRows = replaced(current.Rows, next.Rows)
	b.PutPending, b.DeletePending = replaced(current.Pending, next.Pending)
	for key := range current.Outputs {
		if _, kept := next.Outputs[key]; !kept {
			b.RemoveOutputs = append(b.RemoveOutputs, key)
		}
	}
	slices.Sort(b.RemoveOutputs)
	maps.Copy(b.SetOutputs, next.Outputs)
	return b
}

func replaced[T any](current, next map[string]T) (put []T, removed []string) {
	for _, key := range slices.Sorted(maps.Keys(next)) {
		put = append(put, next[key])
	}
	for _, key := range slices.Sorted(maps.Keys(current)) {
		if _, kept := next[key]; !kept {
			removed = append(removed, key)
		}
	}
	return put, removed
}
