package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// record is the lock in a partition's row.
type record struct {
	current model.Fence
	minted  int64
	ends    sql.NullInt64 // microseconds since 1970; null = it does not end by itself
}

func (r record) hold(now time.Time) state.Hold {
	return state.Hold{Holder: r.current.Holder, Epoch: r.current.Epoch, Lapses: r.ends.Valid, Remaining: time.UnixMicro(r.ends.Int64).Sub(now)}
}

func readLock(ctx context.Context, tx *sql.Tx, partition string) (r record, found bool, err error) {
	err = tx.QueryRowContext(ctx, "select epoch, holder, epoch_minted, lock_ends from partitions where id = $1 and deleted_at is null", partition).
		Scan(&r.current.Epoch, &r.current.Holder, &r.minted, &r.ends)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// TakeLock implements state.Locks; it makes the partition. All processes share one clock,
// so that a lock may be taken over when it ended (ST-8a).
func (s *Store) TakeLock(ctx context.Context, partition, holder string, ttl time.Duration) (fence model.Fence, err error) {
	if holder == "" {
		return fence, model.Errorf(model.LockError, model.ClassUnknown, "lock partition %.80s: a lock needs a holder", partition)
	}
	err = s.do(ctx, "lock partition "+partition, func(ctx context.Context) error {
		return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			now := s.options.Now()
			if _, err := tx.ExecContext(ctx, "insert into partitions (id, installation, namespace, name, created_at) values ($1, $2, '', '', $3) on conflict do nothing",
				partition, s.options.Installation, timeText(now)); err != nil {
				return err
			}
			lock, found, err := readLock(ctx, tx, partition)
			switch hold := lock.hold(now); {
			case err != nil:
				return err
			case !found:
				return stateError(model.ClassUnknown, state.ErrPartitionDeleted, "partition "+partition+" was deleted")
			case hold.Holder != "" && hold.Holder != holder && !hold.Expired():
				return hold.Held()
			}
			fence = model.Fence{Epoch: lock.minted + 1, Holder: holder}
			_, err = tx.ExecContext(ctx, "update partitions set epoch_minted = $2, epoch = $2, holder = $3, lock_ends = $4 where id = $1",
				partition, fence.Epoch, holder, now.Add(ttl).UnixMicro())
			return err
		})
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(ctx context.Context, c conn) (err error) {
			fence, err = s.form.Take(ctx, c, holder, ttl)
			return err
		})
	})
	if err != nil {
		return model.Fence{}, err
	}
	return fence, nil
}

// RenewLock implements state.Locks.
func (s *Store) RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error {
	return s.do(ctx, "renew the lock of partition "+partition, func(ctx context.Context) error {
		return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			done, err := changed(tx.ExecContext(ctx, "update partitions set lock_ends = $4 where id = $1 and epoch = $2 and holder = $3 and holder <> '' and deleted_at is null",
				partition, fence.Epoch, fence.Holder, s.options.Now().Add(ttl).UnixMicro()))
			if err == nil && !done {
				err = s.refusal(ctx, tx, partition, fence)
			}
			return err
		})
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(ctx context.Context, c conn) error {
			renewed, err := s.form.Renew(ctx, c, fence, ttl)
			if err == nil && !renewed {
				err = fenced(partition, "the run's lock is not the current one")
			}
			return err
		})
	})
}

// ClearHolder implements state.Locks.
func (s *Store) ClearHolder(ctx context.Context, partition string, fence model.Fence) error {
	return s.do(ctx, "release partition "+partition, func(ctx context.Context) error {
		return s.writeExisting(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "update partitions set holder = '', lock_ends = null where id = $1 and epoch = $2 and holder = $3", partition, fence.Epoch, fence.Holder)
			return err
		})
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(ctx context.Context, c conn) error { return s.form.Release(ctx, c, fence) })
	})
}

// Holds implements state.Locks.
func (s *Store) Holds(ctx context.Context, partition string) (holds []state.Hold, err error) {
	err = s.do(ctx, "list the locks of partition "+partition, func(ctx context.Context) error {
		return s.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
			lock, found, err := readLock(ctx, tx, partition)
			if holds = nil; found && lock.current.Holder != "" {
				holds = []state.Hold{lock.hold(s.options.Now())}
			}
			return err
		})
	}, func(ctx context.Context) error {
		return s.readOlder(ctx, func(ctx context.Context, c conn) (err error) {
			holds, err = s.form.Listed(ctx, c)
			return err
		})
	})
	return holds, err
}

// BreakLock implements state.Locks.
func (s *Store) BreakLock(ctx context.Context, partition, holder string) (held bool, err error) {
	err = s.do(ctx, "break the lock of partition "+partition, func(ctx context.Context) error {
		return s.writeExisting(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			held, err = changed(tx.ExecContext(ctx, `update partitions set epoch_minted = epoch_minted + 1, epoch = epoch_minted + 1, holder = '', lock_ends = null
				where id = $1 and holder = $2 and holder <> '' and deleted_at is null`, partition, holder))
			return err
		})
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(ctx context.Context, c conn) (err error) {
			held, err = s.form.Break(ctx, c, holder)
			return err
		})
	})
	return held, err
}
