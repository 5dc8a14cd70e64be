package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	v1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func TestNewChecksTheTimes(t *testing.T) {
	for _, c := range []struct {
		reason            string
		ttl, renew, grace time.Duration
		ok                bool
	}{
		{"the defaults", 0, 0, 0, true},
		{"the command line's", 300 * time.Second, 100 * time.Second, 30 * time.Second, true},
		{"negative ttl", -1, time.Second, time.Second, false},
		{"negative renewal", time.Minute, -1, time.Second, false},
		{"renewed after it ends", time.Minute, time.Minute, time.Second, false},
		{"renewed when the holder has stopped already", time.Minute, 50 * time.Second, 10 * time.Second, false},
		{"grace as long as the ttl", time.Minute, time.Second, time.Minute, false},
	} {
		_, err := New(Options{TTL: c.ttl, Renew: c.renew, Grace: c.grace})
		if c.ok && err != nil || !c.ok && (!model.IsKind(err, model.LockError) || model.ClassOf(err) != model.ClassUser) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
}

// N-34: whatever a Stack is called, its Lease has a valid name of its own.
func TestName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stack := types.NamespacedName{Namespace: rapid.String().Draw(t, "namespace"), Name: rapid.String().Draw(t, "name")}
		uid := types.UID(rapid.String().Draw(t, "uid"))
		name := Name(stack, uid)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > 63 {
			t.Fatalf("%q: %v", name, problems)
		}
		if again := Name(stack, uid+"x"); again == name {
			t.Fatalf("two Stacks share %q", name)
		}
	})
	if got := Name(types.NamespacedName{Namespace: "team-a", Name: "Web.Front_end"}, "u"); !strings.HasPrefix(got, "atl-web-front-end-") {
		t.Errorf("%q is not readable", got)
	}
}

// LS-4, LS-7: what an acquisition leaves on the server and in the store.
func TestAcquire(t *testing.T) {
	w := newWorld(t)
	h := w.acquire(w.operator("pod_1"))

	l := w.live()
	w.Expect(l.Name).To(Equal(Name(w.stack, w.uid)))
	w.Expect(l.OwnerReferences).To(BeEmpty())
	w.Expect(l.Labels).To(HaveKeyWithValue(stackNamespaceLabel, "team-a"))
	w.Expect(l.Labels).To(HaveKey(stackHashLabel))
	w.Expect(l.Annotations).To(HaveKeyWithValue(epochAnnotation, "1"))
	w.Expect(*l.Spec.HolderIdentity).To(Equal("pod_1_run1"))
	w.Expect(*l.Spec.LeaseDurationSeconds).To(Equal(int32(60)))
	w.Expect(*l.Spec.LeaseTransitions).To(Equal(int32(1)))
	w.Expect(l.Spec.AcquireTime.Time).To(BeTemporally("==", start))
	w.Expect(l.Spec.RenewTime.Time).To(BeTemporally("==", start))

	w.Expect(h.Fence()).To(Equal(model.Fence{Epoch: 1, Holder: "pod_1_run1"}))
	w.Expect(h.Check()).To(Succeed())
	w.Expect(h.Lost()).NotTo(BeClosed())
	w.Expect(w.write(h.Fence())).To(Succeed())
}

// A held lock refuses, says who holds it and changes nothing (LS-7, LS-19, T-172).
func TestAcquireHeld(t *testing.T) {
	w := newWorld(t)
	first := w.operator("pod_1")
	h := w.acquire(first)
	before := w.live()

	w.Expect(w.refused(w.operator("pod_2"))).To(And(ContainSubstring("team-a/web"), ContainSubstring("pod_1_run1")))
	w.Expect(w.refused(first)).To(ContainSubstring("pod_1_run1"), "another worker of the same process")
	w.Expect(w.live()).To(Equal(before))
	w.Expect(w.write(h.Fence())).To(Succeed())
	epoch, err := w.store.Mint(t.Context(), string(w.uid))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(epoch).To(Equal(int64(2)), "who is refused mints nothing")
}

// LS-10.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	operator := w.operator("pod_1")
	h := w.acquire(operator)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	w.Expect(h.Release(cancelled)).To(Succeed(), "a run that was cancelled still releases")
	w.Expect(h.Release(t.Context())).To(Succeed(), "again")

	w.Expect(w.lost(h)).To(ContainSubstring("released"))
	w.Expect(model.IsKind(w.write(h.Fence()), model.FencedWriteError)).To(BeTrue(), "the store has no holder")
	l := w.live()
	w.Expect(ptr.Deref(l.Spec.HolderIdentity, "")).To(BeEmpty())
	w.Expect(*l.Spec.LeaseTransitions).To(Equal(int32(1)))
	w.Expect(l.Annotations).To(HaveKeyWithValue(epochAnnotation, "1"))

	next := w.acquire(operator)
	w.Expect(next.Fence()).To(Equal(model.Fence{Epoch: 2, Holder: "pod_1_run2"}), "one identity per run")
	w.Expect(*w.live().Spec.LeaseTransitions).To(Equal(int32(2)))
}

