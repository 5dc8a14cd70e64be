// Package postgres owns the shared state store: its tables and their migrations, the
// fenced write, the epochs that fence it, and the plan records.
//
// It must never know what holds the lock (a Lease, a person), the language, a provider
// or Kubernetes.
package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/group"
	"github.com/atlantide-org/atlantide-operator/engine/state/legacy"
)

// DefaultSchema is where the tables are unless Options say otherwise.
const DefaultSchema = "atlantide"

// Kinds of statements that Options.Observe is told.
const (
	ObserveQuery = "query"
	ObserveWrite = "write"
)

// Options of a Store.
type Options struct {
	Schema string // "" = DefaultSchema
	// Installation is the id of the operator that owns the partitions; several may
	// share a database.
	Installation string
	// Timeout bounds one operation, waiting for a connection included; 0 = 15 s.
	Timeout time.Duration
	// MaxConns bounds the pool; 0 = what the DSN or the driver says.
	MaxConns int32
	// Observe is told the kind of every statement that reads or writes state, before
	// it is sent; may be nil; must not block.
	Observe func(kind string)
	// LockSkewMargin is how long a lock that TakeLock gave is kept from others after its
	// end (ST-8a).
	LockSkewMargin time.Duration

	// Backup keeps what a schema of the older form holds, before the first locked write
	// converts it; an error leaves the schema as it is. nil = such a schema is only read.
	Backup func(ctx context.Context, s *state.Snapshot) error
	// Imported makes ours what release 0.3 recorded; see legacy.Form.
	Imported func(ctx context.Context, s *state.Snapshot) error
}

// DefaultLockSkewMargin is the margin of a command line.
const DefaultLockSkewMargin = 30 * time.Second

// Store is a state.Store and what its owner needs beside it. It is safe for
// concurrent use, connects when it is first asked, and recovers by itself from an
// outage: an operation fails with state.ErrUnavailable meanwhile.
type Store struct {
	pool    *pgxpool.Pool
	options Options
	form    legacy.Form
	group   *group.Writer

	migrated  atomic.Bool   // the tables are there, as far as is known
	migrating chan struct{} // holds one token while somebody looks after the tables
}

var (
	_ state.Store = (*Store)(nil)
	_ state.Locks = (*Store)(nil)
)

// Open checks the DSN and returns a store; it does not connect. The error of a DSN
// that cannot be read does not repeat it.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	if o.Schema == "" {
		o.Schema = DefaultSchema
	}
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(string) {}
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil || strings.ContainsRune(o.Schema, 0) {
		return nil, &model.Error{Kind: model.StateError, Class: model.ClassUser,
			Message: "the DSN or schema name of the state store cannot be read: correct ATLANTIDE_STATE_DSN"}
	}
	if o.LockSkewMargin < 0 {
		return nil, stateError(model.ClassUser, nil, "lock_skew_margin must not be negative")
	}
	if o.MaxConns > 0 {
		config.MaxConns = o.MaxConns
	}
	config.ConnConfig.Tracer = observer(o.Observe)
	configureConnection(config.ConnConfig)
	config.AfterConnect = session(o.Schema, sessionLimits)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, failure("open the state store", err)
	}
	s := &Store{pool: pool, options: o, form: newForm(o), migrating: make(chan struct{}, 1)}
	s.group = group.New(s.commit)
	return s, nil
}

// configureConnection sets what is sent when a connection starts: no more than a pooler
// in between takes, which refuses parameters that it does not track.
func configureConnection(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	c.RuntimeParams["application_name"] = "atlantide"
	c.RuntimeParams["timezone"] = "UTC"
}

// sessionLimits let the server get rid of a session that stalls while it holds a row
// lock, so that it cannot block a takeover (LS-14).
var sessionLimits = map[string]string{
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "10s",
}

// session sets up a connection once it stands: where the tables are, when the server
// takes a silent client for gone, and further settings.
func session(schema string, further map[string]string) func(context.Context, *pgx.Conn) error {
	settings := map[string]string{
		"search_path":             pgx.Identifier{schema}.Sanitize(),
		"tcp_keepalives_idle":     "10",
		"tcp_keepalives_interval": "5",
		"tcp_keepalives_count":    "3",
		"tcp_user_timeout":        "20s",
		// Every statement goes by a key, whatever its parameters: planning them anew costs
		// more than they do.
		"plan_cache_mode": "force_generic_plan",
	}
	maps.Copy(settings, further)
	names := slices.Sorted(maps.Keys(settings))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = settings[name]
	}
	return func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "select set_config(s.name, s.value, false) from unnest($1::text[], $2::text[]) as s(name, value)", names, values)
		return err
	}
}

