package lease

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/atlantide-org/atlantide-operator/engine/lease"
)

// hands is the process's clock as a lock is kept by it: both hands of it (LS-12).
func (l *Leases) hands() lease.Clock { return hands{l.options.Clock, l.options.Wall} }

type hands struct {
	clock clock.Clock
	wall  func() time.Time
}

func (h hands) Now() time.Time { return h.clock.Now() }

func (h hands) Wall() time.Time { return h.wall() }

func (h hands) NewTimer(d time.Duration) lease.Timer { return h.clock.NewTimer(d) }