// A late release of an old run does not free the lock of a new one (O-10, X-6).
func TestReleaseAfterTakeover(t *testing.T) {
	w := newWorld(t)
	old := w.acquire(w.operator("pod_1"))
	w.edit(func(l *v1.Lease) { l.Spec.HolderIdentity = new("") }) // an operator by hand
	h := w.acquire(w.operator("pod_2"))
	w.Expect(old.Release(t.Context())).To(Succeed())
	w.Expect(*w.live().Spec.HolderIdentity).To(Equal(h.Fence().Holder))
	w.Expect(w.write(h.Fence())).To(Succeed())
}

// N-26: only a record that this process saw unchanged for its whole duration is taken
// over; what the remote clock says has no effect.
func TestTakeover(t *testing.T) {
	for reason, remote := range map[string]time.Duration{
		"remote clock right":              0,
		"remote clock hours behind":       -5 * time.Hour,
		"remote clock hours ahead":        5 * time.Hour,
		"renewed in the far past, 1970":   -60 * 365 * 24 * time.Hour,
		"remote clock a ttl ahead, 1 min": time.Minute,
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			dead := w.acquire(w.operator("dead"))
			dead.Abandon()
			w.edit(func(l *v1.Lease) { l.Spec.RenewTime = new(metav1.NewMicroTime(start.Add(remote))) })
			operator := w.operator("successor")

			w.refused(operator)
			w.clock.Step(59 * time.Second)
			w.Expect(w.refused(operator)).To(ContainSubstring("59s"))
			// It lives after all: the wait starts again.
			w.edit(func(l *v1.Lease) {
				l.Spec.RenewTime = new(metav1.NewMicroTime(start.Add(remote + time.Second)))
			})
			w.clock.Step(time.Second)
			w.refused(operator)
			w.clock.Step(60*time.Second - time.Nanosecond)
			w.refused(operator)
			w.clock.Step(time.Nanosecond)

			h := w.acquire(operator)
			w.Expect(h.Fence().Epoch).To(BeNumerically(">", dead.Fence().Epoch))
			w.Expect(*w.live().Spec.LeaseTransitions).To(Equal(int32(2)))
			w.Expect(model.IsKind(w.write(dead.Fence()), model.FencedWriteError)).To(BeTrue())
			w.Expect(w.write(h.Fence())).To(Succeed())
		})
	}
}

// The duration that counts is the holder's, not the observer's.
func TestTakeoverWaitsAsLongAsTheHolderSaid(t *testing.T) {
	w := newWorld(t)
	w.acquire(w.operator("dead", func(o *Options) { o.TTL = 300 * time.Second })).Abandon()
	operator := w.operator("successor")
	w.refused(operator)
	w.clock.Step(299 * time.Second)
	w.refused(operator)
	w.clock.Step(time.Second)
	w.acquire(operator)
}

// N-28, LS-8: a Lease that was deleted starts its transitions again, epochs do not.
func TestDeletedLease(t *testing.T) {
	w := newWorld(t)
	old := w.acquire(w.operator("pod_1"))
	w.remove()
	h := w.acquire(w.operator("pod_2"))
	w.Expect(*w.live().Spec.LeaseTransitions).To(Equal(int32(1)))
	w.Expect(h.Fence().Epoch).To(BeNumerically(">", old.Fence().Epoch))
	w.Expect(model.IsKind(w.write(old.Fence()), model.FencedWriteError)).To(BeTrue())
	w.Expect(w.write(h.Fence())).To(Succeed())

	w.step(DefaultRenew) // the old holder's renewal finds another holder
	w.Expect(w.lost(old)).To(ContainSubstring("somebody else"))
	w.Expect(h.Check()).To(Succeed())
}

