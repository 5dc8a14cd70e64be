package ir_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/ir/irtest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestVectors(t *testing.T) {
	for _, v := range irtest.Vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			canonical, err := v.Document.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			want := irtest.ReadFile(t, filepath.Join(v.Dir, "ir.canonical.json"))
			if diff := cmp.Diff(string(want), string(canonical)); diff != "" {
				t.Errorf("canonical bytes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(v.Expected["ir"], v.Document.Stored()); diff != "" {
				t.Errorf("stored IR (-want +got):\n%s", diff)
			}
			hash, err := v.Document.Hash()
			if err != nil || hash != v.Expected["ir_hash"] {
				t.Errorf("hash %s, %v; want %s", hash, err, v.Expected["ir_hash"])
			}
			checkHashes(t, v.Document, irtest.Texts(v.Expected["order"]), v.Expected["hashes"])
		})
	}
}

func checkHashes(t *testing.T, doc *ir.Document, order []string, want any) {
	t.Helper()
	hashes, err := ir.Hashes(doc, order)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for id, hash := range hashes {
		got[id] = hash
	}
	if diff := cmp.Diff(want, any(got)); diff != "" {
		t.Errorf("Merkle hashes (-want +got):\n%s", diff)
	}
}

// TestFloatVectors reads every number as the double that it stands for and wants the
// recorded bytes back.
func TestFloatVectors(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(irtest.Root, "float", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no float vectors: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := irtest.ReadFile(t, filepath.Join(dir, "ir.canonical.rfc8785.json"))
			var stored map[string]any
			if err := json.Unmarshal(want, &stored); err != nil {
				t.Fatal(err)
			}
			doc := irtest.Document(t, stored)
			got, err := doc.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("canonical bytes (-want +got):\n%s", diff)
			}
			expected := irtest.ReadJSON(t, filepath.Join(dir, "expected.json"))
			recorded := expected["rfc8785"].(map[string]any)
			if hash, err := doc.Hash(); err != nil || hash != recorded["ir_hash"] {
				t.Errorf("hash %s, %v; want %s", hash, err, recorded["ir_hash"])
			}
			checkHashes(t, doc, irtest.Texts(expected["order"]), recorded["hashes"])
		})
	}
}

func TestCanonicalJSON(t *testing.T) {
	deep := any("x")
	for range 20_000 {
		deep = []any{deep}
	}
	for _, tc := range []struct {
		why   string
		value any
		want  string
		err   string
	}{
		{why: "nothing", value: nil, want: "null"},
		{why: "an integral float is an integer", value: 1.0, want: "1"},
		{why: "minus zero loses its sign", value: math.Copysign(0, -1), want: "0"},
		{why: "large floats are doubles", value: 1e20, want: "100000000000000000000"},
		{why: "exponent from 1e21 on", value: 1e21, want: "1e+21"},
		{why: "exponent below 1e-6", value: 1e-7, want: "1e-7"},
		{why: "the largest safe integer", value: int64(9007199254740991), want: "9007199254740991"},
		{why: "one more is refused by name", value: int64(9007199254740992), err: "9007199254740992"},
		{why: "and so on the other side", value: []any{int64(-9007199254740992)}, err: "-9007199254740992"},
		{why: "not a number", value: math.NaN(), err: "not finite"},
		{why: "infinite", value: map[string]any{"a": math.Inf(-1)}, err: "not finite"},
		{why: "short escapes, then lower-case hex", value: "\b\t\n\f\r\"\\\x00\x1f\x7f/<é", want: `"\b\t\n\f\r\"\\\u0000\u001f` + "\x7f" + `/<é"`},
		{why: "a lone surrogate", value: "\xed\xa0\x80", err: "lone surrogate"},
		{why: "a key that is not UTF-8", value: map[string]any{"\xff": nil}, err: "UTF-8"},
		{why: "keys by UTF-16 unit: an astral one before U+E000", value: map[string]any{"\ue000": int64(1), "\U00010000": int64(2), "z": int64(3), "": int64(4), "zz": int64(5)},
			want: "{\"\":4,\"z\":3,\"zz\":5,\"\U00010000\":2,\"\ue000\":1}"},
		{why: "Go's lists and maps of texts", value: map[string]any{"l": []string{"a"}, "m": map[string]string{"k": "v"}, "e": []string(nil), "n": 7}, want: `{"e":[],"l":["a"],"m":{"k":"v"},"n":7}`},
		{why: "a foreign type", value: struct{}{}, err: "struct {}"},
		{why: "depth is bounded", value: deep, err: "nested deeper"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got, err := ir.CanonicalJSON(tc.value)
			if tc.err != "" {
				if !model.IsKind(err, model.IRError) || model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v; want an IRError with %q", err, tc.err)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Fatalf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// jsonValue draws any value that canonical JSON can hold.
func jsonValue(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.StringOf(rapid.RuneFrom([]rune("\x00\x1f\"\\\u007f\u2028\ue000\uffff\U00010000\U0001F600az"))).AsAny(),
		rapid.Int64Range(-1<<53+1, 1<<53-1).AsAny(),
		rapid.Float64().AsAny(),
	)
	if depth == 0 {
		return scalars
	}
	keys := rapid.StringOf(rapid.RuneFrom([]rune("ab\ue000\uffff\U00010000\U0001F600\u20ac")))
	return rapid.OneOf(
		scalars,
		rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 5).AsAny(),
		rapid.MapOfN(keys, rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 5).AsAny(),
	)
}

func TestCanonicalEqualsLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValue(4).Draw(t, "value")
		text, err := model.EncodeJSON(value)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := ir.CanonicalJSON(value)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("streamed %s, %v\nlibrary  %s", got, err, want)
		}
	})
}

