package lease

import (
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Times are those of a lock (ST-11).
type Times struct {
	TTL   time.Duration // how long it lasts without a renewal
	Renew time.Duration // between renewals
	Grace time.Duration // how long before its end the holder stops
}

// Defaults of a command line.
const (
	defaultTTL = 300 * time.Second
	maxGrace   = 30 * time.Second
)

// TimesOf completes what a project sets; nil is not set. Times that do not fit are a
// LockError that names the key.
func TimesOf(ttl, renew *time.Duration) (Times, error) {
	t := Times{TTL: defaultTTL}
	if ttl != nil {
		t.TTL = *ttl
	}
	if t.TTL <= 0 {
		return Times{}, unfit("lock_ttl is %s and must be positive", t.TTL)
	}
	t.Renew = t.TTL / 3
	if renew != nil {
		t.Renew = *renew
	}
	if t.Renew <= 0 {
		return Times{}, unfit("lock_renew_interval is %s and must be positive", t.Renew)
	}
	t.Grace = min(maxGrace, t.TTL/3)
	if t.Renew >= t.TTL-t.Grace {
		return Times{}, unfit("lock_renew_interval is %s and must be shorter than lock_ttl, %s, less the %s before its end in which nothing is written", t.Renew, t.TTL, t.Grace)
	}
	return t, nil
}

func unfit(format string, args ...any) error {
	return model.Errorf(model.LockError, model.ClassUser, format, args...)
}
