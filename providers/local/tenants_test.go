package local_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers/local"
)

var badTenantPaths = []struct{ reason, path, says string }{
	{"empty", "", "empty"},
	{"absolute", "/etc/passwd", "absolute"},
	{"up", "../other", "'..'"},
	{"up in the middle, though it stays inside", "a/../b", "'..'"},
	{"a dot", "./a", "'.'"},
	{"double slash", "a//b", "empty part"},
	{"trailing slash", "a/", "empty part"},
	{"NUL", "a\x00", "control character"},
	{"newline", "a\nb", "control character"},
	{"a C1 control", "a\u0085b", "control character"},
	{"backslash", `a\b`, "backslash"},
	{"not UTF-8", "a\xff", "not UTF-8"},
	{"a long part", strings.Repeat("x", 256), "256 bytes"},
	{"a long path", strings.Repeat("abc/", 300) + "x", "more than the 1024"},
	{"a device of Windows", "out/nul.txt", "device name"},
	{"another", "COM1", "device name"},
	{"the form of a temporary", ".atlantide-0123456789abcdef.tmp", "temporary"},
}

func TestTenantPaths(t *testing.T) {
	ctx := context.Background()
	r := roots(t)[1]
	for _, c := range badTenantPaths {
		t.Run(c.reason, func(t *testing.T) {
			req := file(c.path, "x")
			err := r.provider.Validate(ctx, []*model.Request{req})
			wantError(t, err, c.says)
			if model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), req.Node.ID) {
				t.Errorf("%v: class %v; want a user error that names the node", err, model.ClassOf(err))
			}
			_, err = r.provider.Create(ctx, req)
			wantError(t, err, c.says)
			_, _, err = r.provider.Read(ctx, req)
			wantError(t, err, c.says)
			req.Prior = &model.Prior{Outputs: map[string]any{"path": c.path}}
			wantError(t, r.provider.Delete(ctx, req), c.says)
		})
	}
	wantTree(t, filepath.Dir(filepath.Dir(r.dir)), map[string]string{"team-a/": "", owner + "/": ""})
}

func TestTenantPathsThatAreGood(t *testing.T) {
	r := roots(t)[1]
	for _, path := range []string{"a", "out/greeting.txt", "...", "a..b", ".hidden", "ünï/コード", "con-fig", strings.Repeat("x", 255)} {
		req := file(path, "x")
		must(t, r.provider.Validate(context.Background(), []*model.Request{req}))
		if _, err := r.provider.Create(context.Background(), req); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTenantOwners(t *testing.T) {
	dataRoot := t.TempDir()
	p := local.NewTenants(dataRoot, local.Quota{})
	for _, bad := range []string{"", "ns", "ns/", "/uid", "../uid", "ns/..", "ns/a/b", "ns/a\x00", "n.s/uid", "-ns/uid", "ns/" + strings.Repeat("a", 64)} {
		req := file("a", "x")
		req.Owner = bad
		_, err := p.Create(context.Background(), req)
		wantError(t, err, "owner")
	}
	wantTree(t, dataRoot, map[string]string{})
	for _, other := range []string{"ns/one", "ns/two"} {
		req := file("a", other)
		req.Owner = other
		_, err := p.Create(context.Background(), req)
		must(t, err)
	}
	wantTree(t, dataRoot, map[string]string{"ns/": "", "ns/one/": "", "ns/two/": "", "ns/one/a": "ns/one", "ns/two/a": "ns/two"})
}

func TestTenantConflictsAtPlan(t *testing.T) {
	reference := model.Reference{NodeID: "s:local.File:a", Output: "path"}.Marker()
	for _, c := range []struct {
		reason string
		paths  []any
		says   string
	}{
		{"two files of one path", []any{"a", "b", "a"}, "also the path of"},
		{"a file in the way of another's folder", []any{"a/b/c", "x", "a/b"}, "leads through 'a/b'"},
		{"names that begin alike are apart", []any{"a", "a.txt", "ab/c", "a-b"}, ""},
		{"what comes from a reference is judged in the call", []any{reference, reference}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var nodes []*model.Request
			for i, path := range c.paths {
				r := file(path, "x")
				r.Node = model.NodeOf(fmt.Sprintf("s:local.File:n%d", i))
				nodes = append(nodes, r)
			}
			nodes = append(nodes, &model.Request{Node: model.NodeOf("s:local.Null:z"), Inputs: map[string]any{}})
			err := roots(t)[1].provider.Validate(context.Background(), nodes)
			if c.says == "" {
				must(t, err)
				return
			}
			wantError(t, err, c.says)
		})
	}
}

func TestTenantQuota(t *testing.T) {
	ctx := context.Background()
	dataRoot := t.TempDir()
	p := local.NewTenants(dataRoot, local.Quota{FileBytes: 10, Files: 3, TotalBytes: 20})
	put := func(path, content string) error {
		_, err := p.Create(ctx, file(path, content))
		return err
	}
	wantError(t, put("a", strings.Repeat("x", 11)), "more than the 10 allowed")
	must(t, put("a", strings.Repeat("x", 10)))
	must(t, put("d/b", strings.Repeat("x", 10)))
	must(t, put("d/b", strings.Repeat("y", 10))) // a rewrite counts once
	wantError(t, put("c", "x"), "more than the 20 allowed")
	must(t, put("c", ""))
	wantError(t, put("e", ""), "one file more than the 3 allowed")
	must(t, p.Delete(ctx, file("c", "")))
	must(t, put("e", ""))

	var declared []*model.Request
	for i := range 4 {
		declared = append(declared, file(fmt.Sprintf("f%d", i), ""))
	}
	wantError(t, p.Validate(ctx, declared), "declares 4 files")
	must(t, p.Validate(ctx, declared[:3]))
	wantError(t, p.Validate(ctx, []*model.Request{file("a", strings.Repeat("x", 11))}), "more than the 10")
	big := strings.Repeat("x", 10)
	wantError(t, p.Validate(ctx, []*model.Request{file("a", big), file("b", big), file("c", "x")}), "together")
}

func TestTenantQuotaHoldsUnderConcurrency(t *testing.T) {
	p := local.NewTenants(t.TempDir(), local.Quota{Files: 5})
	results := make(chan error, 20)
	var writers sync.WaitGroup
	for i := range cap(results) {
		writers.Go(func() {
			_, err := p.Create(context.Background(), file(fmt.Sprintf("d%d/f", i), "x"))
			results <- err
		})
	}
	writers.Wait()
	close(results)
	written := 0
	for err := range results {
		if err == nil {
			written++
		}
	}
	if written != 5 {
		t.Errorf("%d files were written, want the 5 allowed", written)
	}
}

func TestTenantsWithoutADataRoot(t *testing.T) {
	p := local.NewTenants("", local.Quota{})
	wantError(t, p.Validate(context.Background(), []*model.Request{file("a", "x")}), "--local-data-root")
	_, err := p.Create(context.Background(), file("a", "x"))
	wantError(t, err, "--local-data-root")
	null := &model.Request{Node: model.NodeOf("s:local.Null:n"), Inputs: map[string]any{"triggers": map[string]any{}}}
	must(t, p.Validate(context.Background(), []*model.Request{null}))
	if _, err := p.Create(context.Background(), null); err != nil {
		t.Errorf("Null needs no data root: %v", err)
	}
}