func FuzzCanonicalEqualsLibrary(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[1e21,1e-6,5e-324,1.7976931348623157e308,-0.0]`, `{"b":{"a":[{},[]]},"\ud83d\ude00":"\u0000"}`, `["caf\u00e9"]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := jcs.Transform(data)
		if err != nil {
			return
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatalf("the library accepts what JSON refuses: %v", err)
		}
		got, err := ir.CanonicalJSON(value)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("streamed %s, %v\nlibrary  %s", got, err, want)
		}
	})
}

func chain(n int) (*ir.Document, []string) {
	doc := &ir.Document{}
	var order []string
	for i := range n {
		node := ir.Node{
			ID: fmt.Sprintf("s:local.File:n%05d", i), Type: "local.File", Kind: model.KindResource, Provider: "local", ProviderVersion: "1.0.0",
			Properties: map[string]any{"path": fmt.Sprintf("out/%05d.txt", i), "content": "hello"},
		}
		if i > 0 {
			up := doc.Nodes[i-1].ID
			node.Dependencies = []string{up}
			node.Properties["content"] = model.Reference{NodeID: up, Output: "checksum"}.Marker()
		}
		doc.Nodes = append(doc.Nodes, node)
		order = append(order, node.ID)
	}
	return doc, order
}

func TestHashesCoverWhatTheySay(t *testing.T) {
	base, order := chain(3)
	before, err := ir.Hashes(base, order)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		why   string
		edit  func(n *ir.Node)
		moves bool
	}{
		{"another property", func(n *ir.Node) { n.Properties["path"] = "x" }, true},
		{"another type", func(n *ir.Node) { n.Type = "local.Null" }, true},
		{"an ignored field leaves the payload", func(n *ir.Node) { n.IgnoreChanges = []string{"path"} }, true},
		{"an ignored field that does not exist", func(n *ir.Node) { n.IgnoreChanges = []string{"nope"} }, false},
		{"provider version (GR-4)", func(n *ir.Node) { n.ProviderVersion = "9.9.9" }, false},
		{"kind", func(n *ir.Node) { n.Kind = model.KindData }, false},
		{"guard", func(n *ir.Node) { n.PreventDestroy = true }, false},
		{"create before destroy", func(n *ir.Node) { n.CreateBeforeDestroy = true }, false},
		{"aliases", func(n *ir.Node) { n.Aliases = []string{"old"} }, false},
		{"ordering edges (GR-3)", func(n *ir.Node) { n.DependsOn = []string{"s:local.File:n00002"} }, false},
	} {
		t.Run(tc.why, func(t *testing.T) {
			doc, _ := chain(3)
			tc.edit(&doc.Nodes[0])
			after, err := ir.Hashes(doc, order)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range order {
				if moved := before[id] != after[id]; moved != tc.moves {
					t.Errorf("hash of %s moved: %t; want %t", id, moved, tc.moves)
				}
			}
		})
	}
}

