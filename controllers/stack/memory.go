package stack

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// memory remembers, per Stack, what its last conclusive reconcile saw, so that an
// unchanged Stack costs nothing, and what was told about it, so that nothing is told
// twice. Losing it costs one compile and one query, or one plan; nothing is ever right
// because of it (O-14).
type memory struct {
	mu    sync.Mutex
	seen  map[types.NamespacedName]fingerprint
	wrote map[types.NamespacedName]string            // resourceVersion of the last write
	told  map[types.NamespacedName]map[string]string // what was told last, by reason
	met   map[types.NamespacedName]bool              // was looked at
}

// fingerprint is everything that a reconcile depends on, and how it ended. Equal
// fingerprints mean equal outcomes.
type fingerprint struct {
	uid           types.UID
	generation    int64
	sourceVersion string // of the ConfigMap; "" for inline
	serial        int64
	approval      string // the annotation, as a token
	// due is when a Stack that reads secrets is planned again although nothing else moved:
	// nothing tells of a Secret that changed. Zero = never.
	due       time.Time
	concluded conclusion
	status    [sha256.Size]byte // what was written; anything else is to be mended
}

// statusHash identifies a status.
func statusHash(status *v1alpha1.StackStatus) [sha256.Size]byte {
	text, err := json.Marshal(status)
	if err != nil {
		return [sha256.Size]byte{} // of a struct of plain values there is none
	}
	return sha256.Sum256(text)
}

// conclusion says how much of a reconcile an unchanged fingerprint replaces.
type conclusion int

const (
	// concludedSteady: applied, nothing to do.
	concludedSteady conclusion = iota + 1
	// concludedWaiting: a plan waits for its approval.
	concludedWaiting
	// concludedStalled: an error that only a change mends.
	concludedStalled
	// concludedUnread: an error that only a change of the source or the spec mends,
	// found before state was looked at.
	concludedUnread
	// concludedSuspended: nothing was looked at.
	concludedSuspended
)

// readsState reports whether the outcome depends on the state's serial.
func (c conclusion) readsState() bool { return c != concludedUnread }

// stalled reports whether a request to reconcile means more than an echo.
func (c conclusion) stalled() bool { return c == concludedStalled || c == concludedUnread }

func newMemory() *memory {
	return &memory{
		seen: map[types.NamespacedName]fingerprint{}, wrote: map[types.NamespacedName]string{},
		told: map[types.NamespacedName]map[string]string{}, met: map[types.NamespacedName]bool{},
	}
}

func (m *memory) recall(key types.NamespacedName) (fingerprint, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.seen[key]
	return s, ok
}

func (m *memory) keep(key types.NamespacedName, s fingerprint) {
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
	delete(m.told, key)
	delete(m.met, key)
}

// meet reports whether a Stack is looked at for the first time.
func (m *memory) meet(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.met[key] {
		return false
	}
	m.met[key] = true
	return true
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

// news reports whether this is not what was told last of a Stack under a reason.
func (m *memory) news(key types.NamespacedName, reason, what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.told[key][reason]; ok && last == what {
		return false
	}
	if m.told[key] == nil {
		m.told[key] = map[string]string{}
	}
	m.told[key][reason] = what
	return true
}
