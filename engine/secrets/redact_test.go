package secrets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

type record struct {
	Public  any
	private any
}

type words map[string]string

func TestRedact(t *testing.T) {
	ref := model.SecretRef{Name: "sentinel"}
	handle, sealed := any(ref.Marker()), any(map[string]any{model.KeySealed: "sentinel"})
	loop := map[string]any{}
	loop["self"] = loop
	type node struct{ next *node }
	ring := &node{}
	ring.next = ring
	for _, tc := range []struct {
		why      string
		in, want any
	}{
		{"a handle", handle, Redacted},
		{"a sealed value", sealed, Redacted},
		{"SC-15 even with other keys", map[string]any{model.KeySealed: "sentinel", "x": int64(1)}, Redacted},
		{"a handle of no known form", map[string]any{model.KeySecretRef: nil}, Redacted},
		{"in a map", map[string]any{"a": handle, "b": "x"}, map[string]any{"a": Redacted, "b": "x"}},
		{"in lists", []any{"x", []any{sealed}}, []any{"x", []any{Redacted}}},
		{"a combinator that holds one goes whole", map[string]any{"v": model.Transform{Op: "concat", Args: []any{"x", handle}}.Marker()}, map[string]any{"v": Redacted}},
		{"one that holds none stays", model.Transform{Op: "concat", Args: []any{"x"}}.Marker(), model.Transform{Op: "concat", Args: []any{"x"}}.Marker()},
		{"a reference is no secret", model.Reference{NodeID: "n", Output: "o"}.Marker(), map[string]any{model.KeyRef: "n#o"}},
		{"a live handle", ref, Redacted},
		{"behind a pointer", &ref, Redacted},
		{"a value", NewText("sentinel"), Redacted},
		{"a key", testKey(t), Redacted},
		{"keys", []any{testRing(t)}, []any{Redacted}},
		{"a list of handles", []model.SecretRef{ref}, []any{Redacted}},
		{"T-218 a tuple", [2]any{"x", handle}, []any{"x", Redacted}},
		{"a list of maps", []map[string]any{{"a": handle}}, []any{map[string]any{"a": Redacted}}},
		{"a map of texts", words{model.KeySealed: "sentinel"}, Redacted},
		{"a map of maps", map[string]map[string]any{"a": {"b": handle}}, map[string]any{"a": map[string]any{"b": Redacted}}},
		{"a map with keys of any kind", map[any]any{1: handle}, Redacted},
		{"whose key is the marker", map[any]any{model.KeySealed: "sentinel", 1: 2}, Redacted},
		{"whose key is a handle", map[any]any{ref: 1}, Redacted},
		{"a struct", record{Public: handle}, Redacted},
		{"what of a struct only fmt reaches", &record{private: []any{sealed}}, Redacted},
		{"a combinator as a struct", model.Transform{Op: "concat", Args: []any{handle}}, Redacted},
		{"JSON", json.RawMessage(`{"a":{"\u0024sealed":"sentinel"}}`), Redacted},
		{"JSON in a struct", record{private: json.RawMessage(`{"$sealed":"sentinel"}`)}, Redacted},
		{"JSON that is broken", json.RawMessage(`{"$sealed":"sentinel"`), Redacted},
		{"clean JSON", json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":1}`)},
		{"a map without end", loop, nil},
		{"a ring", ring, Redacted},
		{"clean: nothing", nil, nil},
		{"clean: a number", 1.5, 1.5},
		{"clean: bytes", []byte("x"), []byte("x")},
		{"clean: texts", []string{"x"}, []string{"x"}},
		{"clean: a map of texts", words{"a": "x"}, words{"a": "x"}},
		{"clean: a struct", record{Public: "x"}, record{Public: "x"}},
		{"clean: an empty pointer", (*record)(nil), (*record)(nil)},
		{"clean: a nil list", []any(nil), []any(nil)},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := Redact(tc.in)
			if tc.want != nil && !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%#v; want %#v", got, tc.want)
			}
			if tc.in != nil && tc.want == nil {
				return // bounded, which is all that is asked of it
			}
			if again := Redact(got); !reflect.DeepEqual(again, got) {
				t.Errorf("once more: %#v", again)
			}
			if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "sentinel") {
				t.Errorf("%q holds a secret", text)
			}
		})
	}
}

func TestRedactLeavesItsInput(t *testing.T) {
	handle := model.SecretRef{Name: "n"}.Marker()
	in := map[string]any{"a": []any{handle, "x"}}
	Redact(in)
	if diff := cmp.Diff(map[string]any{"a": []any{handle, "x"}}, in); diff != "" {
		t.Error(diff)
	}
}