func TestHashesRefuseABadOrder(t *testing.T) {
	doc, order := chain(2)
	for why, bad := range map[string][]string{
		"dependent first": {order[1], order[0]},
		"unknown node":    {order[0], order[1], "s:local.File:other"},
		"node missing":    {order[0]},
	} {
		if _, err := ir.Hashes(doc, bad); !model.IsKind(err, model.IRError) {
			t.Errorf("%s: error %v; want an IRError", why, err)
		}
	}
}

func TestErrorNamesTheNode(t *testing.T) {
	doc, order := chain(1)
	doc.Nodes[0].Properties["path"] = int64(1) << 60
	_, err := doc.Hash()
	if !model.IsKind(err, model.IRError) || !strings.Contains(err.Error(), order[0]) {
		t.Errorf("error %v; want an IRError naming %s", err, order[0])
	}
}

func BenchmarkMerkle10k(b *testing.B) {
	doc, order := chain(10_000)
	for b.Loop() {
		if _, err := ir.Hashes(doc, order); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonical10k(b *testing.B) {
	doc, _ := chain(10_000)
	for b.Loop() {
		if _, err := doc.Hash(); err != nil {
			b.Fatal(err)
		}
	}
}

// Equal is equality of canonical bytes, and of stored ones where there are none.
func TestEqual(t *testing.T) {
	const large = int64(1) << 60
	for _, c := range []struct {
		reason string
		a, b   any
		want   bool
	}{
		{"1 and 1.0 are one number (DF-5)", int64(1), 1.0, true},
		{"at any depth", map[string]any{"a": []any{int64(2)}}, map[string]any{"a": []any{2.0}}, true},
		{"two numbers", int64(1), int64(2), false},
		{"a number and its text", int64(1), "1", false},
		{"a text and its number", "1", int64(1), false},
		{"two texts", "a", "b", false},
		{"nothing and an empty list", nil, []any{}, false},
		{"an integer that has no canonical form is itself", large, large, true},
		{"and no other", large, large + 1, false},
		{"inside of something as well", []any{large}, []any{large}, true},
		{"nor one that has a form", large, int64(1), false},
		{"what is no number equals nothing", math.NaN(), math.NaN(), false},
		{"nor does text that is not UTF-8 equal a number", []any{"\xff"}, int64(1), false},
	} {
		if got := ir.Equal(c.a, c.b); got != c.want || ir.Equal(c.b, c.a) != got {
			t.Errorf("%s: %v, %v equal: %t", c.reason, c.a, c.b, got)
		}
	}
}

func TestPolicyTypesAreASet(t *testing.T) {
	demanded := func(types ...string) string {
		t.Helper()
		digest, err := ir.PolicyBinding{Level: "mandatory", Types: types}.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	types := []string{"b.C", "a.B"}
	if demanded(types...) != demanded("a.B", "b.C") || demanded(types...) == demanded("a.B") {
		t.Error("the digest is not that of the set of types")
	}
	if types[0] != "b.C" {
		t.Error("the binding changed")
	}
}

func TestPrefixedDigests(t *testing.T) {
	digest, err := ir.PrefixedDigest(map[string]any{})
	if want := "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; err != nil || digest != want || ir.SHA256([]byte("{}")) != want {
		t.Errorf("%s, %v and %s, want %s", digest, err, ir.SHA256([]byte("{}")), want)
	}
	if _, err := ir.PrefixedDigest(math.NaN()); err == nil {
		t.Error("a value without a canonical form has a digest")
	}
}
