package components

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// Hashes that another implementation of cli.md 14 gave: Python's hashlib over the same
// names and contents.
const (
	emptyTree = "sha256.v2:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	oneFile   = "sha256.v2:adc718bcbb4da1337b7aea4a388d633bc06ffe6ffaab110e58aeab19e1861f49"
	mixedTree = "sha256.v2:85b7a040e710d9b4c5a2dc2647989ece311eba3745e3c2266bb7495c9ec05420"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a folder with these files: "NAME/" is a folder, "NAME@" a link to the
// content, "NAME|" a pipe.
type project struct {
	dir  string
	tree *sourcetree.Folder
}

func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	p := &project{dir: t.TempDir()}
	for name, text := range files {
		at := filepath.Join(p.dir, strings.TrimRight(name, "@|"))
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch name[len(name)-1] {
		case '/':
			must(t, os.MkdirAll(at, 0o755))
		case '@':
			must(t, os.Symlink(text, at))
		case '|':
			must(t, syscall.Mkfifo(at, 0o600))
		default:
			must(t, os.WriteFile(at, []byte(text), 0o600))
		}
	}
	tree, err := sourcetree.OpenFolder(p.dir)
	must(t, err)
	t.Cleanup(func() { must(t, tree.Close()) })
	p.tree = tree
	return p
}

func (p *project) hash(t testing.TB, dir string) string {
	t.Helper()
	h := &hasher{project: p.tree, limits: Limits{}.orDefault()}
	got, err := h.hash(t.Context(), dir)
	must(t, err)
	return got
}

