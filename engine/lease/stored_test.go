package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/lease/leasetest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// records is a store's lock in memory, which can fail in every way.
type records struct {
	mu       sync.Mutex
	fence    model.Fence
	ends     time.Time
	passed   time.Duration // what the store's clock is ahead
	renewals int
	takes    int
	outages  int                             // how many of the first takes get no answer
	slow     time.Duration                   // how long a take lasts
	renew    func(ctx context.Context) error // instead of renewing, unless nil
	clear    error
}

func (r *records) now() time.Time { return time.Now().Add(r.passed) }

func (r *records) TakeLock(_ context.Context, _, holder string, ttl time.Duration) (model.Fence, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes++
	if r.slow > 0 {
		<-time.NewTimer(r.slow).C
	}
	if r.takes <= r.outages { // it lands, and the answer is lost
		r.fence, r.ends = model.Fence{Epoch: r.fence.Epoch + 1, Holder: holder}, r.now().Add(ttl)
		return model.Fence{}, model.Errorf(model.StateError, model.ClassTransient, "unreachable")
	}
	if r.fence.Holder != "" && r.fence.Holder != holder && r.now().Before(r.ends) {
		return model.Fence{}, model.Errorf(model.LockError, model.ClassTransient, "held by %s", r.fence.Holder)
	}
	r.fence, r.ends = model.Fence{Epoch: r.fence.Epoch + 1, Holder: holder}, r.now().Add(ttl)
	return r.fence, nil
}

func (r *records) RenewLock(ctx context.Context, _ string, fence model.Fence, ttl time.Duration) error {
	r.mu.Lock()
	r.renewals++
	renew := r.renew
	r.mu.Unlock()
	if renew != nil {
		return renew(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = r.now().Add(ttl)
	return r.check(fence)
}

func (r *records) ClearHolder(_ context.Context, _ string, fence model.Fence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fence == fence {
		r.fence.Holder = ""
	}
	return r.clear
}

func (r *records) check(fence model.Fence) error {
	if fence != r.fence {
		return model.Errorf(model.FencedWriteError, model.ClassUnknown, "superseded")
	}
	return nil
}

func TestStored(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) leasetest.Subject {
		r := &records{}
		return leasetest.Subject{
			Ours: &lease.Stored{Records: r, Times: times(t)}, Theirs: &lease.Stored{Records: r, Times: times(t)},
			Write: func(_ context.Context, fence model.Fence) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				return r.check(fence)
			},
			Lapse: func(context.Context) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.passed += time.Hour
				return nil
			},
			Break: func(context.Context) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.fence = model.Fence{Epoch: r.fence.Epoch + 1}
				return nil
			},
		}
	})
}

// times are the documented ones: 300 s, renewed every 100 s, 30 s of grace.
func times(t testing.TB) lease.Times {
	t.Helper()
	at, err := lease.TimesOf(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// T-164a to T-164d.
func TestTimes(t *testing.T) {
	second := func(n float64) *time.Duration { d := time.Duration(n * float64(time.Second)); return &d }
	for _, c := range []struct {
		reason     string
		ttl, renew *time.Duration
		want       lease.Times
		names      string // of the key in the refusal
	}{
		{"the documented ones", nil, nil, lease.Times{TTL: 300 * time.Second, Renew: 100 * time.Second, Grace: 30 * time.Second}, ""},
		{"a short TTL pulls the others down", second(9), nil, lease.Times{TTL: 9 * time.Second, Renew: 3 * time.Second, Grace: 3 * time.Second}, ""},
		{"an interval of one's own", nil, second(5), lease.Times{TTL: 300 * time.Second, Renew: 5 * time.Second, Grace: 30 * time.Second}, ""},
		{"no TTL", second(0), nil, lease.Times{}, "lock_ttl"},
		{"a negative TTL", second(-1), nil, lease.Times{}, "lock_ttl"},
		{"no interval", nil, second(0), lease.Times{}, "lock_renew_interval"},
		{"as long as the TTL", second(60), second(60), lease.Times{}, "lock_renew_interval"},
		{"renewed after the holder stopped", second(60), second(45), lease.Times{}, "lock_renew_interval"},
	} {
		got, err := lease.TimesOf(c.ttl, c.renew)
		if got != c.want || (err == nil) != (c.names == "") {
			t.Errorf("%s: %+v, %v", c.reason, got, err)
		}
		if c.names != "" && (!model.IsKind(err, model.LockError) || !strings.Contains(err.Error(), c.names)) {
			t.Errorf("%s: %v, want a LockError that names %s", c.reason, err, c.names)
		}
	}
}

// ST-12.
func TestNewOwner(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(fmt.Sprintf("^%s-%d-[0-9a-f]{12}$", regexp.QuoteMeta(host), os.Getpid()))
	a, b := lease.NewOwner(), lease.NewOwner()
	if a == b || !form.MatchString(a) {
		t.Errorf("%s, %s", a, b)
	}
}

// What happens to a held lock as time passes (T-168, T-169).
func TestKeeping(t *testing.T) {
	outage := errors.New("the store is unreachable")
	for name, c := range map[string]struct {
		renew    func(ctx context.Context) error
		after    time.Duration
		held     bool
		renewals int // negative: as many as came before the end
	}{
		"a short run never renews":                 {after: 99 * time.Second, held: true},
		"a run longer than the TTL keeps its lock": {after: 1000*time.Second + 1, held: true, renewals: 10},
		"a lock that is another's is lost at once": {renew: func(context.Context) error {
			return model.Errorf(model.FencedWriteError, model.ClassUnknown, "superseded")
		},
			after: 101 * time.Second, renewals: 1},
		"an outage is waited out":       {renew: func(context.Context) error { return outage }, after: 269 * time.Second, held: true, renewals: 17},
		"but not into the grace":        {renew: func(context.Context) error { return outage }, after: 270 * time.Second, renewals: -1},
		"a request that hangs hides no": {renew: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, after: 270 * time.Second, renewals: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &records{renew: c.renew}
				l := &lease.Stored{Records: r, Times: times(t)}
				h, err := l.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fence := h.Fence()
				timer := time.NewTimer(c.after)
				<-timer.C
				synctest.Wait()
				select {
				case <-h.Lost():
					if c.held {
						t.Error("the lock is lost")
					}
				default:
					if !c.held {
						t.Error("nobody was told of the loss")
					}
				}
				if err := h.Check(); (err == nil) != c.held || err != nil && (!model.IsKind(err, model.LeaseLostError) || !strings.Contains(err.Error(), "nothing is rolled back")) {
					t.Errorf("the guard says %v", err)
				}
				if h.Fence() != fence || c.renewals >= 0 && r.renewals != c.renewals {
					t.Errorf("fence %+v became %+v, %d renewals, want %d", fence, h.Fence(), r.renewals, c.renewals)
				}
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if r.fence.Holder != "" {
					t.Error("the lock was not given back")
				}
			})
		})
	}
}

