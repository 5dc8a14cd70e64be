// Package project reads what a command line works on: the project file with its
// profiles, the config's text, the inputs, and where secrets lie (cli.md 2–4, 13).
//
// It owns where these are looked for, which one wins, and how large each may be. It must
// never know a flag's spelling beyond messages, the language, or what a setting does.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

// FileName is the project file. The folder that has it is the project's root.
const FileName = "atlantide.toml"

// maxFileBytes bounds a project file.
const maxFileBytes = 256 << 10

// Project is the folder that a command works in, and what its project file says under
// the profile that was asked for.
type Project struct {
	Root    string // absolute
	File    string // the project file as it is shown; "" = there is none
	Profile string // "" = none

	working  string // absolute
	settings section
	whole    section // what the file says, profiles included
}

// Open finds the project of a working directory: the nearest folder, itself or above,
// that has a project file, or else the directory alone with every setting at its
// default. A profile that the file does not define is an error; without a file any
// profile is empty.
func Open(working, profile string) (*Project, error) {
	p := &Project{Root: working, Profile: profile, working: working}
	found, err := find(working)
	if err != nil || found == "" {
		return p, err
	}
	p.Root, p.File = filepath.Dir(found), p.shown(found)
	data, err := readFile("the project file", found, p.File, maxFileBytes)
	if err != nil {
		return nil, err
	}
	table, err := tomltext.Parse(model.AtlantideError, p.File, data)
	if err != nil {
		return nil, err
	}
	p.whole = table
	p.settings, err = overlaid(p.whole, profile, p.File)
	return p, err
}

// find is the path of the nearest project file, "" when there is none.
func find(working string) (string, error) {
	for dir := working; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, FileName)
		info, err := os.Stat(at)
		switch {
		case err == nil && info.Mode().IsRegular():
			return at, nil
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && dir != working:
			// A folder of that name is no project file, and one above that may not be
			// looked into has none for us.
		default:
			return "", cannotRead("the project file", at, err)
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// overlaid is the settings with those of a profile over them; the profiles themselves
// are gone.
func overlaid(settings section, profile, file string) (section, error) {
	profiles, _ := settings.table("profile")
	base := maps.Clone(settings)
	delete(base, "profile")
	if profile == "" {
		return base, nil
	}
	over, ok := profiles.table(profile)
	if !ok {
		return nil, userErrorf("profile '%s' is not defined in %s; %s", sourcetree.Shown(profile), file, choice(profiles.tables()))
	}
	return merged(base, over), nil
}

func choice(profiles []string) string {
	if len(profiles) == 0 {
		return "it defines none; add a table [profile.NAME]"
	}
	return "it defines: " + strings.Join(profiles, ", ")
}

// merged lays tables over tables at every depth; any other value replaces.
func merged(base, over section) section {
	out := maps.Clone(base)
	for key, value := range over {
		below, _ := out[key].(map[string]any)
		above, ok := value.(map[string]any)
		if ok && below != nil {
			value = map[string]any(merged(below, above))
		}
		out[key] = value
	}
	return out
}

// section is a table of the project file. What has another type than a setting takes
// counts as absent (cli.md 2).
type section map[string]any

func (s section) text(key string) (string, bool) {
	text, ok := s[key].(string)
	return text, ok
}

func (s section) table(key string) (section, bool) {
	table, ok := s[key].(map[string]any)
	return table, ok
}

// tables lists the keys that hold tables, sorted.
func (s section) tables() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if _, ok := s.table(key); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// MaxFuel is the most steps that an evaluation may be given (cli.md 6).
const MaxFuel = 100_000_000

// Fuel is the budget of evaluation steps that the file sets; 0 = none is set. Another
// value than an integer from 1 to MaxFuel is an error, unlike with other settings: a
// bound that is silently not there would not be noticed.
func (p *Project) Fuel() (int64, error) {
	lang, _ := p.settings.table("lang")
	value, found := lang["fuel"]
	if !found {
		return 0, nil
	}
	fuel, ok := value.(int64)
	if !ok {
		return 0, userErrorf("[lang] fuel in %s must be an integer from 1 to %d, not %s", p.File, MaxFuel, tomltext.TypeName(value))
	}
	if fuel < 1 || fuel > MaxFuel {
		return 0, userErrorf("[lang] fuel in %s must be from 1 to %d, not %d", p.File, MaxFuel, fuel)
	}
	return fuel, nil
}

// shown is a path as messages have it: relative to the working directory where a short
// way leads to it.
func (p *Project) shown(path string) string {
	rel, err := filepath.Rel(p.working, path)
	if err != nil {
		return path
	}
	return rel
}

// Resolved is a path of this machine, absolute, that was given relative to the working
// directory.
func (p *Project) Resolved(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.working, path)
}

func userErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.AtlantideError, model.ClassUser, format, args...)
}

// cannotRead names a file and why it cannot be read.
func cannotRead(what, shown string, err error) *model.Error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return userErrorf("cannot read %s %s: %w", what, sourcetree.Shown(shown), err)
}

// Profiles lists the profiles that the file of a working directory defines, nil when it
// cannot be read.
func Profiles(working string) []string {
	found, err := find(working)
	if err != nil || found == "" {
		return nil
	}
	data, err := readFile("the project file", found, FileName, maxFileBytes)
	if err != nil {
		return nil
	}
	table, err := tomltext.Parse(model.AtlantideError, FileName, data)
	if err != nil {
		return nil
	}
	profiles, _ := section(table).table("profile")
	return profiles.tables()
}

var errTooLarge = errors.New("it is too large")

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: at most %d bytes are allowed", errTooLarge, limit)
}
