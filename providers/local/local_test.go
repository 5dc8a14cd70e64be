package local_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

var _ providers.Provider = (*local.Provider)(nil)

const owner = "team-a/5f0c1c2e-7c1f-4c7a-9d59-0f7f2a3a9a10"

func file(path, content any) *model.Request {
	return &model.Request{
		Node:   model.NodeOf(fmt.Sprintf("s:local.File:n%x", path)),
		Owner:  owner,
		Inputs: map[string]any{"path": path, "content": content},
	}
}

func sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return hex.EncodeToString(s[:])
}

// root is one policy under test: its provider and the folder that its files are in.
type root struct {
	name     string
	provider *local.Provider
	dir      string
}

func roots(t *testing.T) []root {
	t.Helper()
	projectDir, dataRoot := t.TempDir(), t.TempDir()
	project, err := local.NewProject(projectDir)
	if err != nil {
		t.Fatal(err)
	}
	tenantDir := filepath.Join(dataRoot, filepath.FromSlash(owner))
	must(t, os.MkdirAll(tenantDir, 0o755))
	return []root{
		{"project", project, projectDir},
		{"tenants", local.NewTenants(dataRoot, local.Quota{}), tenantDir},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree lists everything below a folder: files with their content, folders with "/".
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			found[rel+"/"] = ""
		case entry.Type().IsRegular():
			data, err := os.ReadFile(p)
			found[rel] = string(data)
			return err
		default:
			found[rel] = "(" + entry.Type().String() + ")"
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return found
}

func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", says)
	}
	if !model.IsKind(err, model.ProviderError) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %s %q, want a ProviderError with %q", model.KindOf(err), err, says)
	}
}

func TestLifeOfAFile(t *testing.T) {
	ctx := context.Background()
	for _, r := range roots(t) {
		t.Run(r.name, func(t *testing.T) {
			req := file("out/deep/a.txt", "one\r\n")
			for range 2 { // a create is repeatable
				outputs, err := r.provider.Create(ctx, req)
				must(t, err)
				if diff := cmp.Diff(model.Outputs{"path": "out/deep/a.txt", "checksum": sum("one\r\n")}, outputs); diff != "" {
					t.Errorf("outputs (-want +got):\n%s", diff)
				}
			}
			wantTree(t, r.dir, map[string]string{"out/": "", "out/deep/": "", "out/deep/a.txt": "one\r\n"})
			info, err := os.Stat(filepath.Join(r.dir, "out/deep/a.txt"))
			must(t, err)
			if info.Mode().Perm() != 0o644 {
				t.Errorf("mode %v, want 0644", info.Mode())
			}

			observed, found, err := r.provider.Read(ctx, req)
			must(t, err)
			if diff := cmp.Diff(model.Observed{"path": "out/deep/a.txt", "checksum": sum("one\r\n")}, observed); !found || diff != "" {
				t.Errorf("read %v (-want +got):\n%s", found, diff)
			}

			must(t, os.RemoveAll(filepath.Join(r.dir, "out")))
			if _, found, err := r.provider.Read(ctx, req); found || err != nil {
				t.Errorf("a missing file reads as %v, %v", found, err)
			}
			outputs, err := r.provider.Update(ctx, file("out/deep/a.txt", "two"))
			must(t, err)
			if outputs["checksum"] != sum("two") {
				t.Errorf("update gave %v", outputs)
			}
			for range 2 { // deleting what is gone succeeds
				must(t, r.provider.Delete(ctx, req))
			}
			if r.name == "project" {
				wantTree(t, r.dir, map[string]string{"out/": "", "out/deep/": ""}) // parents stay
			} else if _, err := os.Stat(r.dir); !os.IsNotExist(err) {
				t.Errorf("the emptied folder of the owner is still there: %v", err)
			}
		})
	}
}

func TestDeleteUsesTheRecordedPath(t *testing.T) {
	ctx := context.Background()
	for _, r := range roots(t) {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.provider.Create(ctx, file("old", "x"))
			must(t, err)
			req := file("new", "x") // its path follows a reference that moved since
			req.Prior = &model.Prior{Outputs: map[string]any{"path": "old", "checksum": sum("x")}}
			must(t, r.provider.Delete(ctx, req))
			if left := tree(t, r.dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			req.Prior, req.Inputs = nil, map[string]any{}
			if err := r.provider.Delete(ctx, req); err != nil {
				t.Errorf("a delete without any recorded path: %v", err)
			}
		})
	}
}

