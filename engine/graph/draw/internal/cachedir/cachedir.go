// Package cachedir keeps the layout engine from loading machine code that somebody else
// may have written. When go-graphviz is initialised it compiles its module, and keeps
// the code in, or takes it from, a folder of a fixed name in the system's temporary
// folder, which any local user can make first; it has no option for that. So the
// temporary folder is, for as long as it is initialised, one of the user's own.
//
// The language initialises packages in the order of their import paths as far as
// imports allow, so this one, which imports nothing beyond the standard library, comes
// before go-graphviz. It must stay so: a test holds it.
package cachedir

import (
	"os"
	"path/filepath"
)

// variable names the temporary folder on systems on which users share one.
const variable = "TMPDIR"

var before, wasSet = os.LookupEnv(variable)

// A folder of the user's own takes the place of the temporary one. Where there is none,
// it is one that nothing can be made in, and no code is kept.
func init() { //nolint:gochecknoinits // what it comes before is an init
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "atlantide")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		dir = os.DevNull
	}
	_ = os.Setenv(variable, dir) // fails for names and values that are none
}

// Leave puts the temporary folder back.
func Leave() error {
	if !wasSet {
		return os.Unsetenv(variable)
	}
	return os.Setenv(variable, before)
}
