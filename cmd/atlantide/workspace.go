package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/components"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// workspace is what a command works in that needs the engine: the project, the tree below
// its root, and an engine whose providers are rooted there.
type workspace struct {
	*project.Project

	tree   *sourcetree.Folder
	engine *engine.Engine
	log    *logger
}

// open is the workspace of the working directory, its vendored components held to their
// lock. The tree is read as long as anything of it is used: Close comes last.
func (a *app) open(ctx context.Context) (*workspace, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	tree, err := sourcetree.OpenFolder(p.Root)
	if err != nil {
		return nil, fmt.Errorf("cannot read the project folder: %w", err)
	}
	w := &workspace{Project: p, tree: tree, log: a.log}
	if err := w.checkComponents(ctx); err != nil {
		w.Close()
		return nil, p.Renamed(err, "")
	}
	if w.engine, err = newEngine(p); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close gives the tree back.
func (w *workspace) Close() {
	if err := w.tree.Close(); err != nil {
		w.log.Named("project").Debug("the project folder could not be closed", zap.Error(err))
	}
}

// project is the one of the working directory.
func (a *app) project() (*project.Project, error) {
	working, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot tell the working directory: %w", err)
	}
	p, err := project.Open(working, a.globals.profile)
	if err == nil {
		a.log.Named("project").Debug("opened", zap.String("root", p.Root), zap.String("file", p.File), zap.String("profile", p.Profile))
	}
	return p, err
}

// checkComponents holds the vendored components to their lock, and removes the compiled
// caches that lie in them unpinned. One that cannot be removed is no obstacle, since no
// module is ever read from it.
func (w *workspace) checkComponents(ctx context.Context) error {
	caches, err := engine.CheckComponents(ctx, w.tree)
	if err != nil || len(caches) == 0 {
		return err
	}
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return fmt.Errorf("cannot open the project folder: %w", err)
	}
	defer root.Close()
	for _, cache := range caches {
		if err := root.RemoveAll(filepath.FromSlash(cache)); err != nil {
			w.log.Named("components").Warn("a compiled cache cannot be removed", zap.String("path", cache), zap.Error(err))
		}
	}
	return nil
}

// newEngine is the engine of the command line.
func newEngine(p *project.Project) (*engine.Engine, error) {
	registry, err := newRegistry(p, "")
	if err != nil {
		return nil, err
	}
	return &engine.Engine{Registry: registry}, nil
}

// newRegistry holds the providers of the command line, rooted in a project. They keep off
// what is the project's own, a database that a command was given included; "" = none.
func newRegistry(p *project.Project, database string) (*providers.Registry, error) {
	files, err := local.NewProject(p.Root, ownFiles(p, database)...)
	if err != nil {
		return nil, err
	}
	return providers.NewRegistry(files, random.New(rand.Reader, time.Now), aws.New())
}

// ownFiles are what a project keeps about itself, under whichever profile. A config that got
// at one could forge a state, lose the secrets, or change what the next command runs.
func ownFiles(p *project.Project, database string) []local.Reserved {
	own := []local.Reserved{{Path: project.FileName}, {Path: components.LockFile}, {Path: ".atlantis"}, {Path: ".git"}}
	for _, each := range p.InEveryProfile() {
		own = append(own, secretFiles(each, "")...)
		own = append(own, stateFiles(each, each.LocalState())...)
	}
	if database != "" {
		own = append(own, stateFiles(p, database)...)
	}
	return own
}

// stateFiles are those that SQLite keeps of a database, and the secrets beside it.
func stateFiles(p *project.Project, database string) []local.Reserved {
	return append(secretFiles(p, database), local.Reserved{Path: database, Beside: []string{"-wal", "-shm", "-journal"}})
}

// secretFiles are the key and the secrets of a database; "" = of the project's state.
func secretFiles(p *project.Project, database string) []local.Reserved {
	s, _ := p.Secrets(database) // what may be wrong there is no place, and told where it is used
	lock := []string{".lock"}
	return []local.Reserved{{Path: p.Resolved(s.Key), Beside: lock}, {Path: p.Resolved(s.Store), Beside: lock}}
}