func TestHash(t *testing.T) {
	for _, c := range []struct {
		reason string
		files  map[string]string
		want   string
	}{
		{"nothing", map[string]string{"t/": ""}, emptyTree},
		{"empty folders and caches leave no trace", map[string]string{"t/sub/": "", "t/__pycache__/a.py": "x", "t/m.pyc": "x", "t/sub/__pycache__/b": "x"}, emptyTree},
		{"one file", map[string]string{"t/__init__.py": "X = 1\n"}, oneFile},
		{
			"order by parts, a link, a name that is not ASCII, a folder that is named like a cache",
			map[string]string{"t/a/b.txt": "x\n", "t/a.txt": "hi", "t/a-b": "", "t/é.txt": "accent\n", "t/l@": "a/b.txt", "t/z.pyc/in.txt": "deep"},
			mixedTree,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := newProject(t, c.files).hash(t, "t"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// No two trees of different names, kinds or contents have one hash.
func TestHashTellsTreesApart(t *testing.T) {
	content := rapid.SampledFrom([]string{"", "a", "b", "ab", "\x00\x00\x00\x00\x00\x00\x00\x01a"})
	name := rapid.SampledFrom([]string{"a", "ab", "b", "c/a", "c/b"})
	file := rapid.Custom(func(rt *rapid.T) *fstest.MapFile {
		mode := rapid.SampledFrom([]fs.FileMode{0, fs.ModeSymlink}).Draw(rt, "mode")
		return &fstest.MapFile{Data: []byte(content.Draw(rt, "content")), Mode: mode}
	})
	trees := rapid.MapOfN(name, file, 1, 4)
	hash := func(t *rapid.T, files map[string]*fstest.MapFile) string {
		tree := fstest.MapFS{}
		for at, file := range files {
			tree["t/"+at] = file
		}
		h := &hasher{project: tree, limits: Limits{}.orDefault()}
		got, err := h.hash(context.Background(), "t")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := trees.Draw(t, "a"), trees.Draw(t, "b")
		if same := hash(t, a) == hash(t, b); same != cmp.Equal(a, b) {
			t.Errorf("equal hashes: %t for %v and %v", same, a, b)
		}
	})
}

// lockOf pins aliases to hashes.
func lockOf(pins ...string) string {
	text := "# by atlantide\n"
	for i := 0; i < len(pins); i += 2 {
		text += "\n[components." + pins[i] + "]\ngit = \"https://example.test/x.git\"\ncommit = \"" + strings.Repeat("0", 40) + "\"\nhash = \"" + pins[i+1] + "\"\n"
	}
	return text
}

func TestCheck(t *testing.T) {
	const acme = VendorDir + "/acme/"
	for _, c := range []struct {
		name, reason string
		files        map[string]string
		caches       []string
		mentions     [][]string // per error; none = it passes
	}{
		{name: "nothing vendored", reason: "a project without components is fine", files: map[string]string{"infra.py": ""}},
		{name: "a pin without a tree", reason: "what imports it will say so", files: map[string]string{LockFile: lockOf("acme", oneFile)}},
		{name: "a match", reason: "and its caches are found", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "__init__.py": "X = 1\n", acme + "__pycache__/a.pyc": "", acme + "b.pyc": "", VendorDir + "/__pycache__/c": "",
		}, caches: []string{VendorDir + "/__pycache__", acme + "__pycache__", acme + "b.pyc"}},
		{name: "a changed file", reason: "alias, both hashes and the way out are named", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "__init__.py": "X = 2\n",
		}, mentions: [][]string{{"'acme'", oneFile, "vendor it again"}}},
		{name: "a file more", reason: "it could be imported", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "__init__.py": "X = 1\n", acme + "more.py": "",
		}, mentions: [][]string{{"'acme'", oneFile}}},
		{name: "several", reason: "all are told at once, by name", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "__init__.py": "", VendorDir + "/b/x.py": "", VendorDir + "/loose.py": "",
		}, mentions: [][]string{{"'acme'"}, {"'b'", "does not pin it"}, {"loose.py"}}},
		{name: "no pin", reason: "a folder dropped in is never evaluated", files: map[string]string{
			VendorDir + "/evil/__init__.py": "",
		}, mentions: [][]string{{"'evil'", "atlantide.lock", "move the folder"}}},
		{name: "hidden folders", reason: "nothing but caches may lie there unpinned", files: map[string]string{VendorDir + "/.git/HEAD": ""}, mentions: [][]string{{"'.git'"}}},
		{name: "loose text", reason: "nothing can import a README", files: map[string]string{VendorDir + "/README.md": "hi", VendorDir + "/fifo|": ""}},
		{name: "loose code", reason: "no pin covers it", files: map[string]string{VendorDir + "/x.PY": ""}, mentions: [][]string{{"x.PY", "remove it"}}},
		{name: "a link among the trees", reason: "no link is followed, not even to a pinned tree", files: map[string]string{
			LockFile: lockOf("acme", oneFile), "elsewhere/__init__.py": "X = 1\n", VendorDir + "/acme@": "../../elsewhere",
		}, mentions: [][]string{{"acme' is a link"}}},
		{name: "links on the way", reason: "the folder itself must lie in the project", files: map[string]string{
			"else/components/acme/__init__.py": "", ".atlantis@": "else",
		}, mentions: [][]string{{"'.atlantis' is a link"}}},
		{name: "a circle of links", reason: "links are hashed by their text", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "a@": "b", acme + "b@": "a", acme + "self@": ".",
		}, mentions: [][]string{{"'acme'", "hashes to"}}},
		{name: "a pipe", reason: "opening it would wait for a writer", files: map[string]string{
			LockFile: lockOf("acme", oneFile), acme + "p|": "",
		}, mentions: [][]string{{"'acme'", "a pipe"}}},
		{name: "a file in place of the folder", reason: "it is not what it should be", files: map[string]string{".atlantis/components": ""}, mentions: [][]string{{"not a folder"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			caches, err := Check(t.Context(), newProject(t, c.files).tree, Limits{})
			wrong := model.Diagnostics(err)
			if len(wrong) != len(c.mentions) {
				t.Fatalf("%d errors, want %d: %s\n%v", len(wrong), len(c.mentions), c.reason, wrong)
			}
			for i, words := range c.mentions {
				for _, word := range words {
					if !strings.Contains(wrong[i].Message, word) || wrong[i].Code != model.ComponentError {
						t.Errorf("%s lacks %q: %s\n%s", wrong[i].Code, word, c.reason, wrong[i].Message)
					}
				}
			}
			if diff := cmp.Diff(c.caches, caches); diff != "" {
				t.Errorf("caches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	t.Run("a file of 5 GB without a block on disk", func(t *testing.T) {
		p := newProject(t, map[string]string{LockFile: lockOf("acme", oneFile), VendorDir + "/acme/big": ""})
		must(t, os.Truncate(filepath.Join(p.dir, VendorDir, "acme/big"), 5<<30))
		if _, err := Check(t.Context(), p.tree, Limits{}); err == nil || !strings.Contains(err.Error(), "5368709120 bytes") {
			t.Errorf("%v", err)
		}
	})
	t.Run("the limits hold for all trees together", func(t *testing.T) {
		p := newProject(t, map[string]string{
			LockFile: lockOf("a", emptyTree, "b", emptyTree), VendorDir + "/a/x": "12345", VendorDir + "/b/x": "12345",
		})
		_, err := Check(t.Context(), p.tree, Limits{Bytes: 9})
		if wrong := model.Diagnostics(err); len(wrong) != 2 || !strings.Contains(wrong[1].Message, "left of what is allowed") {
			t.Errorf("%v", wrong)
		}
		_, err = Check(t.Context(), p.tree, Limits{Files: 1})
		if wrong := model.Diagnostics(err); len(wrong) != 2 || !strings.Contains(wrong[1].Message, "more than the 0 files") {
			t.Errorf("%v", wrong)
		}
	})
	t.Run("it ends with its context", func(t *testing.T) {
		p := newProject(t, map[string]string{LockFile: lockOf("acme", oneFile), VendorDir + "/acme/x": "1"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Check(ctx, p.tree, Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("folders without end", func(t *testing.T) {
		p := newProject(t, map[string]string{LockFile: lockOf("acme", oneFile), VendorDir + "/acme/" + strings.Repeat("d/", maxDepth) + "x": ""})
		if _, err := Check(t.Context(), p.tree, Limits{}); err == nil || !strings.Contains(err.Error(), "deeper than 100 folders") {
			t.Errorf("%v", err)
		}
	})
}

func TestParseLock(t *testing.T) {
	got, err := ParseLock([]byte(lockOf("acme", oneFile, "Beta_2", emptyTree) + "subdir = \"src\"\nextra = 1\n"))
	must(t, err)
	zeros := strings.Repeat("0", 40)
	want := Lock{
		"acme":   {Git: "https://example.test/x.git", Commit: zeros, Hash: oneFile},
		"Beta_2": {Git: "https://example.test/x.git", Commit: zeros, Hash: emptyTree, Subdir: "src"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		reason, text string
		mentions     []string
	}{
		{"a lock that is no TOML has a place", "[components.acme\n", []string{"atlantide.lock", "line 1"}},
		{"a path as an alias", lockOf("'../x'", oneFile), []string{"'../x'", "alias"}},
		{"an empty alias", lockOf("''", oneFile), []string{"''", "alias"}},
		{"an alias that is no name", lockOf("9a", oneFile), []string{"'9a'"}},
		{"an alias longer than a name", lockOf(strings.Repeat("a", model.MaxName+1), oneFile), []string{"alias", "at most"}},
		{"a branch for a commit", strings.Replace(lockOf("acme", oneFile), strings.Repeat("0", 40), "main", 1), []string{"'acme'", "'main'", "hex digits"}},
		{"a commit in short", strings.Replace(lockOf("acme", oneFile), strings.Repeat("0", 40), "0000000", 1), []string{"'acme'", "'0000000'"}},
		{"components that are no table", "components = 3", []string{"an integer"}},
		{"an entry that is no table", "components.acme = \"x\"", []string{"'acme'", "a string"}},
		{"no hash", "[components.acme]\ngit = \"x\"\ncommit = \"y\"\n", []string{"'acme'", "'hash'", "lock it again"}},
		{"a commit that is a number", "[components.acme]\ngit = \"x\"\ncommit = 7\n", []string{"'acme'", "'commit'"}},
		{"a subdir that is a list", lockOf("acme", oneFile) + "subdir = []\n", []string{"'acme'", "'subdir'", "an array"}},
		{"an outdated hash", lockOf("acme", "sha256:00"), []string{"'acme'", "outdated", "'sha256:'", "sha256.v2:"}},
		{"an older one without a name", lockOf("acme", strings.Repeat("0", 64)), []string{"'acme'", "outdated"}},
		{"a hash cut off", lockOf("acme", oneFile[:20]), []string{"'acme'", "64 hex digits"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := ParseLock([]byte(c.text))
			for _, word := range c.mentions {
				if err == nil || !strings.Contains(err.Error(), word) || model.KindOf(err) != model.ComponentError {
					t.Errorf("%v lacks %q", err, word)
				}
			}
		})
	}
}

func TestReadLock(t *testing.T) {
	for _, c := range []struct {
		reason   string
		files    map[string]string
		mentions string // "" = it reads
	}{
		{"no file is an empty lock", nil, ""},
		{"a link is not followed", map[string]string{"real": lockOf("a", oneFile), LockFile + "@": "real"}, "not a plain file"},
		{"a pipe is not opened", map[string]string{LockFile + "|": ""}, "not a plain file"},
		{"a folder", map[string]string{LockFile + "/": ""}, "not a plain file"},
		{"one that is too large", map[string]string{LockFile: strings.Repeat("#", maxLockBytes+1)}, "larger than"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			lock, err := ReadLock(newProject(t, c.files).tree)
			if c.mentions == "" {
				if err != nil || len(lock) > 0 {
					t.Errorf("%v, %v", lock, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.mentions) {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add(lockOf("acme", oneFile))
	f.Add("[components.acme]\nhash = 'sha256:")
	f.Fuzz(func(t *testing.T, text string) {
		lock, err := ParseLock([]byte(text))
		if err != nil && model.KindOf(err) != model.ComponentError {
			t.Errorf("%v is a %s", err, model.KindOf(err))
		}
		for alias, pin := range lock {
			if !model.ValidAlias(alias) || !hashForm.MatchString(pin.Hash) || pin.Git == "" || !model.ValidCommit(pin.Commit) {
				t.Errorf("'%s' is pinned to %+v", alias, pin)
			}
		}
	})
}
