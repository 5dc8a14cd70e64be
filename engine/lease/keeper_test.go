package lease

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

var minute = Times{TTL: time.Minute, Renew: 20 * time.Second, Grace: 10 * time.Second}

// hand is a clock that stands still until it is moved; its timers never fire.
type hand struct{ mono, wall time.Time }

func newHand() *hand {
	start := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	return &hand{start, start}
}

func (h *hand) Now() time.Time               { return h.mono }
func (h *hand) Wall() time.Time              { return h.wall }
func (h *hand) NewTimer(time.Duration) Timer { return timer{time.NewTimer(time.Hour)} }

func (h *hand) step(mono, wall time.Duration) {
	h.mono, h.wall = h.mono.Add(mono), h.wall.Add(wall)
}

func keeping(k Keeping) Keeping {
	k.Fence, k.Times = model.Fence{Epoch: 1, Holder: "a"}, minute
	k.Text = func(why string) string { return "lost: " + why }
	return k
}

// T-169: what lapsed stays lapsed, even if nobody looked before the renewal landed.
func TestLateRenewalDoesNotRevive(t *testing.T) {
	clock := newHand()
	k := NewKeeper(keeping(Keeping{Clock: clock}), MomentOf(clock))
	first := MomentOf(clock)
	clock.step(50*time.Second-1, 50*time.Second-1)
	k.extend(first)
	if err := k.Check(); err != nil {
		t.Fatal(err)
	}
	second := MomentOf(clock)
	clock.step(1, 1)
	k.extend(second)
	if err := k.Check(); !model.IsKind(err, model.LeaseLostError) {
		t.Errorf("got %v", err)
	}
}

// LS-12: a renewal that landed is where the clocks are compared from, so that small steps
// of a long run do not add up; a large one before it counts all the same.
func TestClocksAreComparedSinceTheRenewal(t *testing.T) {
	for _, c := range []struct {
		reason string
		ahead  time.Duration // of the wall clock, between renewals
		held   bool
	}{
		{"six steps of 6 s", 6 * time.Second, true},
		{"one of 11 s", 11 * time.Second, false},
	} {
		clock := newHand()
		k := NewKeeper(keeping(Keeping{Clock: clock}), MomentOf(clock))
		for range 6 {
			clock.step(20*time.Second, 20*time.Second+c.ahead)
			k.extend(MomentOf(clock))
		}
		if err := k.Check(); (err == nil) != c.held {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
}

// EX-39: a sink that panics breaks neither the renewal nor the guard.
func TestSinkThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing, observed := true, 0
		k := NewKeeper(keeping(Keeping{
			Renew: func(context.Context, time.Time) error {
				if failing = !failing; failing {
					return errUnreachable
				}
				return nil
			},
		}), MomentOf(nil))
		k.Observe(func(Renewal) {
			observed++
			panic("a closed pipe")
		})
		k.Start()
		<-time.NewTimer(5 * time.Minute).C
		synctest.Wait()
		if err := k.Check(); err != nil {
			t.Error(err)
		}
		if lost := k.End("it is over"); lost || observed < 10 {
			t.Errorf("lost %v, observed %d", lost, observed)
		}
	})
}

// A loss is for good, and its guard says the same from then on.
func TestLossIsForGood(t *testing.T) {
	clock := newHand()
	k := NewKeeper(keeping(Keeping{Clock: clock}), MomentOf(clock))
	clock.step(50*time.Second, 50*time.Second)
	first, second := k.Check(), k.Check()
	if first == nil || !errors.Is(second, first) || !k.End("it is over") || !errors.Is(k.Check(), first) {
		t.Errorf("%v, then %v, then %v", first, second, k.Check())
	}
	if !strings.Contains(first.Error(), "it was not renewed in time") {
		t.Errorf("it says %v", first)
	}
}

// EX-39: a renewal whose answer comes after the lock has lapsed did not renew it, and is not
// told as one that did.
func TestRefusedRenewalIsNotTold(t *testing.T) {
	for _, c := range []struct {
		reason string
		takes  time.Duration
		err    error
		told   []Renewal
	}{
		{"it comes in time", 50*time.Second - 1, nil, []Renewal{{}}},
		{"it comes too late", 50 * time.Second, nil, nil},
		{"it says that the lock is gone", time.Second, GoneError("broken"), nil},
		{"it fails", time.Second, errUnreachable, []Renewal{{Err: errUnreachable}}},
	} {
		clock, told := newHand(), []Renewal(nil)
		k := NewKeeper(keeping(Keeping{Clock: clock, Renew: func(context.Context, time.Time) error {
			clock.step(c.takes, c.takes)
			return c.err
		}}), MomentOf(clock))
		k.Observe(func(r Renewal) { told = append(told, r) })
		_ = k.renew(t.Context())
		if !slices.Equal(told, c.told) {
			t.Errorf("%s: told %v, want %v", c.reason, told, c.told)
		}
	}
}

var errUnreachable = errors.New("unreachable")
