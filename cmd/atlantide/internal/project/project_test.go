package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a new folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func opened(t *testing.T, text, profile string) *Project {
	t.Helper()
	p, err := Open(folder(t, map[string]string{FileName: text}), profile)
	must(t, err)
	return p
}

// refused checks that an error is a user's and mentions what it must.
func refused(t *testing.T, err error, mentions ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that mentions %q", mentions)
	}
	if model.ClassOf(err) != model.ClassUser || model.KindOf(err) != model.AtlantideError {
		t.Errorf("%v is a %s of class %s", err, model.KindOf(err), model.ClassOf(err))
	}
	for _, word := range mentions {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
}

func TestDiscovery(t *testing.T) {
	dir := folder(t, map[string]string{
		FileName: "config = 'top.py'", "a/b/x": "", "own/" + FileName: "config = 'own.py'", "odd/" + FileName + "/x": "",
	})
	for _, c := range []struct{ reason, working, root, file string }{
		{"the working directory's own", "own", "own", FileName},
		{"the nearest above", "a/b", ".", filepath.Join("..", "..", FileName)},
		{"a folder of that name is no project file", "odd", ".", filepath.Join("..", FileName)},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p, err := Open(filepath.Join(dir, c.working), "")
			must(t, err)
			if p.Root != filepath.Join(dir, c.root) || p.File != c.file {
				t.Errorf("root %s, file %s", p.Root, p.File)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		bare := t.TempDir()
		p, err := Open(bare, "any")
		must(t, err)
		if p.Root != bare || p.File != "" || p.Profile != "any" {
			t.Errorf("%+v", p)
		}
	})
}

func TestProjectFile(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		mentions     []string
	}{
		{"no TOML", "config = \"infra.py\"\nconfig = 1\n", []string{FileName, "(line 2, col 1)"}},
		{"not UTF-8", "config = \"\xff\"", []string{FileName, "line 1"}},
		{"too large", strings.Repeat("#", maxFileBytes+1), []string{FileName, "too large"}},
		{"too deep", "x" + strings.Repeat(".a", 60_000) + " = 1", []string{FileName, "levels deep"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := Open(folder(t, map[string]string{FileName: c.text}), "")
			refused(t, err, c.mentions...)
		})
	}
}

func TestProfiles(t *testing.T) {
	const text = `
config = "a.py"
[inputs]
n = 1
keep = "x"
[inputs.nested]
a = 1
b = [1, 2]
[lang]
fuel = 10
[profile.prod]
config = "prod.py"
[profile.prod.inputs]
n = "one"
[profile.prod.inputs.nested]
b = []
[profile.dev]
inputs = 3
[profile]
odd = 1
`
	for _, c := range []struct {
		profile, reason, config string
		inputs                  map[string]any
	}{
		{"", "no profile, no overlay", "a.py", map[string]any{"n": int64(1), "keep": "x", "nested": map[string]any{"a": int64(1), "b": []any{int64(1), int64(2)}}}},
		{"prod", "tables merge at every depth, other values are replaced", "prod.py", map[string]any{"n": "one", "keep": "x", "nested": map[string]any{"a": int64(1), "b": []any{}}}},
		{"dev", "what is no table replaces one, and then counts as absent", "a.py", map[string]any{}},
	} {
		t.Run("profile "+c.profile, func(t *testing.T) {
			p := opened(t, text, c.profile)
			in, err := p.Inputs(nil, nil)
			must(t, err)
			if diff := cmp.Diff(c.inputs, in.Values); diff != "" {
				t.Errorf("(-want +got): %s\n%s", c.reason, diff)
			}
			if got, _ := p.settings.text("config"); got != c.config {
				t.Errorf("config %q, want %q: %s", got, c.config, c.reason)
			}
			if _, ok := p.settings["profile"]; ok {
				t.Error("the profiles are still there")
			}
		})
	}
	_, err := Open(folder(t, map[string]string{FileName: text}), "pro")
	refused(t, err, "'pro'", FileName, "dev, prod")
	_, err = Open(folder(t, map[string]string{FileName: text}), "odd")
	refused(t, err, "'odd'")
	_, err = Open(folder(t, map[string]string{FileName: "profile = 1"}), "x")
	refused(t, err, "'x'", "none")
	if diff := cmp.Diff([]string{"dev", "prod"}, Profiles(folder(t, map[string]string{FileName: text}))); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	if got := Profiles(folder(t, map[string]string{FileName: "["})); got != nil {
		t.Errorf("a broken file lists %v", got)
	}
}