// What stands between the look and the claim: each accident ends in one holder or in
// an error that leaves the lock free.
func TestAcquireAccidents(t *testing.T) {
	overtaken := func(w *world) error { // a newer claim lands first
		epoch, err := w.store.Mint(w.Context(), string(w.uid))
		if err == nil {
			err = w.store.Claim(w.Context(), string(w.uid), model.Fence{Epoch: epoch, Holder: "newer"}, "other-lease", 1)
		}
		return err
	}
	outage := &model.Error{Kind: model.StateError, Class: model.ClassTransient, Message: "the state store is unavailable", Cause: state.ErrUnavailable}
	for _, c := range []struct {
		reason    string
		api       func(w *world, f *faults)
		epochs    func(w *world, e *epochs)
		wantErr   model.Kind
		wantEpoch int64 // of the holder
	}{
		{reason: "somebody creates the Lease first, and releases it", wantEpoch: 3, api: func(w *world, f *faults) {
			f.set(once("create", func() error {
				h, err := w.operator("rival").For(w.stack, w.uid).Acquire(w.Context())
				if err == nil {
					err = h.Release(w.Context())
				}
				w.Expect(err).NotTo(HaveOccurred())
				return nil
			}), nil)
		}},
		{reason: "somebody creates the Lease first, and keeps it", wantErr: model.LockError, api: func(w *world, f *faults) {
			f.set(once("create", func() error { w.acquire(w.operator("rival")); return nil }), nil)
		}},
		{reason: "the answer of the write is lost", wantEpoch: 1, api: func(w *world, f *faults) {
			f.set(nil, once("create", func() error { return errNetwork }))
		}},
		{reason: "the write never arrived", wantEpoch: 2, api: func(w *world, f *faults) {
			f.set(once("create", func() error { return errNetwork }), nil)
		}},
		{reason: "the API server cannot be read", wantErr: model.AtlantideError, api: func(w *world, f *faults) {
			f.set(func(string) error { return errNetwork }, nil)
		}},
		{reason: "no write arrives", wantErr: model.AtlantideError, api: func(w *world, f *faults) {
			f.set(func(verb string) error {
				if verb == "create" {
					return errNetwork
				}
				return nil
			}, nil)
		}},
		{reason: "the Lease is always removed by somebody before the update", wantErr: model.LockError, api: func(w *world, f *faults) {
			w.Expect(w.acquire(w.operator("rival")).Release(w.Context())).To(Succeed())
			f.set(func(verb string) error {
				if verb == "update" {
					return apierrors.NewNotFound(v1.Resource("leases"), "it")
				}
				return nil
			}, nil)
		}},
		{reason: "the answer of the claim is lost", wantEpoch: 1, epochs: func(w *world, e *epochs) {
			lost := false
			e.claim = func(claim func() error) error {
				err := claim()
				if !lost {
					lost = true
					return outage
				}
				return err
			}
		}},
		{reason: "somebody newer claimed", wantErr: model.LockError, epochs: func(w *world, e *epochs) {
			e.claim = func(claim func() error) error { return errors.Join(overtaken(w), claim()) }
		}},
		{reason: "the store is down at the mint", wantErr: model.StateError, epochs: func(w *world, e *epochs) {
			e.mint = func() error { return outage }
		}},
		{reason: "the store is down at the claim", wantErr: model.StateError, epochs: func(w *world, e *epochs) {
			e.claim = func(func() error) error { return outage }
		}},
		{reason: "taking it takes longer than it lasts", wantErr: model.LeaseLostError, epochs: func(w *world, e *epochs) {
			e.claim = func(claim func() error) error { w.clock.Step(DefaultTTL - DefaultGrace); return claim() }
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			f, e := &faults{LeasesGetter: w.client}, epochs{Epochs: w.store}
			if c.api != nil {
				c.api(w, f)
			}
			if c.epochs != nil {
				c.epochs(w, &e)
			}
			operator := w.operator("pod", func(o *Options) { o.Client, o.Epochs = f, e })
			h, err := operator.For(w.stack, w.uid).Acquire(t.Context())
			if c.wantErr != "" {
				w.Expect(model.KindOf(err)).To(Equal(c.wantErr), "%v", err)
				if l := w.live(); l != nil {
					w.Expect(*l.Spec.HolderIdentity).NotTo(HavePrefix("pod_"), "the lease is free for others")
				}
				if p := operator.partitions[string(w.uid)]; p != nil {
					w.Expect(p.holder).To(BeEmpty(), "and for other workers of the process")
				}
				return
			}
			w.Expect(err).NotTo(HaveOccurred())
			defer h.Abandon()
			w.Expect(h.Fence().Epoch).To(Equal(c.wantEpoch))
			w.Expect(w.write(h.Fence())).To(Succeed())
			w.Expect(epochOf(w.live())).To(Equal(c.wantEpoch))
		})
	}
}

