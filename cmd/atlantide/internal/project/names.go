package project

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Renamed is an error with its files named from the working directory. The engine names
// the config as it was given, and other files from the project's root.
func (p *Project) Renamed(err error, config string) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	return p.renamedError(e, config)
}

func (p *Project) renamedError(e *model.Error, config string) *model.Error {
	renamed := *e
	renamed.File = p.renamedFile(e.File, config)
	renamed.Related = p.renamedRelated(e.Related, config)
	renamed.AlsoFailed = nil
	for _, also := range e.AlsoFailed {
		renamed.AlsoFailed = append(renamed.AlsoFailed, p.renamedError(also, config))
	}
	return &renamed
}

// RenamedAll is Renamed for diagnostics.
func (p *Project) RenamedAll(list []model.Diagnostic, config string) []model.Diagnostic {
	var renamed []model.Diagnostic
	for _, d := range list {
		d.File = p.renamedFile(d.File, config)
		d.Related = p.renamedRelated(d.Related, config)
		renamed = append(renamed, d)
	}
	return renamed
}

func (p *Project) renamedRelated(list []model.Related, config string) []model.Related {
	var renamed []model.Related
	for _, r := range list {
		r.File = p.renamedFile(r.File, config)
		renamed = append(renamed, r)
	}
	return renamed
}

// renamedFile leaves what is no file of the project, as the source of a built-in
// component, as it is; an error about no place concerns the config as a whole.
func (p *Project) renamedFile(file, config string) string {
	switch {
	case file == "":
		return config
	case file == config, filepath.IsAbs(file):
		return file
	}
	at := filepath.Join(p.Root, filepath.FromSlash(file))
	if _, err := os.Lstat(at); err != nil {
		return file
	}
	return p.shown(at)
}
