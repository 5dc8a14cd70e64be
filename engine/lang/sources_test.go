package lang

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// fillSchemas declare one type with a field of each way to be filled.
func fillSchemas(t *testing.T) *model.Schemas {
	t.Helper()
	text := model.FieldType{Kind: model.KindString, Nullable: true}
	fields := []model.Field{{Name: "path", Type: text, Literal: true}}
	for name, kind := range map[string]model.FillKind{"text": model.FillText, "package": model.FillPackage} {
		fields = append(fields, model.Field{Name: name, Type: text, Default: "", Fill: &model.Fill{Kind: kind, From: "path"}})
	}
	fields = append(fields, model.Field{
		Name: "manifest", Default: map[string]any{}, Fill: &model.Fill{Kind: model.FillManifest, From: "folder"},
		Type: model.FieldType{Kind: model.KindMap, Elem: &text},
	}, model.Field{Name: "folder", Type: text, Literal: true})
	schemas, err := model.NewSchemas(&model.ProviderSchema{Name: "fill", Version: "1.0.0", Module: "atlantide.providers.fill", Types: []*model.ResourceType{
		{Name: "fill.F", Provider: "fill", Class: "F", Kind: model.KindResource, Fields: fields},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// countingTree counts what is opened.
type countingTree struct {
	fs.FS
	opened map[string]int
}

func (c countingTree) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

const (
	fillImport = "from atlantide.providers.fill import F\n"
	// digestOfX is the SHA-256 of "x".
	digestOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
)

func TestFillings(t *testing.T) {
	tree := sourcetree.Texts(map[string]string{"a/x": "x"})
	o := Options{Schemas: fillSchemas(t), Source: tree}
	res, err := Compile(t.Context(), Source{Filename: "infra.py", Text: fillImport +
		"F('all', path='a/x', folder='a')\nF('given', path='none', folder='none', text='t', package='p', manifest={})\nF('nothing')"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"default:fill.F:all":     `{"folder":"a","manifest":{"x":"` + digestOfX + `"},"package":"` + digestOfX + `","path":"a/x","text":"` + digestOfX + `"}`,
		"default:fill.F:given":   `{"folder":"none","manifest":{},"package":"p","path":"none","text":"t"}`,
		"default:fill.F:nothing": `{"folder":null,"manifest":{},"package":"","path":null,"text":""}`,
	} {
		if got := asJSON(t, res.Document.Node(id).Properties); got != want {
			t.Errorf("%s has %s, want %s", id, got, want)
		}
	}
	if res.Source == nil {
		t.Error("the compilation lost its tree")
	}
}

func TestFillingsAreReadOnce(t *testing.T) {
	tree := countingTree{FS: sourcetree.Texts(map[string]string{"x": "x"}), opened: map[string]int{}}
	_, err := Compile(t.Context(), Source{Filename: "infra.py", Text: fillImport + "for i in range(50):\n    F(f'f{i}', path='x', package='given')"},
		Options{Schemas: fillSchemas(t), Source: tree})
	if err != nil {
		t.Fatal(err)
	}
	if n := tree.opened["x"]; n > 2 { // once to look, once to read
		t.Errorf("opened %d times", n)
	}
}

func TestFillingsAreBounded(t *testing.T) {
	many := map[string]string{}
	for c := range strings.SplitSeq(strings.Repeat("abcdefghij", 10), "") {
		many["many/"+strings.Repeat(c, len(many)+1)] = ""
	}
	t.Run("a manifest is paid for each time it is taken", func(t *testing.T) {
		_, err := Compile(t.Context(), Source{Filename: "infra.py", Text: fillImport + "for i in range(1000):\n    F(f'f{i}', folder='many')"},
			Options{Schemas: fillSchemas(t), Source: sourcetree.Texts(many), MaxTotalBytes: 4 << 20})
		if model.KindOf(err) != model.FuelExhaustedError {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a reading ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tree := cancellingTree{sourcetree.Texts(many), cancel}
		_, err := Compile(ctx, Source{Filename: "infra.py", Text: fillImport + "F('f', folder='many')"}, Options{Schemas: fillSchemas(t), Source: tree})
		if model.ClassOf(err) != model.ClassTransient || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// cancellingTree ends the evaluation when something is opened.
type cancellingTree struct {
	fs.FS
	cancel context.CancelFunc
}

func (c cancellingTree) Open(name string) (fs.File, error) {
	c.cancel()
	return c.FS.Open(name)
}
