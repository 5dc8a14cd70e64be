package project

import (
	"path/filepath"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// The backends of a state (cli.md 2).
const (
	BackendLocal    = "local"
	BackendPostgres = "postgres"
)

// envDSN is the variable that a DSN comes from where the project file has none.
const envDSN = "ATLANTIDE_STATE_DSN"

// State is where a project's state lies, and how its lock behaves.
type State struct {
	Backend string
	Path    string // of the local database, absolute
	Shown   string // Path as it names the target (cli.md 5)
	DSN     string // of a postgres backend
	Schema  string // "" = the store's default
	// Overridden is the remote backend that an explicit path beats, "" = none.
	Overridden string

	LockTTL, LockRenew *time.Duration // nil = not set
	LockSkewMargin     *time.Duration // nil = not set
	NodeTimeout        time.Duration  // 0 = not set
}

// State reads where the state lies. given is the local database that a command was told,
// which beats the project file; "" = none. getenv reads the environment.
func (p *Project) State(given string, getenv func(string) string) (State, error) {
	table, _ := p.settings.table("state")
	s := State{Backend: BackendLocal, LockTTL: table.seconds("lock_ttl"), LockRenew: table.seconds("lock_renew_interval"), LockSkewMargin: table.seconds("lock_skew_margin")}
	if margin := s.LockSkewMargin; margin != nil && *margin < 0 {
		return s, model.Errorf(model.StateError, model.ClassUser, "[state] lock_skew_margin in %s is %s and must not be negative", p.File, *margin)
	}
	if timeout := table.seconds("node_timeout"); timeout != nil {
		if *timeout <= 0 {
			return s, model.Errorf(model.StateError, model.ClassUser, "[state] node_timeout in %s is %s and must be positive", p.File, *timeout)
		}
		s.NodeTimeout = *timeout
	}
	backend, ok := table.text("backend")
	if !ok {
		backend = BackendLocal
	}
	if given != "" {
		s.Path, s.Shown = p.Resolved(given), given
		if backend != BackendLocal {
			s.Overridden = backend
		}
		return s, nil
	}
	s.Backend = backend
	switch backend {
	case BackendLocal:
		s.Path = p.localState()
		s.Shown = s.Path
		return s, nil
	case BackendPostgres:
		err := p.postgresState(&s, table, getenv)
		return s, err
	default:
		return s, model.Errorf(model.StateError, model.ClassUser, "[state] backend '%s' in %s is unknown; there are: %s, %s", sourcetree.Shown(backend), p.File, BackendLocal, BackendPostgres)
	}
}

// LocalState is the local database that the file places, whatever backend it sets.
func (p *Project) LocalState() string { return p.localState() }

// localState is the local database that the file places, absolute.
func (p *Project) localState() string {
	name, ok := p.settings.text("state")
	if !ok || name == "" {
		name = defaultState
	}
	return p.fromRoot(name)
}

func (p *Project) postgresState(s *State, table section, getenv func(string) string) error {
	s.DSN, _ = table.text("dsn")
	if s.DSN == "" {
		s.DSN = getenv(envDSN)
	}
	if s.DSN == "" {
		return model.Errorf(model.StateError, model.ClassUser, "[state] backend 'postgres' needs a dsn: set it in %s, or %s in the environment", p.File, envDSN)
	}
	s.Schema, _ = table.text("schema")
	return nil
}

// seconds is a number of the table; another type counts as absent. A year is as good as
// any longer time.
func (s section) seconds(key string) *time.Duration {
	const most = 365 * 24 * 60 * 60
	var number float64
	switch v := s[key].(type) {
	case int64:
		number = float64(v)
	case float64:
		number = v
	default:
		return nil
	}
	if number != number { // not a number
		return nil
	}
	d := time.Duration(max(-most, min(number, most)) * float64(time.Second))
	return &d
}

// Parallelism is how many provider operations the file allows at once; 0 = it does not say.
func (p *Project) Parallelism() (int, error) {
	n, ok := p.settings["parallelism"].(int64)
	if !ok {
		return 0, nil
	}
	if n < 1 || n > MaxParallelism {
		return 0, userErrorf("parallelism in %s must be from 1 to %d, not %d", p.File, MaxParallelism, n)
	}
	return int(n), nil
}

// MaxParallelism bounds what a run has in flight.
const MaxParallelism = 256

// Beside is a path in the working directory, absolute.
func (p *Project) Beside(name string) string { return filepath.Join(p.working, name) }