// Close ends all connections and waits for the operations that use them.
func (s *Store) Close() { s.pool.Close() }

// Check asks the store whether it can be used: one query. An operator that gets
// state.ErrNewerSchema is not ready; any other error is an outage that passes.
func (s *Store) Check(ctx context.Context) error {
	return s.do(ctx, "check the state store", s.writable)
}

// writable is nil while this release may write the schema (ST-16).
func (s *Store) writable(ctx context.Context) error {
	var version int64
	if err := s.pool.QueryRow(asQuery(ctx), "select coalesce(max(version), 0) from schema_migrations").Scan(&version); err != nil {
		return err
	}
	return supported(version)
}

// do runs one operation within the timeout, the tables being there, and turns what
// went wrong into a StateError that says which operation it was.
func (s *Store) do(ctx context.Context, what string, operation func(context.Context) error) error {
	return s.doEither(ctx, what, operation, func(context.Context) error {
		return stateError(model.ClassUser, nil, what+": the schema holds a state in the form of an older release: convert it with a locked run of the command line, or use another schema")
	})
}

// doEither is do for what a schema of the older form has an answer to as well.
func (s *Store) doEither(ctx context.Context, what string, ours, older func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err := s.attempt(ctx, ours)
	if errors.Is(err, errOlderForm) {
		if err = older(ctx); errors.Is(err, errConverted) {
			err = s.attempt(ctx, ours)
		}
	}
	return failure(what, err)
}

// readEither is doEither for what finds nothing in a schema that nobody has written yet. It
// makes no tables: a plan writes nothing, and its user may have no right to.
func (s *Store) readEither(ctx context.Context, what string, ours, older func(context.Context) error) error {
	if !s.migrated.Load() {
		switch unwritten, err := s.unwritten(ctx); {
		case err != nil:
			return failure(what, err)
		case unwritten:
			return nil
		}
	}
	return s.doEither(ctx, what, ours, older)
}

// unwritten reports whether the schema has no tables, of this form or the older one.
func (s *Store) unwritten(ctx context.Context) (unwritten bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err = again(func(ctx context.Context) error {
		version, err := s.schemaVersion(ctx)
		if err != nil || version > 0 {
			return err
		}
		err = s.refuseOlder(ctx)
		unwritten = err == nil
		return err
	})(ctx)
	if errors.Is(err, errOlderForm) {
		err = nil
	}
	return unwritten, err
}

// attempt sees to the tables and runs an operation of ours.
func (s *Store) attempt(ctx context.Context, operation func(context.Context) error) error {
	if err := s.ensureSchema(ctx); err != nil {
		return err
	}
	err := operation(ctx)
	if isUndefinedTable(err) {
		// The schema was dropped under us. Nothing was done, so it is made again and
		// the operation repeated, once.
		s.migrated.Store(false)
		if err := s.ensureSchema(ctx); err != nil {
			return err
		}
		err = operation(ctx)
	}
	return err
}

// read is do for what may simply be asked again: a connection that the server closed
// since it was last used is replaced once.
func (s *Store) read(ctx context.Context, what string, operation func(context.Context) error) error {
	return s.do(ctx, what, again(operation))
}

func again(operation func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := operation(ctx)
		if isUnavailable(err) && ctx.Err() == nil {
			err = operation(ctx)
		}
		return err
	}
}

// parsePartition reads a partition's id.
func parsePartition(partition string) (uuid.UUID, error) {
	id, err := uuid.Parse(partition)
	if err != nil {
		return uuid.UUID{}, &model.Error{Kind: model.StateError, Class: model.ClassUnknown,
			Message: "a partition is named by a UUID, which '" + clip(partition) + "' is not"}
	}
	return id, nil
}

func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

type observeKey struct{}

func asQuery(ctx context.Context) context.Context {
	return context.WithValue(ctx, observeKey{}, ObserveQuery)
}

func asWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, observeKey{}, ObserveWrite)
}

// observer counts statements where they leave the process. Only what an operation
// marked is counted: not the schema check, not the frame of a transaction.
type observer func(kind string)

func (o observer) observe(ctx context.Context) {
	if kind, ok := ctx.Value(observeKey{}).(string); ok {
		o(kind)
	}
}

func (o observer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	o.observe(ctx)
	return ctx
}

func (o observer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (o observer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for range data.Batch.Len() {
		o.observe(ctx)
	}
	return ctx
}

func (o observer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (o observer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// inTx runs body in a transaction of the given kind; the frame is not counted.
func (s *Store) inTx(ctx context.Context, o pgx.TxOptions, body func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, o, body)
}
