package ir_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/ir/irtest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Every recorded file is read, holds the document of its vector and is written again
// byte for byte.
func TestArtifactVectors(t *testing.T) {
	for _, v := range irtest.Vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			file := irtest.ReadFile(t, filepath.Join(v.Dir, "artifact.atlas"))
			a, err := ir.ReadArtifact(file, ir.ArtifactLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if a.Hash != v.Expected["ir_hash"] {
				t.Errorf("hash %s, want %s", a.Hash, v.Expected["ir_hash"])
			}
			if diff := cmp.Diff(v.Document.Stored(), a.Document.Stored()); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
			written := encode(t, a)
			if diff := cmp.Diff(string(file), string(written)); diff != "" {
				t.Errorf("written again (-want +got):\n%s", diff)
			}
			sum := sha256.Sum256(written)
			if got := hex.EncodeToString(sum[:]); got != v.Expected["artifact_sha256"] {
				t.Errorf("checksum %s, want %s", got, v.Expected["artifact_sha256"])
			}
			if _, err := a.Compilation(irtest.Texts(v.Expected["order"])); err != nil {
				t.Errorf("no compilation: %v", err)
			}
		})
	}
}

func encode(t rapid.TB, a *ir.Artifact) []byte {
	data, err := a.Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A release that writes empty lists of environments means the same file.
func TestArtifactWithEmptyEnvironments(t *testing.T) {
	a := readEdited(t, map[string]any{"envs": []any{}, "envs_declared": []any{}})
	if data := encode(t, a); bytes.Contains(data, []byte(`"envs`)) || len(a.EnvsDeclared)+len(a.EnvsSelected) > 0 {
		t.Errorf("environments %v of %v in\n%s", a.EnvsSelected, a.EnvsDeclared, data)
	}
}

func readEdited(t *testing.T, members map[string]any) *ir.Artifact {
	t.Helper()
	file := sample(t)
	maps.Copy(file, members)
	a, err := ir.ReadArtifact(text(t, file), ir.ArtifactLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sample is the file of two nodes and an output, as decoded JSON.
func sample(t testing.TB) map[string]any {
	t.Helper()
	a := sampleArtifact(t)
	var file map[string]any
	if err := json.Unmarshal(encode(t, a), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func sampleArtifact(t rapid.TB) *ir.Artifact {
	doc, _ := chain(2)
	return artifactOf(t, doc)
}

func artifactOf(t rapid.TB, doc *ir.Document) *ir.Artifact {
	hash, err := doc.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return ir.NewArtifact(&ir.Compilation{
		Document: doc, Hash: hash, Pins: map[string]string{"local": "1.0.0"},
		Outputs:  []ir.Output{{Key: "s:sum", Value: model.Reference{NodeID: "s:local.File:n00000", Output: "checksum"}.Marker()}},
		Policies: []ir.PolicyBinding{{Name: "require-tags", Level: "mandatory", Types: []string{"b.C", "a.B"}}},
	}, map[string]string{"acme": strings.Repeat("0a", 20)})
}

func text(t testing.TB, file any) []byte {
	t.Helper()
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// at is the object at a path in decoded JSON: keys and indices.
func at(v any, path ...any) map[string]any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v.(map[string]any)
}

// edit changes a good file so that it is not one any more.
type edit func(file map[string]any)

func set(value any, key string, path ...any) edit {
	return func(file map[string]any) { at(file, path...)[key] = value }
}

func drop(key string, path ...any) edit {
	return func(file map[string]any) { delete(at(file, path...), key) }
}

func nested(levels int) any {
	v := any("x")
	for range levels {
		v = []any{v}
	}
	return v
}

func TestHostileArtifacts(t *testing.T) {
	first, second := []any{"ir", "nodes", 0}, []any{"ir", "nodes", 1}
	cases := []struct {
		why  string
		edit edit
		says string // in the error
	}{
		{"tampered: a property", set("x", "path", "ir", "nodes", 0, "properties"), "changed after it was built"},
		{"tampered: the hash", set(strings.Repeat("0", 64), "ir_hash"), "changed after it was built"},
		{"tampered: a guard that is gone is a change too", set(true, "prevent_destroy", first...), "changed after it was built"},
		{"another format is said to be one before anything else", set(2.0, "format_version"), "format_version 2, and this release reads 1"},
		{"a format in words", set("1", "format_version"), "'1'"},
		{"a format that is no integer", set(1.5, "format_version"), "1.5"},
		{"no format", drop("format_version"), "no format_version"},
		{"another version of the IR", set(2.0, "version", "ir"), "version 2"},
		{"no version of the IR (T-129d)", drop("version", "ir"), "ir has no version"},
		{"no IR", drop("ir"), "no ir"},
		{"no policies (T-129d)", drop("policies"), "no policies"},
		{"no outputs (T-129d)", drop("outputs"), "no outputs"},
		{"no component pins (T-129d)", drop("component_pins"), "no component_pins"},
		{"no provider pins", drop("provider_pins"), "no provider_pins"},
		{"no hash", drop("ir_hash"), "no ir_hash"},
		{"a key that may mean something to another release", set(nil, "signed"), `"signed"`},
		{"so also in a node", set(true, "skip_destroy", second...), `"skip_destroy"`},
		{"so also in the IR", set(1, "nodes2", "ir"), `"nodes2"`},
		{"so also in a policy", set(1, "unless", "policies", 0), `"unless"`},
		{"nodes that are no list", set(map[string]any{}, "nodes", "ir"), "ir.nodes is not a list"},
		{"a node that is no object", set([]any{"x"}, "nodes", "ir"), "ir.nodes[0] is not an object"},
		{"a node without properties", drop("properties", first...), "no properties"},
		{"properties that are null", set(nil, "properties", first...), "properties is not an object"},
		{"an unknown kind (GR-2)", set("module", "kind", first...), `kind "module"`},
		{"a kind that is null", set(nil, "kind", first...), "kind is not a text"},
		{"a flag in words", set("yes", "prevent_destroy", first...), "prevent_destroy is not true or false"},
		{"an id of another type", set("s:local.Null:n00000", "id", first...), "which is not the name of a stack"},
		{"an id with more parts", set("s:local.File:a:b", "id", first...), "which is not the name of a stack"},
		{"an id with a newline", set("s:local.File:a\n", "id", first...), `a\n`},
		{"an id that is empty", set("", "id", first...), "which is not the name of a stack"},
		{"an id too long", set("s:local.File:"+strings.Repeat("n", 1100), "id", first...), "which is not the name of a stack"},
		{"a type of another provider", set("aws", "provider", first...), `none of the provider "aws"`},
		{"nodes out of order", func(f map[string]any) { slices.Reverse(f["ir"].(map[string]any)["nodes"].([]any)) }, "not behind"},
		{"a node twice", func(f map[string]any) {
			nodes := at(f, "ir")["nodes"].([]any)
			at(f, "ir")["nodes"] = []any{nodes[0], nodes[0]}
		}, "not behind"},
		{"an edge into nothing", set([]any{"s:local.File:gone"}, "depends_on", second...), `depends on "s:local.File:gone"`},
		{"a reference into nothing", set(map[string]any{"$ref": "s:local.File:gone#x"}, "content", "ir", "nodes", 1, "properties"), "are not the nodes"},
		{"a reference without its edge", set([]any{}, "dependencies", second...), "are not the nodes that its properties refer to"},
		{"an edge without its reference", set([]any{"s:local.File:n00001"}, "dependencies", first...), "are not the nodes"},
		{"edges out of order", set([]any{"s:local.File:n00001", "s:local.File:n00000"}, "depends_on", first...), "not sorted"},
		{"an edge that is no text", set([]any{1}, "depends_on", first...), "not a text"},
		{"an empty alias", set([]any{""}, "aliases", first...), "no empty text"},
		{"a pin that is no text", set(1, "local", "provider_pins"), "not a text"},
		{"a component that is no commit", set("main", "acme", "component_pins"), "not the alias of a component with a commit"},
		{"a component whose alias is none", set(strings.Repeat("0", 40), "a/../b", "component_pins"), "not the alias"},
		{"a level that would be taken for none", set("Mandatory", "level", "policies", 0), `level is "Mandatory"`},
		{"a filter that matches nothing", set([]any{}, "types", "policies", 0), "would judge nothing"},
		{"parameters that are no object", set([]any{}, "params", "policies", 0), "params is not an object"},
		{"parameters that have no digest", set(json.Number("9007199254740993"), "n", "policies", 0, "params"), "9007199254740993"},
		{"an output of no stack", set(1, "sum", "outputs"), "is not the name of a stack"},
		{"an output that reads what is not there", set(map[string]any{"$ref": "s:local.File:gone#checksum"}, "s:sum", "outputs"), `"s:sum" refers to "s:local.File:gone"`},
		{"so also deep inside", set([]any{map[string]any{"a": map[string]any{"$ref": "s:local.File:gone#checksum"}}}, "s:sum", "outputs"), `"s:sum" refers to "s:local.File:gone"`},
		{"an output that has no digest", set(json.Number("9007199254740993"), "s:n", "outputs"), "9007199254740993"},
		{"an integer no config can have", set(json.Number("9007199254740993"), "n", "ir", "nodes", 0, "properties"), "9007199254740993"},
		{"an integer beyond 64 bits", set(json.Number(strings.Repeat("9", 60)), "n", "ir", "nodes", 0, "properties"), "out of range"},
		{"a number no double holds", set(json.Number("1e999"), "n", "ir", "nodes", 0, "properties"), "out of range"},
		{"environments without those declared: X-16 of 0.3", set([]any{"prod"}, "envs"), "--env"},
		{"environments of which none is declared", func(f map[string]any) { f["envs"], f["envs_declared"] = []any{"prod"}, []any{} }, "--env"},
		{"no environment of those declared", set([]any{"prod"}, "envs_declared"), "covers none"},
		{"an environment that is not declared", func(f map[string]any) { f["envs"], f["envs_declared"] = []any{"qa"}, []any{"prod"} }, `"qa"`},
		{"environments out of order", func(f map[string]any) { f["envs"], f["envs_declared"] = []any{"prod"}, []any{"prod", "dev"} }, "in order"},
		{"an environment that is no name", func(f map[string]any) { f["envs"], f["envs_declared"] = []any{"a:b"}, []any{"a:b"} }, "in order"},
		{"nested too deeply", set(nested(1100), "deep", "ir", "nodes", 0, "properties"), "deeper than 1024 levels"},
	}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			file := sample(t)
			tc.edit(file)
			refused(t, text(t, file), ir.ArtifactLimits{}, model.ArtifactError, tc.says)
		})
	}
}

// refused wants an error of the user's, and nothing else.
func refused(t *testing.T, data []byte, limits ir.ArtifactLimits, kind model.Kind, says string) {
	t.Helper()
	a, err := ir.ReadArtifact(data, limits)
	if a != nil || !model.IsKind(err, kind) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), says) {
		t.Errorf("gave %v and %v; want nothing and the %s %q", a, err, kind, says)
	}
}