// A create that was refused for its path made nothing, and its delete does not stand in the
// way of what comes next; what was written there once is another matter.
func TestDeleteOfARefusedPath(t *testing.T) {
	ctx := context.Background()
	for _, r := range roots(t) {
		t.Run(r.name, func(t *testing.T) {
			req := file("../out", "x")
			_, err := r.provider.Create(ctx, req)
			wantError(t, err, "../out")
			must(t, r.provider.Delete(ctx, req))
			req.Prior = &model.Prior{Outputs: map[string]any{}}
			must(t, r.provider.Delete(ctx, req))
			req.Prior.Outputs = map[string]any{"path": "../out", "checksum": sum("x")}
			wantError(t, r.provider.Delete(ctx, req), "../out")
		})
	}
	off := local.NewTenants("", local.Quota{})
	wantError(t, off.Delete(ctx, file("x", "x")), "switched off")
}

func TestPruneStopsAtWhatIsNotEmpty(t *testing.T) {
	ctx := context.Background()
	r := roots(t)[1]
	for _, path := range []string{"a/b/c/x", "a/y"} {
		_, err := r.provider.Create(ctx, file(path, ""))
		must(t, err)
	}
	must(t, r.provider.Delete(ctx, file("a/b/c/x", "")))
	wantTree(t, r.dir, map[string]string{"a/": "", "a/y": ""})
}

func TestCrashLeavesNothingForGood(t *testing.T) {
	ctx := context.Background()
	for _, r := range roots(t) {
		for _, next := range []string{"write", "delete"} {
			t.Run(r.name+" then "+next, func(t *testing.T) {
				must(t, os.MkdirAll(r.dir, 0o755))
				_, err := r.provider.Create(ctx, file("a", "x"))
				must(t, err)
				s := sha256.Sum256([]byte("a"))
				temp := ".atlantide-" + hex.EncodeToString(s[:])[:16] + ".tmp"
				must(t, os.WriteFile(filepath.Join(r.dir, temp), []byte("half"), 0o600))
				want := map[string]string{}
				if next == "write" {
					_, err = r.provider.Update(ctx, file("a", "y"))
					want["a"] = "y"
				} else {
					err = r.provider.Delete(ctx, file("a", "x"))
				}
				must(t, err)
				wantTree(t, r.dir, want)
			})
		}
	}
}

func TestExistingModeInAProject(t *testing.T) {
	r := roots(t)[0]
	target := filepath.Join(r.dir, "run.sh")
	must(t, os.WriteFile(target, []byte("old"), 0o755))
	must(t, os.Chmod(target, 0o751))
	_, err := r.provider.Update(context.Background(), file("run.sh", "new"))
	must(t, err)
	info, err := os.Stat(target)
	must(t, err)
	if info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, want the 0751 that it had", info.Mode())
	}
}

func TestWhatIsInTheWay(t *testing.T) {
	ctx := context.Background()
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	must(t, os.WriteFile(secret, []byte("keep"), 0o600))
	for _, r := range roots(t) {
		must(t, os.WriteFile(filepath.Join(r.dir, "plain"), []byte("p"), 0o644))
		must(t, os.Mkdir(filepath.Join(r.dir, "folder"), 0o755))
		must(t, os.Symlink(secret, filepath.Join(r.dir, "link")))
		must(t, os.Symlink("plain", filepath.Join(r.dir, "inner")))
		must(t, os.Symlink(outside, filepath.Join(r.dir, "linkdir")))
		must(t, os.Symlink("folder", filepath.Join(r.dir, "innerdir")))
		must(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(r.dir, "dangling")))
		must(t, syscall.Mkfifo(filepath.Join(r.dir, "pipe"), 0o644))
		before := tree(t, r.dir)
		for _, c := range []struct{ reason, path, says string }{
			{"a final link to the outside is not written through", "link", "is a link"},
			{"nor one that stays inside", "inner", "is a link"},
			{"nor one to nothing", "dangling", "is a link"},
			{"a folder link to the outside", "linkdir/secret", "leads through a link"},
			{"a folder link that stays inside", "innerdir/x", "leads through a link"},
			{"a folder is not a file", "folder", "is a folder"},
			{"a pipe would block", "pipe", "a pipe"},
		} {
			t.Run(r.name+" "+c.path, func(t *testing.T) {
				_, err := r.provider.Create(ctx, file(c.path, "evil"))
				wantError(t, err, c.says)
				_, err = r.provider.Update(ctx, file(c.path, "evil"))
				wantError(t, err, c.says)
				_, _, err = r.provider.Read(ctx, file(c.path, ""))
				wantError(t, err, c.says)
				wantError(t, r.provider.Delete(ctx, file(c.path, "")), c.says)
			})
		}
		t.Run(r.name+" a file where a folder should be", func(t *testing.T) {
			_, err := r.provider.Create(ctx, file("plain/x", "evil"))
			wantError(t, err, "not a folder")
			if _, found, err := r.provider.Read(ctx, file("plain/x", "")); found || err != nil {
				t.Errorf("reads as %v, %v; nothing can be there", found, err)
			}
			must(t, r.provider.Delete(ctx, file("plain/x", "")))
		})
		if diff := cmp.Diff(before, tree(t, r.dir)); diff != "" {
			t.Errorf("%s changed something (-before +after):\n%s", r.name, diff)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "keep" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	wantTree(t, outside, map[string]string{"secret": "keep"})
}

func TestProjectPaths(t *testing.T) {
	ctx := context.Background()
	r := roots(t)[0]
	for _, c := range []struct{ reason, path, says string }{
		{"up and down again stays inside", "sub/../ok", ""},
		{"absolute inside", filepath.Join(r.dir, "abs"), ""},
		{"up and out", "../out", "../out"},
		{"deep and out", "a/../../out", "outside the project folder"},
		{"absolute outside", "/nowhere/abs", "/nowhere/abs"},
		{"a folder whose name begins alike", r.dir + "-other/x", "outside the project folder"},
		{"the folder itself", ".", "folder itself"},
		{"empty", "", "empty"},
		{"NUL", "a\x00b", "NUL"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			req := file(c.path, "x")
			if err := r.provider.Validate(ctx, []*model.Request{req}); err != nil {
				t.Errorf("refused at plan, which a project never is: %v", err)
			}
			outputs, err := r.provider.Create(ctx, req)
			if c.says != "" {
				wantError(t, err, c.says)
				return
			}
			must(t, err)
			if outputs["path"] != c.path {
				t.Errorf("path output %v, want it as given", outputs["path"])
			}
		})
	}
	wantTree(t, r.dir, map[string]string{"ok": "x", "abs": "x"})
}

