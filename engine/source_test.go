package engine_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

func (d *desk) compileWith(tree fs.FS, text string) (*ir.Compilation, error) {
	return d.engine.Compile(d.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{Source: tree})
}

// applyWith applies a config that came with these files.
func (d *desk) applyWith(files map[string]string, text string) *engine.Result {
	d.Helper()
	c, err := d.compileWith(sourcetree.Texts(files), text)
	if err != nil {
		d.Fatal(err)
	}
	res, err := d.engine.Apply(d.Context(), engine.ApplyRequest{
		Compilation: c, Partition: partition, Store: d.store, Locker: d.locker, Owner: owner, OnFailure: plan.OnFailureHalt,
	})
	if err != nil {
		d.Fatal(err)
	}
	return res
}

// A SourceFile is the file of the tree that the config was compiled with, also for the
// provider.
func TestSourceFileFollowsTheTree(t *testing.T) {
	const (
		imports = "from atlantide.providers.local import File, SourceFile\n"
		both    = imports + "src = SourceFile('src', path='conf/motd.txt')\nFile('copy', path='out.txt', content=src.content)\n"
	)
	d := newDesk(t)
	first := map[string]string{"infra.py": both, "conf/motd.txt": "one\n"}
	d.applyWith(first, both)
	d.wantFiles(map[string]string{"out.txt": "one\n"})

	if res := d.applyWith(first, both); res.Report != nil {
		t.Errorf("the same tree again did %v", res.Report)
	}
	drift, err := d.engine.Refresh(t.Context(), engine.RefreshRequest{
		Snapshot: d.snapshot(), Owner: owner, Source: sourcetree.Texts(map[string]string{"conf/motd.txt": "other\n"}),
	})
	if err != nil || len(drift.Nodes) != 2 || len(drift.Nodes[1].Changed) != 1 {
		t.Errorf("drift %+v, %v; want the content of the source file", drift, err)
	}
	second := d.applyWith(map[string]string{"conf/motd.txt": "two\n"}, both)
	if diff := cmp.Diff([]string{"default:local.SourceFile:src", "default:local.File:copy"}, second.Report.Updated); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	d.wantFiles(map[string]string{"out.txt": "two\n"})
	d.applyWith(nil, imports+"File('copy', path='out.txt', content='kept')\n")
	d.wantFiles(map[string]string{"out.txt": "kept"})
}

// What cannot be read is an error of the config, at its line.
func TestWhatCannotBeFilled(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir+"/site", 0o755))
	must(os.WriteFile(dir+"/site/index.html", []byte("x"), 0o644))
	must(os.WriteFile(dir+"/bytes", []byte{0xff}, 0o644))
	must(os.Symlink("index.html", dir+"/site/link.html"))
	must(os.Symlink("site", dir+"/linked"))
	tree, err := sourcetree.OpenFolder(dir)
	must(err)
	defer tree.Close()
	const (
		source = "from atlantide.providers.local import SourceFile\nSourceFile('s', path="
		lambda = "from atlantide.providers.aws import LambdaFunction\nLambdaFunction('f', function_name='f', role_arn='a', region='r', code_path="
		folder = "from atlantide.providers.aws import S3Folder\nS3Folder('f', bucket='b', region='r', source_path="
	)
	d := newDesk(t).withAll()
	for _, c := range []struct {
		reason, config string
		says           []string
	}{
		{"missing", source + "'none')", []string{"local.SourceFile 's'", "checksum", "path", "'none' is not there"}},
		{"no text", source + "'bytes')", []string{"'bytes'", "UTF-8"}},
		{"a folder", source + "'site')", []string{"'site' is a folder"}},
		{"out of the tree", source + "'../x')", []string{"'../x' is outside"}},
		{"an empty path", source + "'')", []string{"empty"}},
		{"a link", source + "'linked/index.html')", []string{"'linked' is a link"}},
		{"a package that is a link", lambda + "'linked')", []string{"code_sha256", "'linked' is a link"}},
		{"a link in a package", lambda + "'site')", []string{"aws.LambdaFunction 'f'", "'site/link.html' is a link"}},
		{"a link in a folder to upload", folder + "'site')", []string{"manifest", "'site/link.html' is a link"}},
		{"a file to upload as a folder", folder + "'bytes')", []string{"'bytes' is a file"}},
		{"a package from nowhere", lambda + "'/etc')", []string{"'/etc' is outside"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := d.compileWith(tree, c.config)
			var typed *model.Error
			if !errors.As(err, &typed) || typed.Kind != model.LanguageError || typed.Class != model.ClassUser || typed.Line != 2 || typed.Col != 1 {
				t.Fatalf("error %v, want a LanguageError at 2:1", err)
			}
			for _, s := range c.says {
				if !strings.Contains(typed.Message, s) {
					t.Errorf("%q lacks %q", typed.Message, s)
				}
			}
			if strings.Contains(typed.Message, dir) {
				t.Errorf("%q names a folder of the machine", typed.Message)
			}
		})
	}
}

