package sqlite

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// RF-27.
func TestChecks(t *testing.T) {
	s := open(t, "")
	check := func(reason string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range s.Checks(t.Context()) {
			got = append(got, c.Name+": "+c.Status)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	check("no file yet", "state file: "+state.CheckOK, "sharing: "+state.CheckOK)
	if _, err := os.Stat(s.options.Path); err == nil {
		t.Error("a check made the file")
	}
	take(t, s, "run")
	check("a file", "state file: "+state.CheckOK, "sharing: "+state.CheckOK)
	if err := os.Chmod(s.options.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	check("others may read it", "state file: "+state.CheckOK, "sharing: "+state.CheckWarn)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(s.options.Path, []byte(strings.Repeat("junk", 1000)), 0o600), os.Chmod(s.options.Path, 0o600)); err != nil {
		t.Fatal(err)
	}
	check("no database", "state file: "+state.CheckFail, "sharing: "+state.CheckOK)
}