func TestHostileArtifactTexts(t *testing.T) {
	good := string(encode(t, sampleArtifact(t)))
	put := func(property string) string {
		return strings.Replace(good, `"path":`, property+`, "path":`, 1)
	}
	for _, tc := range []struct {
		why, data string
		limits    ir.ArtifactLimits
		kind      model.Kind
		says      string
	}{
		{why: "nothing", data: "", says: "not JSON"},
		{why: "no JSON", data: "no JSON", says: "not JSON"},
		{why: "no object", data: "[]", says: "not a JSON object"},
		{why: "null", data: "null", says: "not a JSON object"},
		{why: "more after the end", data: good + "{}", says: "not JSON"},
		{why: "a key twice", data: put(`"path": "x"`), says: `"path" twice`},
		{why: "a key twice, escaped", data: put(`"\u0070ath": "x"`), says: `"path" twice`},
		{why: "a key twice at the top", data: strings.Replace(good, `"outputs":`, `"outputs": {}, "outputs":`, 1), says: `"outputs" twice`},
		{why: "bytes that are not UTF-8", data: put("\"x\": \"\xff\""), says: "not UTF-8"},
		{why: "a mark of byte order", data: "\ufeff" + good, says: "not JSON"},
		{why: "a lone surrogate is an IRError (cli.md 15)", data: put(`"x": "\ud800"`), kind: model.IRError, says: "lone surrogate"},
		{why: "the second half alone", data: put(`"x": "\udc00\ud800"`), kind: model.IRError, says: "lone surrogate"},
		{why: "the first half before another escape", data: put(`"x": "\ud800\n"`), kind: model.IRError, says: "lone surrogate"},
		{why: "the first half at the end of a file", data: `"\ud800`, says: "not JSON"},
		{why: "a pair is not alone, nor is an escaped backslash an escape", data: put(`"x": "\ud83d\ude00\\ud800"`), says: "changed after it was built"},
		{why: "brackets without end", data: strings.Repeat("[", 200_000), says: "not JSON"},
		{why: "larger than what is read", data: good, limits: ir.ArtifactLimits{MaxBytes: len(good) - 1}, says: "more than the"},
		{why: "more nodes than are read", data: good, limits: ir.ArtifactLimits{MaxNodes: 1}, says: "2 nodes"},
		{why: "more values than there is memory for", data: "[" + strings.Repeat("[],", 5_000_000) + "[]]", says: "more than 3000000 values"},
		{why: "a comment", data: "// x\n" + good, says: "not JSON"},
		{why: "NaN", data: put(`"x": NaN`), says: "not JSON"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			kind := tc.kind
			if kind == "" {
				kind = model.ArtifactError
			}
			refused(t, []byte(tc.data), tc.limits, kind, tc.says)
		})
	}
	for cut := range len(good) {
		if _, err := ir.ReadArtifact([]byte(good[:cut]), ir.ArtifactLimits{}); !model.IsKind(err, model.ArtifactError) {
			t.Errorf("cut at byte %d: error %v; want an ArtifactError", cut, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	with := func(value any) *ir.Artifact {
		a := sampleArtifact(t)
		a.Outputs[0].Value = value
		return a
	}
	for _, tc := range []struct {
		why      string
		artifact *ir.Artifact
		max      int
		kind     model.Kind
		says     string
	}{
		{"more bytes than asked for", sampleArtifact(t), 100, model.ArtifactError, "more than 100 bytes"},
		{"nesting, whose indentation would fill the disk", with(nested(5000)), 0, model.ArtifactError, "nested deeper"},
		{"text that is not UTF-8", with("\xff"), 0, model.IRError, "lone surrogate"},
		{"a type that no config gives", with(struct{}{}), 0, model.IRError, "struct {}"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			if _, err := tc.artifact.Encode(tc.max); !model.IsKind(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v; want the %s %q", err, tc.kind, tc.says)
			}
		})
	}
}

// The written form of every scalar that is not plain.
func TestArtifactScalars(t *testing.T) {
	a := sampleArtifact(t)
	a.Outputs[0].Value = []any{nil, true, int64(-3), 1.0, -0.5, 1e21, 1e-7, "\x00\b\t\n\f\r\"\\/\x1f\x7f é\u2028\U0001F600", []any{}, map[string]any{}}
	want := `[
      null,
      true,
      -3,
      1.0,
      -0.5,
      1e+21,
      1e-07,
      "\u0000\b\t\n\f\r\"\\/\u001f\u007f \u00e9\u2028\ud83d\ude00",
      [],
      {}
    ]`
	if data := string(encode(t, a)); !strings.Contains(data, want) {
		t.Errorf("%s\nlacks %s", data, want)
	}
}

// artifacts draws artifacts whose values are anything that a config can give.
func artifacts(t *rapid.T) *ir.Artifact {
	doc, _ := chain(rapid.IntRange(0, 4).Draw(t, "nodes"))
	name := rapid.StringMatching(`[a-z][a-z0-9_]{0,8}`)
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		n.Properties["value"] = jsonValue(3).Filter(func(v any) bool { return !model.HasHandle(v) }).Draw(t, "value")
		n.PreventDestroy = rapid.Bool().Draw(t, "guard")
		n.CreateBeforeDestroy = rapid.Bool().Draw(t, "create first")
		n.Aliases = rapid.SliceOfN(name, 0, 2).Draw(t, "aliases")
		n.IgnoreChanges = rapid.SliceOfN(name, 0, 2).Draw(t, "ignored")
		if rapid.Bool().Draw(t, "data") {
			n.Kind = model.KindData
		}
	}
	a := artifactOf(t, doc)
	a.Outputs = nil
	for _, key := range sortedDistinct(rapid.SliceOfN(name, 0, 3).Draw(t, "outputs")) {
		a.Outputs = append(a.Outputs, ir.Output{Key: "s:" + key, Value: jsonValue(3).Draw(t, "output")})
	}
	a.Policies[0].Params = map[string]any{"p": jsonValue(2).Draw(t, "params")}
	a.EnvsDeclared = sortedDistinct(rapid.SliceOfN(name, 0, 3).Draw(t, "environments"))
	a.EnvsSelected = a.EnvsDeclared[:min(1, len(a.EnvsDeclared))]
	return a
}

