package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// EnsurePartition makes the partition of the Stack of this namespace and name unless it is there, and binds it to the store's
// installation for good. One that belongs to another installation is refused (6.10),
// one that was deleted stays so. Nothing is written where nothing is to be done.
func (s *Store) EnsurePartition(ctx context.Context, partition, namespace, name string) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	return s.do(ctx, "make partition "+partition, func(ctx context.Context) error {
		found, err := s.checkPartition(ctx, id)
		if err != nil || found {
			return err
		}
		if _, err := s.pool.Exec(asWrite(ctx), `insert into partitions (id, installation, namespace, name)
			select $1, $2, $3, $4 where not exists (select from schema_migrations where version > $5)
			on conflict (id) do nothing`, id, s.options.Installation, namespace, name, supportedVersion); err != nil {
			return err
		}
		// Another installation may have been faster.
		if found, err = s.checkPartition(ctx, id); err == nil && !found {
			return s.writable(ctx)
		}
		return err
	})
}

func (s *Store) checkPartition(ctx context.Context, id uuid.UUID) (found bool, err error) {
	var installation string
	var deleted bool
	var version int64
	err = s.pool.QueryRow(asQuery(ctx), `select installation, deleted_at is not null, (select coalesce(max(version), 0) from schema_migrations)
		from partitions where id = $1`, id).Scan(&installation, &deleted, &version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case version > supportedVersion:
		return true, supported(version)
	case installation != s.options.Installation:
		return true, foreign(id, installation)
	case deleted:
		return true, stateError(model.ClassUnknown, state.ErrPartitionDeleted, fmt.Sprintf("partition %s was deleted", id))
	default:
		return true, nil
	}
}

// DeletePartition ends a partition whose serial is still the one that its caller looked
// at, and reports whether it is ended: a write that lands in between wins, and the
// caller looks again. Ended, it is marked deleted under a new epoch, which fences
// whoever still writes; its stack names, outputs and plans go. Rows and pending
// destroys of orphaned resources stay as the record of what was left behind. A
// partition that does not exist, or was deleted before, is ended at any serial.
func (s *Store) DeletePartition(ctx context.Context, partition string, serial int64) (ended bool, err error) {
	id, err := parsePartition(partition)
	if err != nil {
		return false, err
	}
	err = s.do(ctx, "delete partition "+partition, func(ctx context.Context) error {
		// The serial stands in the row that a write locks, so it is compared again
		// after the wait for one.
		_, err := s.pool.Exec(asWrite(ctx), `
			with ended as (
			  update partitions set deleted_at = now(), epoch_minted = epoch_minted + 1, epoch = epoch_minted + 1, holder = '', serial = serial + 1
			  where id = $1 and installation = $2 and deleted_at is null and serial = $4
			    and not exists (select from schema_migrations where version > $3)
			  returning id
			), names as (delete from stack_names t using ended where t.partition_id = ended.id),
			published as (delete from outputs t using ended where t.partition_id = ended.id)
			delete from plans t using ended where t.partition_id = ended.id`, id, s.options.Installation, supportedVersion, serial)
		if err != nil {
			return err
		}
		found, err := s.checkPartition(ctx, id)
		switch {
		case err == nil && !found, errors.Is(err, state.ErrPartitionDeleted):
			ended = true
			return nil
		case err != nil:
			return err
		default:
			return s.writable(ctx)
		}
	})
	return ended, err
}

// ClaimStackNames makes the partition the owner of exactly these in-config stack names
// of its namespace, beside names that it has recorded rows under. A name that another
// partition owns is a user error that changes nothing (ST-18).
func (s *Store) ClaimStackNames(ctx context.Context, partition, namespace string, names []string) error {
	id, err := parsePartition(partition)
	if err != nil {
		return err
	}
	names = slices.Compact(slices.Sorted(slices.Values(names))) // one order for all: no deadlock
	return s.do(ctx, "claim the stack names of partition "+partition, func(ctx context.Context) error {
		owned, err := s.ownedNames(ctx, id, namespace)
		if err != nil || slices.Equal(owned, names) {
			return err
		}
		return s.inTx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(asWrite(ctx), `insert into stack_names (installation, namespace, stack_name, partition_id)
				select $1, $2, unnest($3::text[]), $4 where not exists (select from schema_migrations where version > $5)
				on conflict do nothing`, s.options.Installation, namespace, names, id, supportedVersion); err != nil {
				return err
			}
			if err := s.refuseTaken(ctx, tx, id, namespace, names); err != nil {
				return err
			}
			_, err := tx.Exec(asWrite(ctx), `delete from stack_names t where installation = $1 and namespace = $2 and partition_id = $4 and stack_name <> all($3)
				and not exists (select from nodes where partition_id = $4 and split_part(id, ':', 1) = t.stack_name)
				and not exists (select from pending_destroys where partition_id = $4 and split_part(node_id, ':', 1) = t.stack_name)
				and not exists (select from schema_migrations where version > $5)`,
				s.options.Installation, namespace, names, id, supportedVersion)
			return err
		})
	})
}

// ownedNames are the names that the partition owns, in a schema that this release may
// write.
func (s *Store) ownedNames(ctx context.Context, id uuid.UUID, namespace string) (names []string, err error) {
	var version int64
	err = s.pool.QueryRow(asQuery(ctx), `select (select coalesce(max(version), 0) from schema_migrations), array(
		select stack_name from stack_names where installation = $1 and namespace = $2 and partition_id = $3 order by stack_name collate "C")`,
		s.options.Installation, namespace, id).Scan(&version, &names)
	if err != nil {
		return nil, err
	}
	return names, supported(version)
}

// refuseTaken looks at the claimed names within the transaction that claimed them, and
// at whether it could claim at all.
func (s *Store) refuseTaken(ctx context.Context, tx pgx.Tx, id uuid.UUID, namespace string, names []string) error {
	var version int64
	var taken, owner *string
	err := tx.QueryRow(asQuery(ctx), `select m.version, t.stack_name, t.name
		from (select coalesce(max(version), 0) as version from schema_migrations) m left join lateral (
		  select s.stack_name, p.name from stack_names s join partitions p on p.id = s.partition_id
		  where s.installation = $1 and s.namespace = $2 and s.stack_name = any($3) and s.partition_id <> $4
		  order by s.stack_name collate "C" limit 1) t on true`, s.options.Installation, namespace, names, id).Scan(&version, &taken, &owner)
	if err == nil {
		err = supported(version)
	}
	if err != nil || taken == nil {
		return err
	}
	return stateError(model.ClassUser, state.ErrNameTaken, fmt.Sprintf(
		"stack '%s' is already declared by Stack '%s' of this namespace: rename it in this config, or delete the other", clip(*taken), clip(*owner)))
}
