package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Checks says how the file is, every row of it whatever the others say (RF-27).
func (s *Store) Checks(ctx context.Context) []state.Check {
	file := state.Check{Name: "state file", Status: state.CheckOK, Detail: s.options.Path}
	sharing := state.Check{Name: "sharing", Status: state.CheckOK, Detail: "for processes of this machine; a remote backend serves several machines"}
	info, err := os.Stat(s.options.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file.Detail += " does not exist yet; the first apply makes it"
		return []state.Check{file, sharing}
	case err == nil && info.Mode().Perm()&0o077 != 0:
		sharing.Status, sharing.Detail = state.CheckWarn, "others of this machine may read the file or write it: set its mode to 0600"
	}
	if _, err := s.Serial(ctx, state.CommandLinePartition); err != nil {
		file.Status, file.Detail = state.CheckFail, err.Error()
	}
	return []state.Check{file, sharing}
}
