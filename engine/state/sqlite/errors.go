package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// failure turns what an operation met into a StateError that says which operation it was.
func failure(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*model.Error](err); known {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return stateError(model.ClassTransient, errors.Join(state.ErrUnavailable, err), what+": the operation was stopped before it ended; it is asked again")
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return &model.Error{Kind: model.StateError, Class: model.ClassUser, Cause: err, Message: what + ": " + err.Error()}
	}
	switch e.Code() & 0xff { // the rest of the code says where it happened
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT:
		return stateError(model.ClassTransient, state.ErrUnavailable, what+": another process is writing the file for too long; it is asked again")
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return stateError(model.ClassTransient, state.ErrUnavailable, what+": the disk is full or does not answer ("+e.Error()+"); it is asked again")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return stateError(model.ClassUser, nil, what+": the file is damaged or no state ("+e.Error()+"): restore it from a backup")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return stateError(model.ClassUser, nil, what+": the file cannot be opened or written ("+e.Error()+"): correct its permissions")
	default:
		return stateError(model.ClassUnknown, nil, what+": "+e.Error())
	}
}

// isBusy reports whether another process was in the way.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// fenced is the refusal of a write whose run is not the partition's any more.
func fenced(partition, why string) error {
	return model.Errorf(model.FencedWriteError, model.ClassUnknown, "partition %.80s: %s; nothing was written, plan again", partition, why)
}

func superseded(partition string, fence, current model.Fence) error {
	switch {
	case fence.Holder == "":
		return fenced(partition, "the run holds no lock")
	case current.Holder == "" && current.Epoch == fence.Epoch:
		return fenced(partition, fmt.Sprintf("the lock of epoch %d was released", current.Epoch))
	case current.Holder == "":
		return fenced(partition, fmt.Sprintf("the run's epoch %d was superseded by epoch %d of a run that has ended", fence.Epoch, current.Epoch))
	default:
		return fenced(partition, fmt.Sprintf("the run's epoch %d was superseded by epoch %d of '%.80s'", fence.Epoch, current.Epoch, current.Holder))
	}
}
