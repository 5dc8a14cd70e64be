package memory

import (
	"context"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var _ state.Locks = (*Store)(nil)

// TakeLock implements state.Locks. A lock may be taken over when it ended.
func (s *Store) TakeLock(_ context.Context, name, holder string, ttl time.Duration) (model.Fence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if held := p.hold(s.now()); p.fence.Holder != "" && p.fence.Holder != holder && !held.Expired() {
		return model.Fence{}, held.Held()
	}
	p.fence = model.Fence{Epoch: p.fence.Epoch + 1, Holder: holder}
	p.ends = s.now().Add(ttl)
	return p.fence, nil
}

// RenewLock implements state.Locks.
func (s *Store) RenewLock(_ context.Context, name string, fence model.Fence, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if err := p.check(name, fence); err != nil {
		return err
	}
	p.ends = s.now().Add(ttl)
	return nil
}

// ClearHolder implements state.Locks.
func (s *Store) ClearHolder(_ context.Context, name string, fence model.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partition(name); p.fence == fence {
		p.fence.Holder = ""
	}
	return nil
}

// Holds implements state.Locks.
func (s *Store) Holds(_ context.Context, name string) ([]state.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if p.fence.Holder == "" {
		return nil, nil
	}
	return []state.Hold{p.hold(s.now())}, nil
}

// BreakLock implements state.Locks.
func (s *Store) BreakLock(_ context.Context, name, holder string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	held := holder != "" && p.fence.Holder == holder
	if held {
		p.fence = model.Fence{Epoch: p.fence.Epoch + 1}
	}
	return held, nil
}

func (p *partition) hold(now time.Time) state.Hold {
	return state.Hold{Holder: p.fence.Holder, Epoch: p.fence.Epoch, Lapses: !p.ends.IsZero(), Remaining: p.ends.Sub(now)}
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
