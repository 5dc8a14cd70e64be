package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Mint makes a new epoch, larger than any before it; it is worth nothing until it is
// claimed (LS-7).
func (s *Store) Mint(ctx context.Context, partition string) (epoch int64, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return 0, err
	}
	what := "mint an epoch of partition " + partition
	err = s.do(ctx, what, func(ctx context.Context) error {
		err := s.pool.QueryRow(asWrite(ctx), `update partitions set epoch_minted = epoch_minted + 1
			where id = $1 and installation = $2 and deleted_at is null
			  and not exists (select from schema_migrations where version > $3)
			returning epoch_minted`, id, s.options.Installation, supportedVersion).Scan(&epoch)
		if errors.Is(err, pgx.ErrNoRows) {
			return s.unclaimable(ctx, what, id, model.Fence{})
		}
		return err
	})
	return epoch, err
}

// Claim makes the fence the partition's: from its return on, no write of an earlier
// epoch commits (LS-16). It refuses, with a LockError, an epoch that is not newer than
// the claimed one and an acquisition of the same lease object that is not later
// (LS-7). Claiming the same fence again succeeds: a lost answer may be asked for again.
func (s *Store) Claim(ctx context.Context, partition string, fence model.Fence, leaseUID string, transitions int32) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	what := "claim partition " + partition
	if fence.Holder == "" {
		return &model.Error{Kind: model.LockError, Class: model.ClassUnknown, Message: what + ": a claim needs a holder"}
	}
	return s.do(ctx, what, func(ctx context.Context) error {
		tag, err := s.pool.Exec(asWrite(ctx), `update partitions set epoch = $2, holder = $3, lease_uid = $4, lease_transitions = $5, lock_ends = null
			where id = $1 and installation = $6 and deleted_at is null and epoch < $2 and $2 <= epoch_minted
			  and not (lease_uid = $4 and lease_transitions >= $5)
			  and not exists (select from schema_migrations where version > $7)`,
			id, fence.Epoch, fence.Holder, leaseUID, transitions, s.options.Installation, supportedVersion)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		return s.unclaimable(ctx, what, id, fence)
	})
}

// ClearHolder ends the fence without starting another; one that is not the
// partition's any more is left alone (LS-10).
func (s *Store) ClearHolder(ctx context.Context, partition string, fence model.Fence) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	return s.doEither(ctx, "release partition "+partition, func(ctx context.Context) error {
		tag, err := s.pool.Exec(asWrite(ctx), `update partitions set holder = '', lock_ends = null where id = $1 and epoch = $2 and holder = $3 and holder <> ''
			and not exists (select from schema_migrations where version > $4)`, id, fence.Epoch, fence.Holder, supportedVersion)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		return s.writable(ctx)
	}, func(ctx context.Context) error {
		return s.writeOlder(ctx, func(c conn) error { return s.form.Release(ctx, c, fence) })
	})
}

// unclaimable says why a partition gave no epoch or took no claim; nil for a claim
// that had been made already.
func (s *Store) unclaimable(ctx context.Context, what string, id uuid.UUID, fence model.Fence) error {
	var installation, holder string
	var epoch, version int64
	var deleted bool
	err := s.pool.QueryRow(asQuery(ctx), `select installation, epoch, holder, deleted_at is not null, (select coalesce(max(version), 0) from schema_migrations)
		from partitions where id = $1`, id).Scan(&installation, &epoch, &holder, &deleted, &version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return stateError(model.ClassUnknown, nil, what+": the partition does not exist; it is made when its Stack is first reconciled")
	case err != nil:
		return err
	case version > supportedVersion:
		return supported(version)
	case installation != s.options.Installation:
		return foreign(id, installation)
	case deleted:
		return stateError(model.ClassUnknown, nil, what+": the partition was deleted")
	case fence.Holder != "" && epoch == fence.Epoch && holder == fence.Holder:
		return nil
	default:
		return &model.Error{Kind: model.LockError, Class: model.ClassTransient, Message: fmt.Sprintf(
			"%s: epoch %d lost to epoch %d of %s; try again", what, fence.Epoch, epoch, orNobody(holder))}
	}
}

func foreign(id uuid.UUID, installation string) error {
	return stateError(model.ClassUser, state.ErrForeignInstallation, fmt.Sprintf(
		"partition %s belongs to installation '%s': let that operator manage the Stack, or move the partition explicitly", id, clip(installation)))
}

// CheckFence is nil while a write with this fence would commit: the probe before a
// provider call that no write precedes (EX-18). It is one indexed query.
func (s *Store) CheckFence(ctx context.Context, partition string, fence model.Fence) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	what := "check the lock of partition " + partition
	return s.doEither(ctx, what, func(ctx context.Context) error {
		var current bool
		err := s.pool.QueryRow(asQuery(ctx), `select exists (select from partitions where id = $1 and epoch = $2 and holder = $3 and holder <> '' and deleted_at is null)
			and not exists (select from schema_migrations where version > $4)`, id, fence.Epoch, fence.Holder, supportedVersion).Scan(&current)
		if err == nil && !current {
			err = s.refusal(ctx, what, id, fence)
		}
		return err
	}, func(ctx context.Context) error {
		return s.readOlder(ctx, func(c conn) error {
			held, err := s.form.Holds(ctx, c, fence)
			if err == nil && !held {
				err = fenced(what, partition, "the run's lock is not the current one")
			}
			return err
		})
	})
}
