package local_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

func sourceFile(path any) *model.Request {
	return &model.Request{
		Node:   model.NodeOf("s:local.SourceFile:x"),
		Owner:  owner,
		Inputs: map[string]any{"path": path, "checksum": "pinned"},
		Source: sourcetree.Texts(map[string]string{"a/motd.txt": "one\r\ntwo", "bytes": "\xff"}),
	}
}

func TestLifeOfASourceFile(t *testing.T) {
	ctx := context.Background()
	for _, r := range roots(t) {
		t.Run(r.name, func(t *testing.T) {
			want := model.Outputs{"content": "one\r\ntwo"}
			created, err := r.provider.Create(ctx, sourceFile("a/../a/motd.txt"))
			must(t, err)
			updated, err := r.provider.Update(ctx, sourceFile("a/motd.txt"))
			must(t, err)
			observed, found, err := r.provider.Read(ctx, sourceFile("a/motd.txt"))
			must(t, err)
			if diff := cmp.Diff([]any{want, want, model.Observed(want), true}, []any{created, updated, observed, found}); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			if _, found, err := r.provider.Read(ctx, sourceFile("gone.txt")); found || err != nil {
				t.Errorf("a missing file reads as %v, %v", found, err)
			}
			must(t, r.provider.Delete(ctx, sourceFile("a/motd.txt")))
			if left := tree(t, r.dir); len(left) > 0 {
				t.Errorf("something was written: %v", left)
			}
		})
	}
}

func TestSourceFileRefuses(t *testing.T) {
	ctx := context.Background()
	p := roots(t)[1].provider
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "real"), []byte("x"), 0o644))
	must(t, os.Symlink("real", filepath.Join(dir, "inner")))
	folder, err := sourcetree.OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	for _, c := range []struct {
		reason string
		r      *model.Request
		says   string
	}{
		{"a path out of the tree", sourceFile("../x"), "outside of the source tree"},
		{"an absolute path: the operator's own folders are no tree", sourceFile("/etc/passwd"), "outside of the source tree"},
		{"a folder", sourceFile("a"), "a folder"},
		{"what is no text", sourceFile("bytes"), "UTF-8"},
		{"a path that is no text", sourceFile(int64(5)), "not a text"},
		{"a link, even one that stays inside", withTree(sourceFile("inner"), folder), "'inner' is a link"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := p.Create(ctx, c.r)
			wantError(t, err, c.says)
			_, _, err = p.Read(ctx, c.r)
			wantError(t, err, c.says)
		})
	}
	t.Run("without a tree it is unknown, not absent", func(t *testing.T) {
		r := sourceFile("a/motd.txt")
		r.Source = nil
		_, found, err := p.Read(ctx, r)
		wantError(t, err, "no source tree")
		if found {
			t.Error("found")
		}
		must(t, p.Delete(ctx, r)) // a destroy has none
	})
	t.Run("a missing file cannot be made", func(t *testing.T) {
		_, err := p.Create(ctx, sourceFile("gone.txt"))
		wantError(t, err, "'gone.txt' is not there")
	})
}

func withTree(r *model.Request, tree *sourcetree.Folder) *model.Request {
	r.Source = tree
	return r
}