func TestProjectBehindALink(t *testing.T) {
	target := t.TempDir()
	link := filepath.Join(t.TempDir(), "project")
	must(t, os.Symlink(target, link))
	p, err := local.NewProject(link)
	must(t, err)
	for _, path := range []string{"a", filepath.Join(link, "b"), filepath.Join(target, "c")} {
		if _, err := p.Create(context.Background(), file(path, "x")); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	wantTree(t, target, map[string]string{"a": "x", "b": "x", "c": "x"})
}

func TestErrorsNameNoFolderOfTheMachine(t *testing.T) {
	for _, r := range roots(t) {
		must(t, os.Mkdir(filepath.Join(r.dir, "d"), 0o755))
		_, err := r.provider.Create(context.Background(), file("d", "x"))
		wantError(t, err, "local create of 'local.File' failed")
		if strings.Contains(err.Error(), filepath.Dir(r.dir)) {
			t.Errorf("%v names the machine's folder", err)
		}
	}
}

func TestNullAndOthers(t *testing.T) {
	ctx := context.Background()
	p := roots(t)[0].provider
	null := &model.Request{Node: model.NodeOf("s:local.Null:n"), Inputs: map[string]any{"triggers": map[string]any{}}}
	outputs, err := p.Create(ctx, null)
	if err != nil || len(outputs) != 0 || outputs == nil {
		t.Errorf("create of a Null gave %v, %v", outputs, err)
	}
	if observed, found, err := p.Read(ctx, null); err != nil || !found || len(observed) != 0 {
		t.Errorf("read of a Null gave %v, %v, %v", observed, found, err)
	}
	must(t, p.Delete(ctx, null))
	other := &model.Request{Node: model.NodeOf("s:local.Folder:x")}
	_, err = p.Create(ctx, other)
	wantError(t, err, "local provider cannot create 'local.Folder'")
	wantError(t, p.Delete(ctx, other), "cannot delete")
}

func TestSchema(t *testing.T) {
	schemas, err := model.NewSchemas(roots(t)[0].provider.Schema())
	must(t, err)
	mutability := func(typ string) (got []string) {
		for _, f := range schemas.Type(typ).Fields {
			got = append(got, fmt.Sprintf("%s:%s:%v", f.Name, [...]string{"M", "I", "C"}[f.Mutability], f.Required))
		}
		return got
	}
	for typ, want := range map[string][]string{
		"local.File":       {"path:I:true", "content:M:false", "checksum:C:false"},
		"local.SourceFile": {"path:I:true", "checksum:M:false", "content:C:false"},
		"local.Null":       {"triggers:M:false"},
	} {
		if got := mutability(typ); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", typ, got, want)
		}
	}
}
