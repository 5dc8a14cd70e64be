// Package legacy owns the form in which releases 0.3 and 0.4 of Atlantide for Python keep
// their state in an SQL database (ST-3, ST-23): how it is told, read and locked, and how
// it makes room for the form of this release. The stores below package state give it a
// connection and do the rest.
//
// It must never write a row or an output: whoever writes has converted the store before.
package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Conn runs statements; what belongs together comes in one transaction of the caller.
type Conn interface {
	// Query gives every row to each.
	Query(ctx context.Context, query string, each func(scan func(...any) error) error, args ...any) error
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
}

// Form is a database of the older form.
type Form struct {
	// Columns is the query for the names of the columns of table nodes.
	Columns string
	// Now is the expression for the time, in seconds since 1970.
	Now func() string
	// Margin is how many seconds a hold is kept from others after it ended.
	Margin float64
	// Imported makes ours what release 0.3 recorded, its digests and what it sealed; nil
	// leaves it as it is.
	Imported func(ctx context.Context, s *state.Snapshot) error
}

// columns that only the older form has, and those that release 0.3 had not yet.
const (
	ownColumn      = "outputs_json"
	refsColumn     = "ref_digests_json"
	orderingColumn = "depends_on_json"
)

// Present reports whether the database has the older form.
func (f Form) Present(ctx context.Context, c Conn) (bool, error) {
	columns, err := f.columns(ctx, c)
	return slices.Contains(columns, ownColumn), err
}

func (f Form) columns(ctx context.Context, c Conn) (names []string, err error) {
	err = c.Query(ctx, f.Columns, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

// Serial reads the content version; 0 where none was written.
func (f Form) Serial(ctx context.Context, c Conn) (serial int64, err error) {
	text, err := f.meta(ctx, c, "serial")
	if err != nil || text == "" {
		return 0, err
	}
	return count(text)
}

func (f Form) meta(ctx context.Context, c Conn, key string) (value string, err error) {
	err = c.Query(ctx, "select value from meta where key = $1", func(scan func(...any) error) error { return scan(&value) }, key)
	return value, err
}

func count(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, unreadable("a counter", errors.New("it is no number"))
	}
	return n, nil
}

// Load reads everything, as the rows of partition. Columns that release 0.3 had not are
// read as empty; nothing is added to the database.
func (f Form) Load(ctx context.Context, c Conn, partition string) (*state.Snapshot, error) {
	columns, err := f.columns(ctx, c)
	if err != nil {
		return nil, err
	}
	s := state.NewSnapshot()
	if s.Serial, err = f.Serial(ctx, c); err != nil {
		return nil, err
	}
	if err := f.loadOutputs(ctx, c, s); err != nil {
		return nil, err
	}
	namespace, err := uuid.Parse(partition)
	if err != nil {
		return nil, err
	}
	older := func(column, empty string) string {
		if slices.Contains(columns, column) {
			return "cast(" + column + " as text)"
		}
		return "'" + empty + "'"
	}
	query := `select id, type, provider, provider_version, input_hash, prevent_destroy, status, cast(outputs_json as text),
		cast(properties_json as text), cast(deps_json as text), cast(secret_digests_json as text), ` +
		older(refsColumn, "{}") + ", " + older(orderingColumn, "[]") + " from nodes"
	err = c.Query(ctx, query, func(scan func(...any) error) error {
		row, err := scanRow(scan)
		if err != nil {
			return err
		}
		// The same on every reading, and after the conversion.
		row.RowUID = uuid.NewSHA1(namespace, []byte(row.ID)).String()
		s.AddRecorded(row)
		return nil
	})
	if err == nil && f.Imported != nil && !slices.Contains(columns, refsColumn) {
		err = f.Imported(ctx, s)
	}
	return s, err
}

func (f Form) loadOutputs(ctx context.Context, c Conn, s *state.Snapshot) error {
	text, err := f.meta(ctx, c, "outputs")
	if err != nil || text == "" {
		return err
	}
	value, err := model.DecodeJSON([]byte(text))
	if err != nil {
		return unreadable("the outputs", err)
	}
	outputs, ok := value.(map[string]any)
	if !ok {
		return unreadable("the outputs", errors.New("they are no object"))
	}
	for key, v := range outputs {
		s.Outputs[key] = state.Output{Value: v}
	}
	return nil
}

// scanRow reads a row through the form that every reader of rows shares.
func scanRow(scan func(...any) error) (*state.Row, error) {
	names := []string{"outputs", "properties", "dependencies", "secret_digests", "ref_digests", "depends_on"}
	documents := make([]string, len(names))
	var id, kind, provider, version, hash, status string
	var guarded bool
	into := []any{&id, &kind, &provider, &version, &hash, &guarded, &status}
	for i := range documents {
		into = append(into, &documents[i])
	}
	if err := scan(into...); err != nil {
		return nil, err
	}
	doc := map[string]any{"id": id, "type": kind, "provider": provider, "provider_version": version, "input_hash": hash,
		"prevent_destroy": guarded, "status": status}
	for i, name := range names {
		value, err := model.DecodeJSON([]byte(documents[i]))
		if err != nil {
			return nil, unreadable(fmt.Sprintf("node %+.80q", id), err)
		}
		doc[name] = value
	}
	return state.RowFromDocument(doc)
}

// Drop removes the tables. The caller has what they held.
func (f Form) Drop(ctx context.Context, c Conn) error {
	for _, table := range []string{"nodes", "meta", "locks"} {
		if _, err := c.Exec(ctx, "drop table "+table); err != nil {
			return err
		}
	}
	return nil
}

func unreadable(what string, err error) error {
	return model.Errorf(model.StateError, model.ClassUnknown, "the record of %s cannot be read (%w): restore it from a backup", what, err)
}
