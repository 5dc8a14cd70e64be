package leasetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestLocal(t *testing.T) {
	var claimed []model.Fence
	fail := error(nil)
	l := leasetest.NewLocal(func() string { return "run" }, func(_ context.Context, f model.Fence) error {
		claimed = append(claimed, f)
		return fail
	})
	first, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context()); !model.IsKind(err, model.LockError) {
		t.Errorf("a held lock gave %v, want a LockError", err)
	}
	if err := errors.Join(first.Check(), first.Release(t.Context())); err != nil {
		t.Error(err)
	}
	fail = errors.New("the store is gone")
	if _, err := l.Acquire(t.Context()); !errors.Is(err, fail) {
		t.Errorf("a failed claim gave %v", err)
	}
	fail = nil
	second, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatalf("the lock stayed held after a failed claim: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := l.Acquire(t.Context()); !model.IsKind(err, model.LockError) {
		t.Errorf("releasing an old handle freed the lock of another: %v", err)
	}
	second.Abandon()
	if _, err := l.Acquire(t.Context()); !model.IsKind(err, model.LockError) {
		t.Errorf("an abandoned lock was taken: %v", err)
	}
	for i, f := range claimed {
		if f.Epoch != int64(i+1) {
			t.Errorf("claim %d has epoch %d; epochs grow by one", i, f.Epoch)
		}
	}
}
