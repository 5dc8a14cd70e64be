package postgres

import (
	"context"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Checks says how the database is for a command line, every row of it whatever the others
// say (RF-27). It writes nothing, and makes no table.
func (s *Store) Checks(ctx context.Context) []state.Check {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	checks := []state.Check{{Name: "connection", Status: state.CheckOK}, {Name: "tables", Status: state.CheckOK}, {Name: "write access", Status: state.CheckOK}}
	connection, tables, access := &checks[0], &checks[1], &checks[2]

	version, err := s.schemaVersion(ctx)
	if err != nil {
		connection.Status, connection.Detail = state.CheckFail, failure("connect to the state store", err).Error()
		for _, unknown := range []*state.Check{tables, access} {
			unknown.Status, unknown.Detail = state.CheckSkip, "not known without a connection"
		}
		return checks
	}
	if err := supported(version); err != nil {
		tables.Status, tables.Detail = state.CheckFail, err.Error()
	}
	// Of either form; what is not there yet the first write makes, given the right to.
	var missing, readOnly []string
	var mayCreate bool
	err = s.pool.QueryRow(ctx, `select coalesce(array_agg(name) filter (where oid is null), '{}'),
		coalesce(array_agg(name) filter (where oid is not null and not has_table_privilege(oid, 'insert')), '{}'),
		has_database_privilege(current_database(), 'create') or coalesce(has_schema_privilege(to_regnamespace($1), 'create'), false)
		from (select name, to_regclass(name) as oid from unnest(array['partitions', 'nodes', 'outputs']) name) t`, s.schemaIdentifier()).Scan(&missing, &readOnly, &mayCreate)
	switch {
	case err != nil:
		tables.Status, tables.Detail = state.CheckFail, failure("look at the tables", err).Error()
	case len(missing) > 0 && !mayCreate:
		tables.Status, tables.Detail = state.CheckFail, "missing, and this role may not make them: "+strings.Join(missing, ", ")
	case len(missing) > 0:
		tables.Status, tables.Detail = state.CheckWarn, "not there yet, the first apply makes them: "+strings.Join(missing, ", ")
	}
	if len(readOnly) > 0 {
		access.Status, access.Detail = state.CheckWarn, "this role may only read: "+strings.Join(readOnly, ", ")
	}
	return checks
}