// A write that the API server refuses says so at once: it costs one epoch and is
// nobody else's lock.
func TestAcquireForbidden(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t)
			if verb == "update" {
				w.Expect(w.acquire(w.operator("before")).Release(t.Context())).To(Succeed())
			}
			f := &faults{LeasesGetter: w.client}
			f.set(func(v string) error {
				if v == verb {
					return apierrors.NewForbidden(v1.Resource("leases"), "it", errors.New("no rights"))
				}
				return nil
			}, nil)
			before, err := w.store.Mint(t.Context(), string(w.uid))
			w.Expect(err).NotTo(HaveOccurred())
			_, err = w.operator("pod", func(o *Options) { o.Client = f }).For(w.stack, w.uid).Acquire(t.Context())
			w.Expect(model.KindOf(err)).To(Equal(model.AtlantideError), "%v", err)
			w.Expect(model.ClassOf(err)).To(Equal(model.ClassTransient))
			w.Expect(err.Error()).To(And(ContainSubstring(Name(w.stack, w.uid)), ContainSubstring("could not be "+verb), ContainSubstring("Forbidden")))
			after, err := w.store.Mint(t.Context(), string(w.uid))
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(after-before).To(Equal(int64(2)), "it minted once")
		})
	}
}

// Of many that want the lock at the same time one gets it, of whichever process.
func TestAcquireConcurrently(t *testing.T) {
	w := newWorld(t)
	var operators []*Leases
	for _, identity := range []string{"a", "b", "c"} {
		operators = append(operators, w.operator(identity, func(o *Options) { o.NewRunID = nil }))
	}
	const rounds, workers = 3, 9
	for range rounds {
		var all sync.WaitGroup
		handles := make([]lease.Handle, workers)
		for i := range workers {
			all.Go(func() {
				h, err := operators[i%len(operators)].For(w.stack, w.uid).Acquire(t.Context())
				if err == nil {
					handles[i] = h
				} else if !model.IsKind(err, model.LockError) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var held []lease.Handle
		for _, h := range handles {
			if h != nil {
				held = append(held, h)
			}
		}
		w.Expect(len(held)).To(BeNumerically("<=", 1))
		for _, h := range held {
			w.Expect(w.write(h.Fence())).To(Succeed())
			w.Expect(h.Release(t.Context())).To(Succeed())
		}
	}
}

// N-34, LS-3, LS-5: the finalizer's last act.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	operator := w.operator("pod")
	remove := func() error { return operator.Delete(t.Context(), w.stack, w.uid) }
	w.Expect(remove()).To(Succeed(), "there is none yet")

	h := w.acquire(operator)
	w.Expect(model.IsKind(remove(), model.LockError)).To(BeTrue(), "it is held")
	w.Expect(h.Release(t.Context())).To(Succeed())
	w.Expect(remove()).To(Succeed())
	w.Expect(w.live()).To(BeNil())
	w.Expect(operator.partitions).To(BeEmpty(), "nothing is remembered of it")

	w.acquire(w.operator("dead")).Abandon()
	w.Expect(model.IsKind(remove(), model.LockError)).To(BeTrue(), "its holder may live")
	w.clock.Step(DefaultTTL)
	w.Expect(remove()).To(Succeed(), "the holder was silent for the whole ttl")
	w.Expect(w.live()).To(BeNil())
}

// Any write to the record shows that somebody is there, whatever it left alone.
func TestTakeoverSeesEveryChange(t *testing.T) {
	w := newWorld(t)
	w.acquire(w.operator("dead")).Abandon()
	operator := w.operator("successor")
	w.refused(operator)
	w.clock.Step(DefaultTTL - time.Second)
	w.edit(func(l *v1.Lease) { l.Labels["by"] = "hand" })
	w.refused(operator)
	w.clock.Step(time.Second)
	w.refused(operator)
	w.clock.Step(DefaultTTL - time.Second)
	w.acquire(operator)
}

// LS-7 (6): a write whose answer was lost counts from when it was sent.
func TestLostAnswerCountsFromTheSend(t *testing.T) {
	w := newWorld(t)
	f := &faults{LeasesGetter: w.client}
	f.set(nil, once("create", func() error { w.clock.Step(DefaultGrace); return errNetwork }))
	h := w.acquire(w.operator("pod", func(o *Options) { o.Client, o.Renew = f, DefaultTTL-DefaultGrace-1 }))
	w.step(stopsAt - DefaultGrace - time.Nanosecond)
	w.Expect(h.Check()).To(Succeed())
	w.clock.Step(time.Nanosecond)
	w.Expect(h.Check()).To(HaveOccurred())
}
