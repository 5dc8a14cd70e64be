package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/legacy"
)

// errConverted says that the file has our form now, whoever converted it.
var errConverted = errors.New("the file was converted")

func newForm(o Options) legacy.Form {
	return legacy.Form{
		Columns:  "select name from pragma_table_info('nodes')",
		Now:      func() string { return fmt.Sprintf("%.6f", float64(o.Now().UnixMicro())/1e6) },
		Imported: o.Imported,
	}
}

// readOlder runs body in one read transaction of a file of the older form.
func (s *Store) readOlder(ctx context.Context, body func(ctx context.Context, c conn) error) error {
	return s.older(ctx, &sql.TxOptions{ReadOnly: true}, body)
}

// writeOlder runs body in one write transaction of a file of the older form. It may write
// the lock only.
func (s *Store) writeOlder(ctx context.Context, body func(ctx context.Context, c conn) error) error {
	return s.older(ctx, nil, body)
}

func (s *Store) older(ctx context.Context, o *sql.TxOptions, body func(ctx context.Context, c conn) error) error {
	db, err := s.open(false)
	if err != nil {
		return err
	}
	return s.inTx(ctx, db, o, func(tx *sql.Tx) error {
		switch err := s.refuseOlder(ctx, tx); {
		case errors.Is(err, errOlderForm):
			return body(ctx, conn{tx})
		case err != nil:
			return err
		default:
			return errConverted
		}
	})
}

// convert gives the file our form, after a backup, for the run of this fence, which goes
// on under the same epoch (ST-23). It ends with errConverted.
func (s *Store) convert(ctx context.Context, partition string, fence model.Fence) error {
	if partition != state.CommandLinePartition {
		return stateError(model.ClassUser, nil, "the state file has the form of an older release, which holds one state only: convert it with a locked run of the command line")
	}
	var kept *state.Snapshot
	if err := s.readOlder(ctx, func(ctx context.Context, c conn) (err error) {
		kept, err = s.stillHeld(ctx, c, partition, fence)
		return err
	}); err != nil {
		return err
	}
	if s.options.Backup == nil {
		return stateError(model.ClassUser, nil, "the state file has the form of an older release and is only read here: nothing keeps a backup of it before it is converted")
	}
	if err := s.options.Backup(ctx, kept); err != nil {
		return stateError(model.ClassUser, err, "the state file has the form of an older release and was not converted, because it could not be backed up: "+err.Error())
	}
	err := s.writeOlder(ctx, func(ctx context.Context, c conn) error {
		current, err := s.stillHeld(ctx, c, partition, fence)
		if err != nil {
			return err
		}
		if current.Serial != kept.Serial {
			return stateError(model.ClassTransient, nil, "the state changed while it was backed up; nothing was converted, try again")
		}
		return s.rebuild(ctx, c, partition, fence, current)
	})
	if err == nil {
		err = errConverted
	}
	return err
}

func (s *Store) stillHeld(ctx context.Context, c conn, partition string, fence model.Fence) (*state.Snapshot, error) {
	held, err := s.form.Holds(ctx, c, fence)
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, fenced(partition, "the run's lock is not the current one")
	}
	return s.form.Load(ctx, c, partition)
}

// rebuild replaces the tables by ours with the same content, lock and serial.
func (s *Store) rebuild(ctx context.Context, c conn, partition string, fence model.Fence, content *state.Snapshot) error {
	holds, err := s.form.Listed(ctx, c)
	if err != nil {
		return err
	}
	minted, err := s.form.Minted(ctx, c)
	if err != nil {
		return err
	}
	if err := s.form.Drop(ctx, c); err != nil {
		return err
	}
	now := s.options.Now()
	if err := migrate(ctx, c.tx, 0, now); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `insert into partitions (id, installation, namespace, name, epoch_minted, epoch, holder, lock_ends, serial, created_at)
		values ($1, $2, '', '', $3, $4, $5, $6, $7, $8)`, partition, s.options.Installation, max(minted, fence.Epoch), fence.Epoch, fence.Holder,
		now.Add(holds[0].Remaining).UnixMicro(), content.Serial, timeText(now)); err != nil {
		return err
	}
	return s.put(ctx, c.tx, partition, 0, state.Replacement(state.NewSnapshot(), content))
}
