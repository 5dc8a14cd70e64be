package sourcetree_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// folderOf is a folder on disk with these files; a name that ends in "/" is a folder,
// one that ends in "*" is executable.
func folderOf(t *testing.T, files map[string]string) *sourcetree.Folder {
	t.Helper()
	folder, _ := folderAt(t, files)
	return folder
}

func folderAt(t *testing.T, files map[string]string) (*sourcetree.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		plain, executable := strings.CutSuffix(name, "*")
		at := filepath.Join(dir, plain)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		mode := fs.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		must(t, os.WriteFile(at, []byte(text), mode))
	}
	return open(t, dir), dir
}

func open(t *testing.T, dir string) *sourcetree.Folder {
	t.Helper()
	folder, err := sourcetree.OpenFolder(dir)
	must(t, err)
	t.Cleanup(func() { must(t, folder.Close()) })
	return folder
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func packaged(t *testing.T, tree fs.FS, path string) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, (&sourcetree.Reader{Tree: tree}).Package(t.Context(), &b, path))
	return b.Bytes()
}

// The worked examples of providers.md 5.
func TestPackage(t *testing.T) {
	five := map[string]string{
		"p/README": "", "p/app.py": "def handler(event, context):\n    return {\"ok\": True}\n",
		"p/lib/util.py": "X = 1\n", "p/lib-extra/z.txt": "z\n", "p/é.txt": "accent\n",
	}
	for _, c := range []struct {
		reason string
		files  map[string]string
		size   int
		digest string
	}{
		{"one file", map[string]string{"p/a.txt": "hi\n"}, 111, "74c29fc53693d9c1a7072a2065e41152eb19e086a841af89045ecfdd851bed96"},
		{"order by parts, an empty file, a name that is not ASCII", five, 558, "7e57b9777f9d49136a16aabcc192a5674960d21f4edbc483844eca1b2eb2a0a5"},
		{"an execute bit counts, caches do not", map[string]string{"p/bootstrap*": "#!/bin/sh\n", "p/__pycache__/a.pyc": "x", "p/b.pyc": "x"}, 126,
			"b5fa1257337722ecd74a8cc36ed6f4a490559cf8c5880cc783b1ad7e597c17f8"},
		{"nothing but folders", map[string]string{"p/empty/deep/": ""}, 22, "8739c76e681f900923b900c9df0ef75cf421d39cabb54650c4b9ad19b6a76d85"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := packaged(t, folderOf(t, c.files), "p")
			if len(got) != c.size || hash(got) != c.digest {
				t.Errorf("%d bytes with digest %s, want %d with %s", len(got), hash(got), c.size, c.digest)
			}
		})
	}
	t.Run("a source without modes gives the same bytes", func(t *testing.T) {
		if hash(packaged(t, sourcetree.Texts(five), "p")) != hash(packaged(t, folderOf(t, five), "p")) {
			t.Error("a tree of texts makes another package than a folder")
		}
	})
	t.Run("a file is its own package, whatever its bytes", func(t *testing.T) {
		if got := packaged(t, folderOf(t, map[string]string{"fn.zip": "\x00\xff"}), "./x/../fn.zip"); string(got) != "\x00\xff" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the whole tree", func(t *testing.T) {
		if hash(packaged(t, sourcetree.Texts(map[string]string{"a.txt": "hi\n"}), ".")) != "74c29fc53693d9c1a7072a2065e41152eb19e086a841af89045ecfdd851bed96" {
			t.Error("the tree itself makes another package than a folder of the same files")
		}
	})
}

// oddFiles are names that a careless order, filter or encoding would get wrong; the
// content of a file is its name.
func oddFiles() map[string]string {
	names := []string{
		"a/z.txt", "a.txt", "a-b/c", "A", ".hidden", ".dir/.x", "x.pyc/kept", "__pycache__/a.pyc", "deep/__pycache__/n/b.txt",
		"old.pyc", "OLD.PYC", "n.pyc.txt", "é", "e\u0301", "日本/語.txt", "\U0001F600", "\uFFFD", "with space/a b", "quote'\"", "back\\slash",
		"bin*", "group", strings.Repeat("d/", 40) + "leaf", "empty", "pycache/x", "x.pycx",
	}
	files := map[string]string{"none/at/all/": ""}
	for _, name := range names {
		files[name] = strings.TrimSuffix(name, "*")
	}
	files["empty"] = ""
	return files
}

