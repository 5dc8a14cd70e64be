package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// restless lets every create last a while.
type restless struct {
	providers.Provider
	takes time.Duration
}

func (p restless) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	<-time.NewTimer(p.takes).C
	return p.Provider.Create(ctx, r)
}

// flaky is a lock whose second renewal gets no answer.
type flaky struct {
	*memory.Store
	renewals *int
}

func (f flaky) RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error {
	if *f.renewals++; *f.renewals == 2 {
		return errors.New("unreachable")
	}
	return f.Store.RenewLock(ctx, partition, fence, ttl)
}

// EX-39: the renewals of a run's lock are events of the run, among its others, one at a
// time; a sink that fails breaks neither run nor renewal.
func TestRenewalsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, err := providers.NewRegistry(restless{local.NewTenants(t.TempDir(), local.Quota{}), 50 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		e := &engine.Engine{Registry: registry, Parallelism: 1, Now: time.Now, NewID: uuid.NewString, Events: func(e apply.Event) {
			text := e.Phase
			if reason, failed := e.Detail["error"]; failed {
				text += " " + reason.(string)
			}
			told = append(told, text)
			if e.Phase == lease.EventRenew && e.Detail["owner"] != e.RunID {
				t.Errorf("%+v names no owner", e)
			}
			panic("a sink that fails")
		}}
		store := memory.New()
		compilation, err := e.Compile(t.Context(), engine.Source{Filename: "infra.py",
			Text: "from atlantide.core import Stack\nfrom atlantide.providers.local import Null\nwith Stack('s', region='r'):\n    Null('a')\n"}, engine.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := e.Apply(t.Context(), engine.ApplyRequest{
			Compilation: compilation, Partition: partition, Store: store, Owner: owner, OnFailure: plan.OnFailureHalt,
			Locker: &lease.Stored{Records: flaky{store, new(int)}, Partition: partition,
				Times: lease.Times{TTL: time.Minute, Renew: 20 * time.Second, Grace: 10 * time.Second}},
		})
		if err != nil || !slices.Equal(result.Report.Created, []string{"s:local.Null:a"}) {
			t.Fatalf("%+v, %v", result.Report, err)
		}
		want := []string{"lease_acquire", "run_start", "node_start", "lease_renew", "lease_renew unreachable", "lease_renew", "node_finish", "run_finish"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
