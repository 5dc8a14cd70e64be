// Package applytest owns what crash tests share: a cloud that remembers by whom and how it
// was asked, ways to kill a run in the middle, histories of configs to run, and the judgement
// of what is recorded of the cloud. It must never know what a run is for.
package applytest

import (
	"context"
	"errors"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// ErrKilled is what a dead run is told by everything that it asks.
var ErrKilled = errors.New("the run was killed")

// Kill ends a run at one of its steps. A step is a state write or a changing provider
// call; steps count from 0. A dead run changes nothing any more.
type Kill struct {
	At    int
	After bool // the step still happens, but nobody learns of it

	mu   sync.Mutex
	step int
	dead bool
}

// Dead reports whether the step was reached.
func (k *Kill) Dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead
}

func (k *Kill) do(step func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return ErrKilled
	}
	k.step++
	if k.step-1 != k.At {
		return step()
	}
	k.dead = true
	if k.After {
		_ = step()
	}
	return ErrKilled
}

// Store is a store whose writes are steps.
func (k *Kill) Store(s state.Store) state.Store { return store{s, k} }

type store struct {
	state.Store
	kill *Kill
}

func (s store) Commit(ctx context.Context, p string, fence model.Fence, batch state.Batch) error {
	return s.kill.do(func() error { return s.Store.Commit(ctx, p, fence, batch) })
}

// Provider is a provider whose changing calls are steps.
func (k *Kill) Provider(p apply.Provider) apply.Provider { return provider{p, k} }

type provider struct {
	apply.Provider
	kill *Kill
}

func (p provider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return p.changing(func() (model.Outputs, error) { return p.Provider.Create(ctx, r) })
}

func (p provider) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return p.changing(func() (model.Outputs, error) { return p.Provider.Update(ctx, r) })
}

func (p provider) Delete(ctx context.Context, r *model.Request) error {
	return p.kill.do(func() error { return p.Provider.Delete(ctx, r) })
}

func (p provider) changing(call func() (model.Outputs, error)) (outputs model.Outputs, err error) {
	err = p.kill.do(func() error {
		outputs, err = call()
		return err
	})
	if errors.Is(err, ErrKilled) {
		return nil, err
	}
	return outputs, err
}