func TestFuel(t *testing.T) {
	for _, c := range []struct {
		text, reason string
		want         int64
		mentions     string
	}{
		{"", "absent", 0, ""},
		{"lang = 1", "a table of the wrong type is absent", 0, ""},
		{"[lang]\nfuel = 100000000", "the most", MaxFuel, ""},
		{"[lang]\nfuel = 0", "too few", 0, "not 0"},
		{"[lang]\nfuel = 100000001", "too many", 0, "100000000"},
		{"[lang]\nfuel = '5'", "a wrong type is no absence here", 0, "a string"},
		{"[lang]\nfuel = 5.0", "a float is no integer", 0, "a float"},
		{"[lang]\nfuel = true", "nor is a boolean", 0, "a boolean"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := opened(t, c.text, "").Fuel()
			if c.mentions != "" {
				refused(t, err, "[lang] fuel", FileName, c.mentions)
			} else if err != nil || got != c.want {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	dir := folder(t, map[string]string{FileName: "config = 'conf/infra.py'", "conf/infra.py": "root's", "sub/infra.py": "sub's", "sub/conf/infra.py": "decoy"})
	for _, c := range []struct{ reason, working, given, name, text string }{
		{"the argument starts at the working directory", "sub", "infra.py", "infra.py", "sub's"},
		{"the file's starts at the root", "sub", "", filepath.Join("..", "conf", "infra.py"), "root's"},
		{"at the root it is as it is written", ".", "", filepath.Join("conf", "infra.py"), "root's"},
		{"an absolute path", "sub", filepath.Join(dir, "conf/infra.py"), filepath.Join(dir, "conf/infra.py"), "root's"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p, err := Open(filepath.Join(dir, c.working), "")
			must(t, err)
			got, err := p.Config(c.given)
			must(t, err)
			if diff := cmp.Diff(Config{Name: c.name, Text: c.text}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("neither", func(t *testing.T) {
		for _, text := range []string{"", "config = 1", "config = ''"} {
			_, err := opened(t, text, "").Config("")
			refused(t, err, FileName)
		}
		p, err := Open(t.TempDir(), "")
		must(t, err)
		_, err = p.Config("")
		refused(t, err, FileName)
	})
	t.Run("an absolute one of the file", func(t *testing.T) {
		got, err := opened(t, "config = '"+filepath.Join(dir, "sub/infra.py")+"'", "").Config("")
		if err != nil || got.Text != "sub's" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestUnreadableConfig(t *testing.T) {
	dir := folder(t, map[string]string{"file": "", "sub/x": ""})
	must(t, os.WriteFile(filepath.Join(dir, "large.py"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(dir, "large.py"), 5<<30))
	must(t, os.Symlink("loop.py", filepath.Join(dir, "loop.py")))
	p, err := Open(dir, "")
	must(t, err)
	for _, c := range []struct{ reason, given, mentions string }{
		{"missing", "nowhere.py", "no such file"},
		{"a folder", "sub", "a folder"},
		{"below a file", "file/infra.py", "not a directory"},
		{"a circle of links", "loop.py", "levels of symbolic links"},
		{"5 GB without a block on disk", "large.py", "too large"},
		{"a name that no file can have", "a\x00.py", "invalid argument"},
		{"a name that is too long", strings.Repeat("a", 5000), "name too long"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := p.Config(c.given)
			refused(t, err, c.mentions)
			if strings.ContainsRune(err.Error(), 0) || len(err.Error()) > 400 {
				t.Errorf("%q", err)
			}
		})
	}
}