// A component as it is published: it runs unmodified, from the source tree.
func TestPublishedComponent(t *testing.T) {
	tree, err := sourcetree.OpenFolder("testdata/website")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	text, err := os.ReadFile("testdata/website/infra.py")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t).withAll()
	c, err := d.compileWith(tree, string(text))
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]map[string]any{}
	for i := range c.Document.Nodes {
		nodes[c.Document.Nodes[i].ID] = c.Document.Nodes[i].Properties
	}
	want := []string{
		"prod:aws.CloudFrontDistribution:www-cdn", "prod:aws.OriginAccessControl:www-access", "prod:aws.S3Bucket:www-bucket",
		"prod:aws.S3BucketPolicy:www-policy", "prod:aws.S3Folder:www-files",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(nodes))); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	manifest, _ := nodes["prod:aws.S3Folder:www-files"]["manifest"].(map[string]any)
	if diff := cmp.Diff([]string{"css/site.css", "index.html"}, slices.Sorted(maps.Keys(manifest))); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	url := map[string]any{"$transform": map[string]any{
		"op": "concat", "args": []any{"https://", map[string]any{"$ref": "prod:aws.CloudFrontDistribution:www-cdn#domain_name"}},
	}}
	if diff := cmp.Diff([]ir.Output{{Key: "prod:url", Value: url}}, c.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}

	for _, f := range []struct{ reason, config, says string }{
		{"no region anywhere", "Website('www', source='public', bucket='acme-www')", "Website 'www' has no region"},
		{"an error of a private module", "Website('w' * 41, source='public', bucket='b', region='r')", "_names.py, line 11"},
	} {
		t.Run(f.reason, func(t *testing.T) {
			_, err := d.compileWith(tree, "from atlantide.components.acme.website import Website\n"+f.config)
			var typed *model.Error
			if !errors.As(err, &typed) || typed.Kind != model.RegistryError || typed.Line != 2 || !strings.Contains(typed.Error(), f.says) {
				t.Errorf("error %v, want a RegistryError at line 2 with %q", err, f.says)
			}
		})
	}
}

func TestSecureBucket(t *testing.T) {
	d := newDesk(t).withAll()
	for _, c := range []struct {
		reason, config string
		kind           model.Kind // "" = compiles
		says           string
	}{
		{"from the submodule", "from atlantide.providers.aws.components import SecureBucket\nSecureBucket('w', bucket='abc', region='r')", "", ""},
		{"no region", "from atlantide.providers.aws import SecureBucket\nSecureBucket('w', bucket='abc')", model.RegistryError, "region"},
		{"no further keywords", "from atlantide.providers.aws import SecureBucket\nSecureBucket('w', bucket='abc', region='r', tags={})", model.LanguageError, "'tags'"},
		{"the module of the source is not its name", "from atlantide.providers.aws.securebucket import child", model.LanguageError, "child"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := d.compileWith(nil, c.config)
			if c.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantKind(t, err, c.kind, c.says)
		})
	}
}
