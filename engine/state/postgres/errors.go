package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// failure turns what an operation met into a StateError. Its text has neither the
// address nor the user nor the password of the store (ST-10), and the driver's error
// does not travel along, because its text has them.
func failure(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*model.Error](err); known {
		return err
	}
	if isUnavailable(err) {
		return &model.Error{Kind: model.StateError, Class: model.ClassTransient, Cause: unavailable(err),
			Message: what + ": the state store is unavailable (" + outage(err) + "); it is asked again"}
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &model.Error{Kind: model.StateError, Class: model.ClassUnknown,
			Message: what + ": the state store refused: " + pg.Message + " (SQLSTATE " + pg.Code + ")"}
	}
	return &model.Error{Kind: model.StateError, Class: model.ClassUnknown, Message: what + ": " + err.Error()}
}

// unavailable is the cause of an outage; that the operation was cancelled is kept beside it.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.Join(state.ErrUnavailable, context.Canceled)
	}
	return state.ErrUnavailable
}

// isUnavailable reports whether asking again may help: no connection, no answer, or
// an SQLSTATE of LS-22.
func isUnavailable(err error) bool {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case err == nil:
		return false
	case errors.As(err, &connect), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, pgconn.ErrConnClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return true
	case errors.As(err, &pg):
		return transientState(pg.Code)
	default:
		return pgconn.SafeToRetry(err)
	}
}

// transientState reports whether an SQLSTATE passes: connection, resources, shutdown,
// serialization, deadlock, and time limits of locks and statements.
func transientState(code string) bool {
	for _, prefix := range []string{"08", "53", "57P0"} {
		if strings.HasPrefix(code, prefix) {
			return true
		}
	}
	switch code {
	case "40001", "40P01", "55P03", "57014", "25P03", "25P04":
		return true
	default:
		return false
	}
}

// isUndefinedTable reports whether a table is not there: before a statement does
// anything, so that it may be repeated.
func isUndefinedTable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "42P01"
}

// outage says in a few words what happened, from the kind of the error alone.
func outage(err error) string {
	var pg *pgconn.PgError
	var dns *net.DNSError
	var unknownAuthority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var network net.Error
	switch {
	case errors.As(err, &pg):
		return refusals[pg.Code] + "SQLSTATE " + pg.Code
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "its host name does not resolve"
	case errors.As(err, &unknownAuthority), errors.As(err, &hostname):
		return "its certificate is not trusted"
	case errors.Is(err, context.Canceled):
		return "the operation was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	default:
		return "the connection was lost"
	}
}

// refusals are what a server says of a connection that it does not take; its own words may
// name a user.
var refusals = map[string]string{
	"3D000": "there is no such database, ",
	"28P01": "user or password are refused, ",
	"28000": "the user is refused, ",
	"53300": "too many connections, ",
	"57P03": "the server is starting or stopping, ",
}

// fenced is the refusal of a write whose run is not the partition's any more.
func fenced(what, partition, why string) error {
	return &model.Error{Kind: model.FencedWriteError, Class: model.ClassUnknown,
		Message: what + ": partition " + partition + ": " + why + "; nothing was written, plan again"}
}

func stateError(class model.Class, cause error, message string) error {
	return &model.Error{Kind: model.StateError, Class: class, Message: message, Cause: cause}
}
