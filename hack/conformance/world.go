package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/lease"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/engine/state/memory"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// world is what one case runs in: an empty working directory that first receives the
// case's files, an empty store, and an engine over both.
type world struct {
	testCase  *testCase
	dir       string
	tree      *sourcetree.Folder // dir, as the config's own files
	engine    *engine.Engine
	store     state.Store
	locker    lease.Locker
	secrets   *vault
	partition string
}

func newWorld(c *testCase) (*world, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if given := filepath.Join(c.dir, "files"); exists(given) {
		if err := os.CopyFS(dir, os.DirFS(given)); err != nil {
			return nil, err
		}
	}
	files, err := local.NewProject(dir)
	if err != nil {
		return nil, err
	}
	registry, err := providers.NewRegistry(files, random.New(rand.Reader, time.Now), aws.New())
	if err != nil {
		return nil, err
	}
	tree, err := sourcetree.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	vault, err := openVault(c.in)
	if err != nil {
		return nil, err
	}
	store := memory.New()
	w := &world{testCase: c, dir: dir, tree: tree, store: store, secrets: vault, partition: "conformance"}
	w.locker = &locker{store: store, partition: w.partition}
	// A run seals nothing: what is sensitive stays plain, as at a command line without
	// key material.
	w.engine = &engine.Engine{Registry: registry, Parallelism: 1, Now: time.Now, NewID: rand.Text, PlainSecrets: true}
	return w, nil
}

func (w *world) close() {
	_ = w.tree.Close()
	for _, dir := range []string{w.dir, w.secrets.dir} {
		_ = os.RemoveAll(dir) // a leftover in the temporary folder hurts nobody
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compareWorld compares what stands after a step; a key that is absent is not
// compared. files and committed_outputs are complete even in a partial case.
func (w *world) compareWorld(ctx context.Context, cmp *comparison, want map[string]any, partial bool) error {
	if expected, ok := want["files"]; ok {
		files, err := w.files()
		if err != nil {
			return err
		}
		cmp.equal("files", expected, files, false)
	}
	snapshot, err := w.store.Load(ctx, w.partition)
	if err != nil {
		return err
	}
	rows, err := columns(snapshot)
	if err != nil {
		return err
	}
	if expected, ok := want["state"]; ok {
		expected, err := withoutSecrets(expected, rows)
		if err != nil {
			return err
		}
		cmp.equal("state", expected, rows, partial)
	}
	if expected, ok := want["state_fields"]; ok {
		cmp.equal("state_fields", expected, rows, true)
	}
	if expected, ok := want["committed_outputs"]; ok {
		outputs := map[string]any{}
		for key, o := range snapshot.Outputs {
			outputs[key] = o.Value
		}
		return cmp.value("committed_outputs", expected, outputs)
	}
	return nil
}

// files is the whole working directory: path → text, an empty folder as "NAME/" → null.
func (w *world) files() (map[string]any, error) {
	files := map[string]any{}
	err := filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == w.dir {
			return err
		}
		name, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !entry.IsDir() {
			text, err := os.ReadFile(path)
			files[name] = string(text)
			return err
		}
		children, err := os.ReadDir(path)
		if len(children) == 0 {
			files[name+"/"] = nil
		}
		return err
	})
	return files, err
}

// columns are the rows as decoded JSON, in the columns that the vectors compare.
func columns(s *state.Snapshot) (map[string]any, error) {
	rows := map[string]any{}
	for id, r := range s.Rows {
		rows[id] = map[string]any{
			"type": r.Type, "provider": r.Provider, "provider_version": r.ProviderVersion, "input_hash": r.InputHash,
			"outputs": object(r.Outputs), "properties": object(r.Properties),
			"dependencies": texts(r.Dependencies), "depends_on": texts(r.DependsOn),
			"prevent_destroy": r.PreventDestroy, "status": r.Status, "ref_digests": textMap(r.RefDigests),
		}
	}
	decoded, err := tree(rows)
	if err != nil {
		return nil, err
	}
	return decoded.(map[string]any), nil
}

func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// withoutSecrets takes out of the expected rows what depends on the implementation: the
// digests of secrets, and the salted ones of references, whose keys are compared.
func withoutSecrets(want any, got map[string]any) (map[string]any, error) {
	rows, ok := want.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the expected state is no map")
	}
	out := make(map[string]any, len(rows))
	for id, row := range rows {
		columns, _ := row.(map[string]any)
		columns = without(columns, "secret_digests")
		if digests, ok := columns["ref_digests"].(map[string]any); ok {
			columns["ref_digests"] = unsalted(digests, got[id])
		}
		out[id] = columns
	}
	return out, nil
}

func unsalted(want map[string]any, row any) map[string]any {
	out := without(want)
	columns, _ := row.(map[string]any)
	digests, _ := columns["ref_digests"].(map[string]any)
	for field, digest := range out {
		text, _ := digest.(string)
		if given, ok := digests[field]; ok && strings.HasPrefix(text, "salted:") {
			out[field] = given
		}
	}
	return out
}