func sortedDistinct(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// Law: what was written reads back as it was, and is written the same again.
func TestLawArtifactsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := artifacts(t)
		data := encode(t, a)
		back, err := ir.ReadArtifact(data, ir.ArtifactLimits{})
		if err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		if again := encode(t, back); !bytes.Equal(data, again) {
			t.Fatalf("-%s\n+%s", data, again)
		}
		if diff := cmp.Diff(a.Document.Stored(), back.Document.Stored()); diff != "" {
			t.Fatalf("document (-written +read):\n%s", diff)
		}
		if diff := cmp.Diff(a.Outputs, back.Outputs); diff != "" && len(a.Outputs) > 0 {
			t.Fatalf("outputs (-written +read):\n%s", diff)
		}
	})
}

// Law: a document that was changed anywhere does not pass for the one that was built.
func TestLawAChangedArtifactIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := encode(t, artifacts(t))
		from := bytes.Index(data, []byte(`"ir":`))
		to := bytes.Index(data, []byte("\n  \"ir_hash\""))
		at := rapid.IntRange(from, to-1).Draw(t, "at")
		changed := slices.Clone(data)
		changed[at] = rapid.Byte().Draw(t, "byte")
		a, err := ir.ReadArtifact(changed, ir.ArtifactLimits{})
		if err != nil {
			return
		}
		before, _ := ir.ReadArtifact(data, ir.ArtifactLimits{})
		for i := range before.Document.Nodes { // aliases are outside of the hash (GR-3)
			before.Document.Nodes[i].Aliases, a.Document.Nodes[i].Aliases = nil, nil
		}
		want, _ := before.Document.Canonical()
		if got, err := a.Document.Canonical(); err != nil || !bytes.Equal(want, got) {
			t.Fatalf("byte %d is %q now, and the file is taken: %s", at, changed[at], got)
		}
	})
}

