// Package memory owns a state store that lives in the process: for tests, for the
// conformance runner and for whatever needs no memory beyond one command.
//
// It keeps the contract of package state to the letter, fences included, and must
// never be more lenient than the Postgres store.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Store implements state.Store and state.Locks. The zero value is not usable; see New.
type Store struct {
	Now func() time.Time // what locks end by; nil = time.Now; not to be changed in use

	mu         sync.Mutex
	partitions map[string]*partition
}

type partition struct {
	fence   model.Fence
	ends    time.Time // of the lock; zero = it does not end by itself
	serial  int64
	mark    mark
	rows    map[string]*state.Row
	pending map[string]*state.PendingDestroy
	outputs map[string]state.Output
}

// New makes an empty store.
func New() *Store { return &Store{partitions: map[string]*partition{}} }

// Claim makes fence the partition's: earlier ones write no more. An epoch that is not
// larger is a LockError, except the very fence that is in place already (LS-7).
func (s *Store) Claim(_ context.Context, name string, fence model.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if fence == p.fence {
		return nil
	}
	if fence.Epoch <= p.fence.Epoch {
		return model.Errorf(model.LockError, model.ClassTransient,
			"epoch %d of partition %s is already claimed by '%s'; wait for it to finish", p.fence.Epoch, name, p.fence.Holder)
	}
	p.fence, p.ends = fence, time.Time{}
	return nil
}

// CheckFence implements state.Writer.
func (s *Store) CheckFence(_ context.Context, name string, fence model.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partition(name).check(name, fence)
}

// Load implements state.Reader.
func (s *Store) Load(_ context.Context, name string) (*state.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	snapshot := &state.Snapshot{
		Serial:  p.serial,
		Rows:    make(map[string]*state.Row, len(p.rows)),
		Pending: make(map[string]*state.PendingDestroy, len(p.pending)),
		Outputs: make(map[string]state.Output, len(p.outputs)),
	}
	for id, row := range p.rows {
		snapshot.Rows[id] = row.Clone()
	}
	for id, entry := range p.pending {
		snapshot.Pending[id] = entry.Clone()
	}
	for key, output := range p.outputs {
		snapshot.Outputs[key] = output.Clone()
	}
	return snapshot, nil
}

// Serial implements state.Reader.
func (s *Store) Serial(_ context.Context, name string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partition(name).serial, nil
}

// Commit implements state.Writer.
func (s *Store) Commit(_ context.Context, name string, fence model.Fence, batch state.Batch) error {
	if err := batch.CheckStorable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if err := p.check(name, fence); err != nil {
		return err
	}
	for _, id := range batch.DeleteRows {
		delete(p.rows, id)
	}
	for _, row := range batch.PutRows {
		kept := row.Clone()
		kept.Epoch = fence.Epoch
		p.rows[row.ID] = kept
	}
	for _, id := range batch.DeletePending {
		delete(p.pending, id)
	}
	for _, entry := range batch.PutPending {
		p.pending[entry.NodeID] = entry.Clone()
	}
	for _, key := range batch.RemoveOutputs {
		delete(p.outputs, key)
	}
	for key, output := range batch.SetOutputs {
		p.outputs[key] = output.Clone()
	}
	p.serial++
	return nil
}

func (s *Store) partition(name string) *partition {
	p := s.partitions[name]
	if p == nil {
		p = &partition{
			rows:    map[string]*state.Row{},
			pending: map[string]*state.PendingDestroy{},
			outputs: map[string]state.Output{},
		}
		s.partitions[name] = p
	}
	return p
}

func (p *partition) check(name string, fence model.Fence) error {
	if fence == p.fence && fence.Holder != "" {
		return nil
	}
	return model.Errorf(model.FencedWriteError, model.ClassTransient,
		"nothing was written: partition %s is held by '%s' at epoch %d, not by '%s' at epoch %d; another run took over",
		name, p.fence.Holder, p.fence.Epoch, fence.Holder, fence.Epoch)
}