// The digest is that of another program, written in Python, over the same files.
func TestPackageOfAnOddTree(t *testing.T) {
	tree, dir := folderAt(t, oddFiles())
	must(t, os.Chmod(filepath.Join(dir, "group"), 0o654)) // executable, but not for its owner
	got := packaged(t, tree, ".")
	if want := "2026230930b08bd4beddf4b725f39a5dcf410df4d39a87699b980e97a7f569ea"; len(got) != 2446 || hash(got) != want {
		t.Errorf("%d bytes with digest %s, want 2446 with %s", len(got), hash(got), want)
	}
	manifest, err := (&sourcetree.Reader{Tree: tree}).Manifest(t.Context(), ".")
	must(t, err)
	archive, err := zip.NewReader(bytes.NewReader(got), int64(len(got)))
	must(t, err)
	if len(manifest) != len(archive.File) {
		t.Errorf("a manifest of %d files beside a package of %d", len(manifest), len(archive.File))
	}
	for _, f := range archive.File {
		if manifest[f.Name] == "" {
			t.Errorf("%q is in the package, not in the manifest", f.Name)
		}
	}
}

func TestManifest(t *testing.T) {
	tree := folderOf(t, map[string]string{
		"site/index.html": "i", "site/css/.hidden": "h", "site/x.pyc/kept.txt": "k",
		"site/__pycache__/a.txt": "-", "site/old.pyc": "-", "site/empty/": "", "beside.txt": "-",
	})
	got, err := (&sourcetree.Reader{Tree: tree}).Manifest(t.Context(), "site/")
	must(t, err)
	want := map[string]string{"index.html": hash([]byte("i")), "css/.hidden": hash([]byte("h")), "x.pyc/kept.txt": hash([]byte("k"))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/f"), []byte("f"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "bytes"), []byte{0xff}, 0o644))
	must(t, os.Symlink("a", filepath.Join(dir, "linked")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "away")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	outer := filepath.Join(t.TempDir(), "known")
	must(t, os.Symlink(dir, outer))
	for _, c := range []struct{ reason, path, says string }{
		{"plain", "a/b/f", ""},
		{"dots within", "./a/../a//b/f", ""},
		{"absolute, inside", filepath.Join(dir, "a/b/f"), ""},
		{"absolute, by the other name of the folder", filepath.Join(outer, "a/b/f"), ""},
		{"empty", "", "empty"},
		{"up", "../f", "'../f' is outside of the source tree"},
		{"up behind something", "a/../../f", "outside"},
		{"absolute", "/etc/passwd", "outside"},
		{"a folder whose name begins alike", dir + "x/f", "outside"},
		{"NUL", "a\x00", "NUL"},
		{"too long", strings.Repeat("a/", 2049), "4096"},
		{"a link to the outside", "away", "'away' is a link"},
		{"a link that leads nowhere", "dangling", "'dangling' is a link"},
		{"a link on the way", "linked/b/f", "'linked' is a link"},
		{"a folder", "a", "'a' is a folder"},
		{"the tree itself", ".", "a folder"},
		{"a pipe would block", "pipe", "a pipe"},
		{"no text", "bytes", "UTF-8"},
		{"missing", "a/none", "'a/none' is not there"},
		{"below a file", "a/b/f/g", "is not there"},
		{"a name that would steer a terminal", "a\x1b[2J", "is not there"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := &sourcetree.Reader{Tree: open(t, outer)}
			text, err := r.Text(t.Context(), c.path)
			if c.says == "" {
				if must(t, err); text != "f" {
					t.Errorf("read %q", text)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("error %q, want one with %q", err, c.says)
			}
			if errors.Is(err, fs.ErrNotExist) != strings.Contains(c.says, "not there") {
				t.Errorf("%v: missing is told apart by fs.ErrNotExist alone", err)
			}
		})
	}
}

func TestLinksInFolders(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "p/sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o600))
	must(t, os.Symlink("../../secret", filepath.Join(dir, "p/sub/link")))
	r := &sourcetree.Reader{Tree: open(t, dir)}
	_, manifestErr := r.Manifest(t.Context(), "p")
	packageErr := r.Package(t.Context(), &bytes.Buffer{}, "p")
	for _, err := range []error{manifestErr, packageErr} {
		if err == nil || !strings.Contains(err.Error(), "'p/sub/link' is a link") {
			t.Errorf("error %v, want one that names the link", err)
		}
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 4 {
		files[fmt.Sprintf("p/%d", i)] = "12345"
	}
	tree := sourcetree.Texts(files)
	for _, c := range []struct {
		reason string
		limits sourcetree.Limits
		read   func(context.Context, *sourcetree.Reader) error
		says   string // "" = passes
	}{
		{"a text of the size allowed", sourcetree.Limits{TextBytes: 5}, text, ""},
		{"a byte more", sourcetree.Limits{TextBytes: 4}, text, "more bytes than the 4"},
		{"files of a package together", sourcetree.Limits{PackageBytes: 20}, pack, ""},
		{"one byte more together", sourcetree.Limits{PackageBytes: 19}, pack, "more bytes than the 4"},
		{"as many files as allowed", sourcetree.Limits{Files: 4}, pack, ""},
		{"one file more", sourcetree.Limits{Files: 3}, manifest, "more files than the 3"},
		{"everything of one reader", sourcetree.Limits{TotalBytes: 20}, manifest, ""},
		{"a byte more than everything", sourcetree.Limits{TotalBytes: 19}, manifest, "more than the 19 bytes"},
		{"files of one reader", sourcetree.Limits{TotalFiles: 3}, manifest, "one file more than the 3"},
		{"two calls share what is allowed", sourcetree.Limits{TotalBytes: 9}, func(ctx context.Context, r *sourcetree.Reader) error {
			return errors.Join(text(ctx, r), text(ctx, r))
		}, "more than the 9 bytes"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := c.read(t.Context(), &sourcetree.Reader{Tree: tree, Limits: c.limits})
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
	t.Run("folders count as well", func(t *testing.T) {
		many := map[string]string{}
		for i := range 41 {
			many[fmt.Sprintf("p/%d/__pycache__/x", i)] = ""
		}
		_, err := (&sourcetree.Reader{Tree: sourcetree.Texts(many), Limits: sourcetree.Limits{Files: 4}}).Manifest(t.Context(), "p")
		if err == nil || !strings.Contains(err.Error(), "more than 40 files and folders") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the context ends a reading", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := manifest(ctx, &sourcetree.Reader{Tree: tree}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func text(ctx context.Context, r *sourcetree.Reader) error {
	_, err := r.Text(ctx, "p/0")
	return err
}

func pack(ctx context.Context, r *sourcetree.Reader) error {
	return r.Package(ctx, &bytes.Buffer{}, "p")
}

func manifest(ctx context.Context, r *sourcetree.Reader) error {
	_, err := r.Manifest(ctx, "p")
	return err
}

func TestTexts(t *testing.T) {
	must(t, fstest.TestFS(sourcetree.Texts(map[string]string{"infra.py": "x", "a/b/c.txt": "c", "a/d": ""}), "infra.py", "a/b/c.txt", "a/d"))
	t.Run("names that are no paths are out of reach", func(t *testing.T) {
		r := &sourcetree.Reader{Tree: sourcetree.Texts(map[string]string{"../x": "x", "/y": "y", "a//b": "z", "": "e"})}
		for _, path := range []string{"../x", "/y", "a/b", "."} {
			if _, err := r.Text(t.Context(), path); err == nil {
				t.Errorf("%q can be read", path)
			}
		}
	})
	t.Run("a file that is a folder too is the file", func(t *testing.T) {
		got, err := (&sourcetree.Reader{Tree: sourcetree.Texts(map[string]string{"p/a": "file", "p/a/b": "below"})}).Manifest(t.Context(), "p")
		if diff := cmp.Diff(map[string]string{"a": hash([]byte("file"))}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// confined fails the test when something outside of a tree is asked for.
type confined struct {
	fs.FS
	t *testing.T
}

func (c confined) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		c.t.Errorf("opened %q", name)
	}
	return c.FS.Open(name)
}

// Whatever a path is, only valid paths of the tree are opened, and an error is one line.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a/b", "../a", "a/../../b", "/a", "./.", "a//b/", "a\x00", "\xff", "\\a", "C:/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := &sourcetree.Reader{Tree: confined{sourcetree.Texts(map[string]string{"a/b": "x", "b": "y"}), t}}
		_, textErr := r.Text(t.Context(), path)
		_, manifestErr := r.Manifest(t.Context(), path)
		for _, err := range []error{textErr, manifestErr, r.Package(t.Context(), &bytes.Buffer{}, path)} {
			if err != nil && strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("%q", err)
			}
		}
	})
}
