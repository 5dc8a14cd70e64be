package stack

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// memory remembers, per Stack, what its last conclusive reconcile saw, so that an
// unchanged Stack costs nothing. Losing it costs one compile and one plan; nothing is
// ever right because of it (O-14).
type memory struct {
	mu    sync.Mutex
	seen  map[types.NamespacedName]sight
	wrote map[types.NamespacedName]string // resourceVersion of the last write
}

// sight is everything that a reconcile depends on, and how it ended. Equal sights mean
// equal outcomes.
type sight struct {
	uid           types.UID
	generation    int64
	sourceVersion string // of the ConfigMap; "" for inline
	serial        int64
	approval      string // the annotation
	ended         ending
}

// ending says how much of a reconcile an unchanged sight replaces.
type ending int

const (
	// endedSteady: applied, nothing to do.
	endedSteady ending = iota + 1
	// endedWaiting: a plan waits for its approval.
	endedWaiting
	// endedStalled: an error that only a change mends.
	endedStalled
	// endedUnread: an error that only a change of the source or the spec mends, found
	// before state was looked at.
	endedUnread
	// endedSuspended: nothing was looked at.
	endedSuspended
)

// readsState reports whether the outcome depends on the state's serial.
func (e ending) readsState() bool { return e != endedUnread }

// stalled reports whether a request to reconcile means more than an echo.
func (e ending) stalled() bool { return e == endedStalled || e == endedUnread }

func newMemory() *memory {
	return &memory{seen: map[types.NamespacedName]sight{}, wrote: map[types.NamespacedName]string{}}
}

func (m *memory) recall(key types.NamespacedName) (sight, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[key]
	return s, ok
}

func (m *memory) keep(key types.NamespacedName, s sight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[key] = s
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
}

// drop ends the memory of a Stack that is gone.
func (m *memory) drop(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
	delete(m.wrote, key)
}

// note keeps the resourceVersion that a write of ours got.
func (m *memory) note(key types.NamespacedName, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote[key] = version
}

// behind reports whether a resourceVersion is from before our last write: what is
// decided on such an object would take our own write for undone.
func (m *memory) behind(key types.NamespacedName, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(version, m.wrote[key])
	return err == nil && order < 0
}
