package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// TakeLock implements state.Locks; it makes the partition. The server's clock says when a
// lock ended, read again after a wait for the row, and a lock that a Lease stands for
// never ends here (ST-8a).
func (s *Store) TakeLock(ctx context.Context, partition, holder string, ttl time.Duration) (fence model.Fence, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return fence, err
	}
	what := "lock partition " + partition
	if holder == "" {
		return fence, &model.Error{Kind: model.LockError, Class: model.ClassUnknown, Message: what + ": a lock needs a holder"}
	}
	err = s.doEither(ctx, what, func(ctx context.Context) error {
		if err := s.EnsurePartition(ctx, partition, "", ""); err != nil {
			return err
		}
		fence.Holder = holder
		err := s.pool.QueryRow(asWrite(ctx), `update partitions set epoch_minted = epoch_minted + 1, epoch = epoch_minted + 1, holder = $2, lease_uid = '', lease_transitions = 0,
			  lock_ends = clock_timestamp() + make_interval(secs => $3)
			where id = $1 and installation = $4 and deleted_at is null
			  and (holder = '' or holder = $2 or lock_ends < clock_timestamp() - make_interval(secs => $5))
			  and not exists (select from schema_migrations where version > $6)
			returning epoch`, id, holder, ttl.Seconds(), s.options.Installation, s.options.LockSkewMargin.Seconds(), supportedVersion).Scan(&fence.Epoch)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.untakeable(ctx, what, id)
		}
		return err
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(c conn) (err error) {
			fence, err = s.form.Take(ctx, c, holder, ttl)
			return err
		})
	})
	if err != nil {
		return model.Fence{}, err
	}
	return fence, nil
}

// untakeable says why a lock was not given.
func (s *Store) untakeable(ctx context.Context, what string, id uuid.UUID) error {
	holds, err := s.holds(ctx, id)
	if err != nil {
		return err
	}
	if len(holds) > 0 {
		return holds[0].Held()
	}
	if _, err := s.checkPartition(ctx, id); err != nil {
		return err
	}
	return &model.Error{Kind: model.LockError, Class: model.ClassTransient, Message: what + ": its lock was just given back; try again"}
}

// RenewLock implements state.Locks.
func (s *Store) RenewLock(ctx context.Context, partition string, fence model.Fence, ttl time.Duration) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	what := "renew the lock of partition " + partition
	return s.doEither(ctx, what, func(ctx context.Context) error {
		tag, err := s.pool.Exec(asWrite(ctx), `update partitions set lock_ends = clock_timestamp() + make_interval(secs => $4)
			where id = $1 and epoch = $2 and holder = $3 and holder <> '' and deleted_at is null
			  and not exists (select from schema_migrations where version > $5)`, id, fence.Epoch, fence.Holder, ttl.Seconds(), supportedVersion)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		return s.refusal(ctx, what, id, fence)
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(c conn) error {
			renewed, err := s.form.Renew(ctx, c, fence, ttl)
			if err == nil && !renewed {
				err = fenced(what, partition, "the run's lock is not the current one")
			}
			return err
		})
	})
}

// Holds implements state.Locks.
func (s *Store) Holds(ctx context.Context, partition string) (holds []state.Hold, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return nil, err
	}
	err = s.readEither(ctx, "list the locks of partition "+partition, again(func(ctx context.Context) (err error) {
		holds, err = s.holds(ctx, id)
		return err
	}), func(ctx context.Context) error {
		return s.readOlder(ctx, func(c conn) (err error) {
			holds, err = s.form.Listed(ctx, c)
			return err
		})
	})
	return holds, err
}

func (s *Store) holds(ctx context.Context, id uuid.UUID) ([]state.Hold, error) {
	h := state.Hold{}
	var seconds *float64
	err := s.pool.QueryRow(asQuery(ctx), "select holder, epoch, extract(epoch from lock_ends - clock_timestamp())::double precision from partitions where id = $1 and holder <> '' and deleted_at is null", id).
		Scan(&h.Holder, &h.Epoch, &seconds)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if seconds != nil {
		h.Lapses, h.Remaining = true, time.Duration(*seconds*float64(time.Second))
	}
	return []state.Hold{h}, err
}

// BreakLock implements state.Locks.
func (s *Store) BreakLock(ctx context.Context, partition, holder string) (held bool, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return false, err
	}
	err = s.doEither(ctx, "break the lock of partition "+partition, func(ctx context.Context) error {
		tag, err := s.pool.Exec(asWrite(ctx), `update partitions set epoch_minted = epoch_minted + 1, epoch = epoch_minted + 1, holder = '', lock_ends = null
			where id = $1 and installation = $2 and holder = $3 and holder <> '' and deleted_at is null
			  and not exists (select from schema_migrations where version > $4)`, id, s.options.Installation, holder, supportedVersion)
		if held = tag.RowsAffected() == 1; err != nil || held {
			return err
		}
		if _, err := s.checkPartition(ctx, id); err != nil { // another installation's is not ours to break
			return err
		}
		return s.writable(ctx)
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(c conn) (err error) {
			held, err = s.form.Break(ctx, c, holder)
			return err
		})
	})
	return held, err
}