// T-218: in no tree a sentinel or a marker survives; redaction is total and idempotent,
// and leaves what is clean.
func TestRedactLaw(t *testing.T) {
	type tree struct {
		value any
		dirty bool
	}
	var trees func(depth int) *rapid.Generator[tree]
	trees = func(depth int) *rapid.Generator[tree] {
		return rapid.Custom(func(t *rapid.T) tree {
			kinds := 9
			if depth == 0 {
				kinds = 5
			}
			switch rapid.IntRange(0, kinds).Draw(t, "kind") {
			case 0:
				return tree{model.SecretRef{Name: "sentinel"}.Marker(), true}
			case 1:
				return tree{map[string]any{model.KeySealed: "sentinel", "more": "sentinel"}, true}
			case 2:
				return tree{NewText("sentinel"), true}
			case 3:
				return tree{rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "text"), false}
			case 4:
				return tree{nil, false}
			case 5:
				return tree{rapid.Int64().Draw(t, "number"), false}
			}
			items := rapid.SliceOfN(trees(depth-1), 1, 3).Draw(t, "items")
			values, dirty := make([]any, len(items)), false
			for i, item := range items {
				values[i], dirty = item.value, dirty || item.dirty
			}
			switch rapid.IntRange(0, 4).Draw(t, "container") {
			case 0:
				return tree{values, dirty}
			case 1:
				return tree{map[string]any{"a": values[0], "rest": values[1:]}, dirty}
			case 2:
				return tree{model.Transform{Op: "join", Args: values}.Marker(), dirty}
			case 3:
				return tree{[1]any{values}, dirty}
			default:
				return tree{&record{Public: values, private: values[0]}, dirty}
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		in := trees(4).Draw(t, "tree")
		out := Redact(in.value)
		if !in.dirty && !reflect.DeepEqual(out, in.value) {
			t.Fatalf("a clean payload became %#v", out)
		}
		if !reflect.DeepEqual(Redact(out), out) {
			t.Fatalf("%#v is redacted once more", out)
		}
		encoded, _ := json.Marshal(out)
		for _, text := range []string{fmt.Sprint(out), fmt.Sprintf("%+v", out), fmt.Sprintf("%#v", out), string(encoded)} {
			for _, secret := range []string{"sentinel", model.KeySecretRef, model.KeySealed} {
				if in.dirty && strings.Contains(text, secret) {
					t.Fatalf("%q holds %s", text, secret)
				}
			}
		}
	})
}

// However something of this package is printed, no value, no key and no salt shows.
func TestNothingPrintsASecret(t *testing.T) {
	raw := []byte("sentinel-of-the-key-with-32-byte")
	key, err := NewKey(raw)
	must(t, err)
	store := newStore(t)
	store.Keys = NewKeyring("a test", key)
	mustSet(t, store, map[string]string{"n": "sentinel"})
	s := NewSession(Options{Registry: mustRegistry(t, "", store), Keys: store.Keys})
	if _, err := s.Resolve(t.Context(), model.SecretRef{Name: "n"}); err != nil {
		t.Fatal(err)
	}
	text := NewText("sentinel")
	var secret []string
	for _, data := range [][]byte{[]byte("sentinel"), key.salt()} {
		secret = append(secret, string(data), fmt.Sprintf("%x", data), fmt.Sprintf("%X", data), strings.Trim(fmt.Sprintf("%d", data), "[]"))
	}
	for what, v := range map[string]any{
		"Text": text, "*Text": &text, "a list": []Text{text}, "a map": map[string]Text{"a": text}, "a field": record{text, text}, "*field": &record{&text, text},
		"Key": key, "Keyring": store.Keys, "a field with keys": record{key, *store.Keys.(*Keyring)},
		"Keyfile": store, "its view": store.ForRun(), "Registry": s.options.Registry, "Session": s, "Recorder": s.Recorder(), "Options": s.options,
	} {
		var logged bytes.Buffer
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "v", v)
		slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "v", v)
		encoded, _ := json.Marshal(v) // what cannot be marshalled does not leak either
		texts := []string{logged.String(), string(encoded)}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		for _, shown := range texts {
			for _, secret := range secret {
				if strings.Contains(shown, secret) {
					t.Errorf("%s prints as %q", what, shown)
				}
			}
		}
	}
	if got := fmt.Sprintf("%v %s", text, key); got != Redacted+" key "+key.ID() {
		t.Errorf("%q", got)
	}
	if text.Reveal() != "sentinel" || (Text{}).Reveal() != "" {
		t.Error("the value is lost")
	}
}

func TestScrub(t *testing.T) {
	v := &vault{name: "v", values: map[string]string{
		"plain": "hunter2", "longer": "hunter2-and-more", "quoted": "a\"b\nc", "html": "<&>", "empty": "", "part": "redact", "never": "unused",
	}}
	s := NewSession(Options{Registry: mustRegistry(t, "", v)})
	for _, name := range []string{"plain", "longer", "quoted", "html", "empty", "part"} {
		if _, err := s.Resolve(t.Context(), model.SecretRef{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ why, in, want string }{
		{"EX-41 in a message", "login as hunter2 failed: hunter2", "login as (redacted) failed: (redacted)"},
		{"the longest", "is hunter2-and-more", "is (redacted)"},
		{"as it is", "is a\"b\nc", "is (redacted)"},
		{"as Go quotes it", fmt.Sprintf("is %q", "a\"b\nc"), `is "(redacted)"`},
		{"as JSON does", `{"v":"a\"b\nc","w":"\u003c\u0026\u003e"}`, `{"v":"(redacted)","w":"(redacted)"}`},
		{"what was scrubbed stays so", "is (redacted)", "is (redacted)"},
		{"what the run did not resolve is not known", "is unused", "is unused"},
		{"nothing", "fine", "fine"},
	} {
		got := s.Scrub(tc.in)
		if got != tc.want || s.Scrub(got) != got {
			t.Errorf("%s: %q; want %q", tc.why, got, tc.want)
		}
	}
	if got := s.Scrub(fmt.Sprint(NewSession(Options{}).Scrub("hunter2"))); got != Redacted {
		t.Errorf("%q", got)
	}
}
