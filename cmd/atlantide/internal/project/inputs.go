package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

// Limits of what the command line gives as inputs.
const (
	maxVarFileBytes = 1 << 20
	maxVarFiles     = 100
	maxVarsBytes    = 1 << 20 // of all --var together
)

// Inputs are the values that one evaluation may read.
type Inputs struct {
	Values map[string]any

	given []given        // on the command line, in its order, each name of a source once
	under map[string]any // what a --var takes the place of
}

// given is a name that came from a --var or from the file of a --var-file.
type given struct {
	name string
	file string // "" = a --var
}

// Inputs lays the values over one another: the project file's, then each file, then each
// NAME=VALUE, whose value is always text (cli.md 4).
func (p *Project) Inputs(varFiles, vars []string) (*Inputs, error) {
	in := &Inputs{Values: map[string]any{}, under: map[string]any{}}
	table, _ := p.settings.table("inputs")
	if err := in.add("[inputs] in "+p.File, table); err != nil {
		return nil, err
	}
	if len(varFiles) > maxVarFiles {
		return nil, userErrorf("%d --var-file are too many; at most %d are allowed", len(varFiles), maxVarFiles)
	}
	for _, name := range varFiles {
		if err := in.addFile(p.Resolved(name), name); err != nil {
			return nil, err
		}
	}
	if err := in.addVars(vars); err != nil {
		return nil, err
	}
	return in, nil
}

// add takes values whose types a config knows.
func (in *Inputs) add(source string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if key, ok := tomltext.Plain(values[name]); !ok {
			where := name
			if key != "" {
				where += "." + key
			}
			return userErrorf("%s: '%s' is a date or a time, which a config cannot hold; write it in quotes, as text", source, sourcetree.Shown(where))
		}
	}
	maps.Copy(in.Values, values)
	return nil
}

func (in *Inputs) addFile(path, shown string) error {
	data, err := readFile("the var file", path, shown, maxVarFileBytes)
	if err != nil {
		return err
	}
	table, err := tomltext.Parse(model.AtlantideError, shown, data)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		in.given = append(in.given, given{name: name, file: shown})
	}
	return in.add(shown, table)
}

func (in *Inputs) addVars(vars []string) error {
	size := 0
	seen := map[string]bool{}
	for _, text := range vars {
		name, value, ok := strings.Cut(text, "=")
		size += len(text)
		switch {
		case !ok || name == "":
			return userErrorf("--var '%s' is not NAME=VALUE", sourcetree.Shown(text))
		case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			return userErrorf("--var '%s' is not UTF-8, or holds a NUL character", sourcetree.Shown(name))
		case size > maxVarsBytes:
			return userErrorf("the --var values have more than the %d bytes allowed; put them into a --var-file", maxVarsBytes)
		}
		if !seen[name] {
			seen[name] = true
			if under, ok := in.Values[name]; ok {
				in.under[name] = under
			}
			in.given = append(in.given, given{name: name})
		}
		in.Values[name] = value
	}
	return nil
}

// Mistyped warns of each --var that a config read where it would have read something else
// than text without it: the value of a file, else its default, whose types by Python's names
// are given. A text is true unless it is empty, and a number that is text does not add up.
func (in *Inputs) Mistyped(read map[string]any, defaults map[string]string) []model.Diagnostic {
	var mistyped []model.Diagnostic
	for _, g := range in.given {
		if _, ok := read[g.name]; !ok || g.file != "" {
			continue
		}
		kind := ""
		if under, ok := in.under[g.name]; ok {
			if _, text := under.(string); !text {
				kind = "the value of a file that it replaces is " + tomltext.TypeName(under)
			}
		} else if name := defaults[g.name]; name != "" && name != "str" && name != "NoneType" {
			kind = "its default is a " + name
			if name == "int" {
				kind = "its default is an int"
			}
		}
		if kind == "" {
			continue
		}
		mistyped = append(mistyped, model.Diagnostic{
			Code: MistypedInput, Severity: model.SeverityWarning,
			Message: fmt.Sprintf("--var '%s' is text, and %s", sourcetree.Shown(g.name), kind),
			Hint:    "a --var-file keeps types",
		})
	}
	return mistyped
}

// MistypedInput is the code of an input that is text in place of something else.
const MistypedInput model.Kind = "MistypedInput"

// Unread lists what the command line gave and a config did not read, in the order it
// was given; read is what it did read, defaults included. strict takes the keys of files
// as well, which otherwise may serve several configs, and makes all of them errors.
func (in *Inputs) Unread(read map[string]any, strict bool) []model.Diagnostic {
	known := slices.Sorted(maps.Keys(read))
	var unread []model.Diagnostic
	for _, g := range in.given {
		if _, ok := read[g.name]; ok || g.file != "" && !strict {
			continue
		}
		d := model.Diagnostic{Code: UnreadInput, Severity: model.SeverityWarning, Hint: model.DidYouMean(g.name, known)}
		if strict {
			d.Severity = model.SeverityError
		}
		d.File = g.file
		d.Message = fmt.Sprintf("--var '%s' is not read by the config", sourcetree.Shown(g.name))
		if g.file != "" {
			d.Message = fmt.Sprintf("'%s' of %s is not read by the config", sourcetree.Shown(g.name), g.file)
		}
		unread = append(unread, d)
	}
	return unread
}

// UnreadInput is the code of an input that was given and not read.
const UnreadInput model.Kind = "UnreadInput"
