package devenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var errNoPostgres = errors.New("PostgreSQL's initdb and postgres were not found: run `make deps`, or set PG_BINDIR to their folder")

// postgresBinDir finds the folder of initdb and postgres: $PG_BINDIR, then PATH (links
// followed, so that a wrapper is not taken for the real folder), then the highest
// version in the places of Debian, Red Hat and Homebrew.
func postgresBinDir() (string, error) {
	if dir := os.Getenv("PG_BINDIR"); dir != "" {
		if !hasServer(dir) {
			return "", errors.New("PG_BINDIR names a folder without initdb and postgres: correct or unset it")
		}
		return dir, nil
	}
	if found, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(found); err == nil && hasServer(filepath.Dir(target)) {
			return filepath.Dir(target), nil
		}
	}
	best, bestVersion := "", -1
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		dirs, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, dir := range dirs {
			if v := majorOf(dir); v > bestVersion && hasServer(dir) {
				best, bestVersion = dir, v
			}
		}
	}
	if best == "" {
		return "", errNoPostgres
	}
	return best, nil
}

func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// majorOf reads the version out of ".../postgresql/15/bin", ".../pgsql-15/bin" and
// ".../postgresql@15/bin"; 0 when there is none.
func majorOf(dir string) int {
	name := filepath.Base(filepath.Dir(dir))
	if i := strings.LastIndexAny(name, "@-"); i >= 0 {
		name = name[i+1:]
	}
	major, _, _ := strings.Cut(name, ".")
	v, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return v
}