// What loads is written in a form that loads as the same and is written the same again.
func FuzzReadArtifact(f *testing.F) {
	f.Add(encode(f, sampleArtifact(f)))
	f.Add([]byte(`{"component_pins":{},"format_version":1,"ir":{"nodes":[],"version":1},"ir_hash":"98199aa9d56b2f1cffd20b99cafaddf52b1760a7aa11af0c13e3ed68693e6351","outputs":{"a:b":[1.50,-0,1E2,"\u00e9\ud83d\ude00"]},"policies":[],"provider_pins":{},"envs":[]}`))
	f.Add([]byte(`{"format_version":1,"ir":{"nodes":[{"id":1}],"version":1}}`))
	for _, v := range irtest.Vectors(f) {
		if data := irtest.ReadFile(f, filepath.Join(v.Dir, "artifact.atlas")); len(data) < 8<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ir.ReadArtifact(data, ir.ArtifactLimits{MaxBytes: 1 << 20})
		if err != nil {
			if a != nil || !model.IsKind(err, model.ArtifactError) && !model.IsKind(err, model.IRError) {
				t.Fatalf("gave %v and %v", a, err)
			}
			return
		}
		written := encode(t, a)
		back, err := ir.ReadArtifact(written, ir.ArtifactLimits{})
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, written)
		}
		if again := encode(t, back); !bytes.Equal(written, again) {
			t.Fatalf("-%s\n+%s", written, again)
		}
	})
}

func BenchmarkArtifact10k(b *testing.B) {
	doc, _ := chain(10_000)
	a := artifactOf(b, doc)
	data := encode(b, a)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			encode(b, a)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := ir.ReadArtifact(data, ir.ArtifactLimits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
