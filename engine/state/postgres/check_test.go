package postgres

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// RF-27: every row is there whatever the others say.
func TestChecks(t *testing.T) {
	dsn := devenv.Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	full := open(t, dsn)
	newPartition(t, full)
	reader, off := *u, *u
	role := "reader_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	reader.User = url.UserPassword(role, "reader")
	off.Host = "127.0.0.1:1"
	for _, statement := range []string{"create role " + role + " login password 'reader'", "grant usage on schema atlantide to " + role, "grant select on all tables in schema atlantide to " + role} {
		exec(t, full, statement)
	}
	for _, c := range []struct {
		reason string
		store  *Store
		want   []string
	}{
		{"all is well", full, []string{state.CheckOK, state.CheckOK, state.CheckOK}},
		{"the first apply makes the tables", open(t, dsn, func(o *Options) { o.Schema = "other" }), []string{state.CheckOK, state.CheckWarn, state.CheckOK}},
		{"a role that may only read", open(t, reader.String()), []string{state.CheckOK, state.CheckOK, state.CheckWarn}},
		{"a role that may not make the tables", open(t, reader.String(), func(o *Options) { o.Schema = "other" }), []string{state.CheckOK, state.CheckFail, state.CheckOK}},
		{"nobody answers", open(t, off.String(), func(o *Options) { o.Timeout = 2 * time.Second }), []string{state.CheckFail, state.CheckSkip, state.CheckSkip}},
	} {
		var got []string
		for i, check := range c.store.Checks(t.Context()) {
			got = append(got, check.Status)
			if name := []string{"connection", "tables", "write access"}[i]; check.Name != name {
				t.Errorf("%s: check %d is %s", c.reason, i, check.Name)
			}
			if strings.Contains(check.Detail, u.Host) || strings.Contains(check.Detail, "reader:") {
				t.Errorf("%s: %q has a piece of the DSN", c.reason, check.Detail)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
	exec(t, full, "insert into schema_migrations (version) values ($1)", supportedVersion+1)
	if checks := full.Checks(t.Context()); checks[1].Status != state.CheckFail || !strings.Contains(checks[1].Detail, "schema version") {
		t.Errorf("a newer schema: %+v", checks)
	}
}
