package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Keeper keeps a lock that was taken: it renews it beside the work and is its guard. A
// handle embeds one and says how the lock is given back. It is safe for concurrent use.
type Keeper struct {
	keeping Keeping

	mu       sync.Mutex
	asked    Moment    // of the acquisition or the last renewal that landed
	deadline time.Time // may act before it; moves with every renewal
	err      error     // why it may not act any more; set once
	lost     chan struct{}
	sink     func(Renewal)

	stop    context.CancelFunc
	stopped chan struct{} // closed when no renewal is or will be on the way
}

// Keeping is what a lock is to a Keeper.
type Keeping struct {
	Fence model.Fence // never changes by a renewal (LS-9)
	Times Times
	Clock Clock                                      // nil = the machine's
	Delay func(interval time.Duration) time.Duration // spreads renewals; nil = as it is
	// Renew asks once for ttl from now on; sent is before the request. A GoneError says that
	// the lock is another's or nobody's; any other error leaves that open and is tried
	// again until the deadline.
	Renew func(ctx context.Context, sent time.Time) error
	// Text is the text of a loss and what to do next; why is half a sentence.
	Text func(why string) string
}

// GoneError is the error of a renewal that found the lock to be lost, and why.
type GoneError string

func (g GoneError) Error() string { return "the lock is lost: " + string(g) }

// Moment is the time before a request was sent: what a lock counts from, because nobody
// can have seen it earlier (LS-16c).
type Moment struct {
	Monotonic time.Time
	Wall      time.Time
}

// MomentOf is now on a clock; nil = the machine's.
func MomentOf(c Clock) Moment {
	if c == nil {
		c = machine{}
	}
	return Moment{Monotonic: c.Now(), Wall: c.Wall()}
}

// NewKeeper is the guard of a lock that was asked for at a moment. It renews nothing
// before Start.
func NewKeeper(k Keeping, asked Moment) *Keeper {
	if k.Clock == nil {
		k.Clock = machine{}
	}
	if k.Delay == nil {
		k.Delay = func(interval time.Duration) time.Duration { return interval }
	}
	return &Keeper{
		keeping: k, asked: asked, deadline: asked.Monotonic.Add(k.Times.TTL - k.Times.Grace), lost: make(chan struct{}),
	}
}

// Fence is part of Handle.
func (k *Keeper) Fence() model.Fence { return k.keeping.Fence }

// Lost is part of Handle.
func (k *Keeper) Lost() <-chan struct{} { return k.lost }

// Observe implements Observed for the handles that embed it.
func (k *Keeper) Observe(sink func(Renewal)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sink = sink
}

// Check is part of Handle: the guard of ST-14 and LS-12.
func (k *Keeper) Check() error {
	why, err := k.lapsed()
	if why == "" {
		return err
	}
	return k.lose(why)
}

// lapsed is why the right to act ends in this moment, "" if it does not, and the error
// of one that ended before.
func (k *Keeper) lapsed() (why string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.keeping.Clock.Now()
	slept := k.keeping.Clock.Wall().Sub(k.asked.Wall) - now.Sub(k.asked.Monotonic)
	switch {
	case k.err != nil:
		return "", k.err
	case !now.Before(k.deadline):
		return "it was not renewed in time", nil
	case slept.Abs() > k.keeping.Times.Grace:
		return "the clock was set, or the machine slept, by " + slept.Round(time.Second).String(), nil
	}
	return "", nil
}

// lose ends the right to act, for good, and returns what the guard says.
func (k *Keeper) lose(why string) error {
	_, err := k.end(why)
	return err
}

// end ends the right to act, unless it has ended before.
func (k *Keeper) end(why string) (ended bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = &model.Error{Kind: model.LeaseLostError, Class: model.ClassTransient, Message: k.keeping.Text(why)}
		close(k.lost)
		ended = true
	}
	return ended, k.err
}

// tellRenewal hands a renewal to the sink, whose failure breaks nothing (EX-39).
func (k *Keeper) tellRenewal(err error) {
	k.mu.Lock()
	sink := k.sink
	k.mu.Unlock()
	if sink == nil {
		return
	}
	defer func() { _ = recover() }()
	sink(Renewal{Err: err})
}

// extend moves the deadline after a renewal that was asked for at a moment, unless the lock
// had ended before its answer came: what lapsed stays lapsed (T-169). It reports whether the
// renewal counts.
func (k *Keeper) extend(asked Moment) bool {
	if k.Check() != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if next := asked.Monotonic.Add(k.keeping.Times.TTL - k.keeping.Times.Grace); next.After(k.deadline) {
		k.deadline, k.asked = next, asked
	}
	return true
}

func (k *Keeper) remaining() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deadline.Sub(k.keeping.Clock.Now())
}

// Start renews until the lock is ended or lost.
func (k *Keeper) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.stop, k.stopped = cancel, make(chan struct{})
	go func() {
		defer close(k.stopped)
		defer cancel()
		k.keep(ctx)
	}()
}

// keep has one renewal on the way at a time and watches the deadline beside it, because a
// request may hang.
func (k *Keeper) keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan error, 1) // never blocks: the next one starts after it is read
	var onTheWay sync.WaitGroup
	defer func() {
		cancel()
		onTheWay.Wait()
	}()
	next := k.keeping.Clock.NewTimer(k.keeping.Delay(k.keeping.Times.Renew))
	defer next.Stop()
	for {
		expiry := k.keeping.Clock.NewTimer(k.remaining())
		select {
		case <-ctx.Done():
		case <-expiry.C():
		case <-next.C():
			onTheWay.Go(func() { results <- k.renew(ctx) })
		case err := <-results:
			wait := k.keeping.Times.Renew
			if err != nil {
				wait /= 10 // until the deadline (LS-9)
			}
			next.Reset(k.keeping.Delay(wait))
		}
		expiry.Stop()
		if ctx.Err() != nil || k.Check() != nil {
			return
		}
	}
}

// renew moves the end of the lock; nil when it did, or when the lock turned out to be
// lost. An error may be tried again.
func (k *Keeper) renew(ctx context.Context) error {
	asked := MomentOf(k.keeping.Clock)
	err := k.keeping.Renew(ctx, asked.Monotonic)
	if gone, is := errors.AsType[GoneError](err); is {
		_ = k.lose(string(gone))
		return nil
	}
	if err == nil && !k.extend(asked) {
		return nil // of a lock that was lost it is no news
	}
	if err == nil || ctx.Err() == nil {
		k.tellRenewal(err)
	}
	return err
}

// End ends the renewals and the right to act; it reports whether that was lost before.
func (k *Keeper) End(why string) (lost bool) {
	if k.stop != nil {
		k.stop()
		<-k.stopped
	}
	if k.Check() != nil {
		return true
	}
	ended, _ := k.end(why)
	return !ended
}
