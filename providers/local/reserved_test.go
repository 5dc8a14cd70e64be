package local_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

// reserving is a project whose own files are a database behind a link, a key that is not made
// yet, and a folder. link is another name of its folder.
func reserving(t *testing.T) (p *local.Provider, dir, link string) {
	t.Helper()
	dir, link = t.TempDir(), filepath.Join(t.TempDir(), "project")
	must(t, os.Symlink(dir, link))
	for name, text := range map[string]string{"data/real.db": "rows", "data/real.db-wal": "log", "own/file": "x", "conf.toml": "y"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must(t, os.Symlink("data/real.db", filepath.Join(dir, "state.db")))
	must(t, os.Symlink("data/later.key", filepath.Join(dir, "a.key")))
	must(t, os.Symlink("b", filepath.Join(dir, "round")))
	must(t, os.Symlink("round/b", filepath.Join(dir, "b")))
	p, err := local.NewProject(link,
		local.Reserved{Path: filepath.Join(link, "state.db"), Beside: []string{"-wal", "-shm"}},
		local.Reserved{Path: filepath.Join(dir, "a.key"), Beside: []string{".lock"}},
		local.Reserved{Path: "own"}, local.Reserved{Path: "conf.toml"}, local.Reserved{Path: "round/x"},
		local.Reserved{Path: "."}, local.Reserved{Path: filepath.Join(t.TempDir(), "elsewhere")},
	)
	must(t, err)
	return p, dir, link
}

func TestReservedPaths(t *testing.T) {
	ctx := context.Background()
	p, dir, link := reserving(t)
	before := tree(t, dir)
	for _, c := range []struct{ reason, path string }{
		{"as it was told", "conf.toml"},
		{"with a dot", "./conf.toml"},
		{"down and up", "x/../conf.toml"},
		{"out and in again", "../" + filepath.Base(link) + "/conf.toml"},
		{"absolute", filepath.Join(dir, "conf.toml")},
		{"absolute, by the other name of the project", filepath.Join(link, "conf.toml")},
		{"a folder", "own"},
		{"what is in it", "own/file"},
		{"what is not in it yet", "own/deep/new"},
		{"below a file", "conf.toml/x"},
		{"a link itself", "state.db"},
		{"where it leads", "data/real.db"},
		{"what stands beside where it leads", "data/real.db-wal"},
		{"what will stand there", "data/real.db-shm"},
		{"and beside the link", "state.db-shm"},
		{"a link to nothing yet", "a.key"},
		{"where it will lead", "data/later.key"},
		{"and what will stand beside that", "data/later.key.lock"},
		{"behind links that lead around", "round/x"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			req := file(c.path, "evil")
			if err := p.Validate(ctx, []*model.Request{req}); err != nil {
				t.Errorf("refused at plan, which a project never is: %v", err)
			}
			_, created := p.Create(ctx, req)
			_, updated := p.Update(ctx, req)
			_, _, read := p.Read(ctx, req)
			must(t, p.Delete(ctx, req)) // nothing was ever written there
			req.Prior = &model.Prior{Outputs: map[string]any{"path": c.path, "checksum": sum("evil")}}
			deleted := p.Delete(ctx, req)
			for _, err := range []error{created, updated, read, deleted} {
				wantError(t, err, "reserved")
				if model.ClassOf(err) != model.ClassUser {
					t.Errorf("%v is of class %v, and the user mends it", err, model.ClassOf(err))
				}
			}
		})
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Fatalf("something changed (-before +after):\n%s", diff)
	}
	want := maps.Clone(before)
	for _, path := range []string{"owned", "data/other", "conf.toml.old", "sub/conf.toml", "state.db.txt", "own.file"} {
		if _, err := p.Create(ctx, file(path, "x")); err != nil {
			t.Errorf("%s is nobody's: %v", path, err)
		}
		want[path] = "x"
	}
	want["sub/"] = ""
	wantTree(t, dir, want)
}

// Two paths have one address exactly where they are one file.
func TestAddress(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "project")
	must(t, os.Symlink(dir, link))
	project, err := local.NewProject(link)
	must(t, err)
	for _, c := range []struct {
		reason string
		p      *local.Provider
		path   any
		want   string // "" = not known
	}{
		{"plain", project, "a/b", "a/b"},
		{"with dots", project, "./x/../a//b", "a/b"},
		{"absolute", project, filepath.Join(dir, "a", "b"), "a/b"},
		{"by the other name", project, filepath.Join(link, "a", ".", "b"), "a/b"},
		{"out and in again", project, "../project/a/b", "a/b"},
		{"absolute outside", project, "/nowhere/../else/b", "/else/b"},
		{"outside", project, "../a/b", "../a/b"},
		{"a folder whose name begins alike", project, dir + "-other/b", dir + "-other/b"},
		{"not known yet", project, model.Reference{NodeID: "s:local.File:a", Output: "path"}, ""},
		{"a tenant's", local.NewTenants(dir, local.Quota{}), "./a/b", "a/b"},
		{"a tenant's is never absolute", local.NewTenants(dir, local.Quota{}), filepath.Join(dir, "a"), filepath.Join(dir, "a")},
	} {
		t.Run(c.reason, func(t *testing.T) {
			schemas, err := model.NewSchemas(c.p.Schema())
			must(t, err)
			got, known := schemas.Type("local.File").Address(map[string]any{"path": c.path})
			if got != c.want || known != (c.want != "") {
				t.Errorf("%v has the address %q (%v), want %q", c.path, got, known, c.want)
			}
		})
	}
}