// An outage that passes in time costs nothing.
func TestRenewalAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &records{renew: func(context.Context) error { return errors.New("unreachable") }}
		l := &lease.Stored{Records: r, Times: times(t)}
		h, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(200 * time.Second).C
		r.mu.Lock()
		r.renew = nil
		r.mu.Unlock()
		<-time.NewTimer(250 * time.Second).C
		if err := h.Check(); err != nil {
			t.Errorf("after the outage: %v", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// ST-14, LS-12: what failed once stays failed, whatever the clocks say afterwards.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		reason     string
		mono, wall time.Duration
		held       bool
	}{
		{"as it should be", time.Minute, time.Minute, true},
		{"a small step of the clock", time.Minute, time.Minute - 29*time.Second, true},
		{"the machine slept", time.Second, 31*time.Second + time.Second, false},
		{"the clock was set back", time.Minute, 29 * time.Second, false},
		{"within the grace", 270 * time.Second, 270 * time.Second, false},
		{"just before it", 270*time.Second - 1, 270 * time.Second, true},
	} {
		start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		var mono, wall atomic.Int64
		l := &lease.Stored{Records: &records{}, Times: times(t), Now: func() time.Time { return start.Add(time.Duration(mono.Load())) },
			Wall: func() time.Time { return start.Add(time.Duration(wall.Load())) }}
		h, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mono.Store(int64(c.mono))
		wall.Store(int64(c.wall))
		if err := h.Check(); (err == nil) != c.held {
			t.Errorf("%s: %v", c.reason, err)
		}
		mono.Store(0)
		wall.Store(0)
		if err := h.Check(); (err == nil) != c.held {
			t.Errorf("%s, and time ran back: %v", c.reason, err)
		}
		h.Abandon()
	}
}

// A lock whose answer was lost is asked for once more, by the same owner.
func TestAcquireThroughAnOutage(t *testing.T) {
	for _, c := range []struct {
		outages int
		ok      bool
	}{{1, true}, {2, false}} {
		r := &records{outages: c.outages}
		l := &lease.Stored{Records: r, Times: times(t)}
		h, err := l.Acquire(t.Context())
		if (err == nil) != c.ok || r.takes != 2 {
			t.Errorf("%d outages: %v after %d tries", c.outages, err, r.takes)
		}
		if err == nil && (h.Check() != nil || h.Fence() != r.fence || h.Release(t.Context()) != nil) {
			t.Errorf("the handle has %+v, the store %+v", h.Fence(), r.fence)
		}
	}
}

// A lock that took longer to take than it lasts is none, and is given back.
func TestAcquireTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &records{slow: 270 * time.Second}
		l := &lease.Stored{Records: r, Times: times(t)}
		if _, err := l.Acquire(t.Context()); !model.IsKind(err, model.LeaseLostError) || r.fence.Holder != "" {
			t.Errorf("%v; held by %q", err, r.fence.Holder)
		}
	})
}

func TestReleaseThatFails(t *testing.T) {
	r := &records{clear: errors.New("unreachable")}
	l := &lease.Stored{Records: r, Times: times(t)}
	h, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(t.Context()); !errors.Is(err, r.clear) {
		t.Errorf("got %v", err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Errorf("a second release: %v", err)
	}
}
