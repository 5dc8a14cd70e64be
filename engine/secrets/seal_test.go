package secrets

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func sealing(t testing.TB) *Session {
	return NewSession(Options{Keys: testRing(t), Partition: "part-1"})
}

// values draws what an output may be.
func values() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(v bool) any { return v }), rapid.Map(rapid.String(), func(v string) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }), rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) any { return v }),
	)
	list := rapid.Map(rapid.SliceOfN(scalar, 0, 4), func(v []any) any { return v })
	object := rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zé"\\]{0,5}`), rapid.OneOf(scalar, list), 0, 4), func(v map[string]any) any { return v })
	return rapid.OneOf(scalar, list, object)
}

// T-214a, T-214f, SC-10: whatever is sealed comes back as it was, no two seals are equal,
// and the plain text is not in them.
func TestSealLaw(t *testing.T) {
	s := sealing(t)
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "value")
		owner, field := rapid.StringMatching(`[a-z:-]{1,12}`).Draw(t, "owner"), rapid.StringMatching(`[a-z_]{0,12}`).Draw(t, "field")
		one, err := s.Recorder().Seal(v, owner, field)
		two, err2 := s.Recorder().Seal(v, owner, field)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if cmp.Equal(one, two) {
			t.Fatalf("two seals are %v", one)
		}
		text := one.(map[string]any)[model.KeySealed].(string)
		if !strings.HasPrefix(text, "v3:"+goldenKeyID+":") {
			t.Fatalf("sealed as %q", text)
		}
		if plain, ok := v.(string); ok && len(plain) > 8 && strings.Contains(text, plain) {
			t.Fatalf("%q holds the plain text", text)
		}
		opened, err := s.Unseal(map[string]any{"deep": []any{one, "plain"}, "n": int64(1)}, owner, field)
		want := map[string]any{"deep": []any{v, "plain"}, "n": int64(1)}
		if diff := cmp.Diff(any(want), opened); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// SC-18: no change of one byte, and no cut, gives a value.
func TestTamperedSealLaw(t *testing.T) {
	s := sealing(t)
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "value")
		sealed, err := s.Recorder().Seal(v, "uid-1", "password")
		if err != nil {
			t.Fatal(err)
		}
		text := sealed.(map[string]any)[model.KeySealed].(string)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "place")
		other := rapid.Byte().Filter(func(b byte) bool { return b != text[at] }).Draw(t, "byte")
		for _, tampered := range []string{
			text[:at] + string([]byte{other}) + text[at+1:], text[:at], text[:at] + text[at+1:], text[:at] + string([]byte{other}) + text[at:],
			text + "=", text + "\n", text[:at] + "\n" + text[at:], text[:at] + "\r" + text[at:],
		} {
			got, err := s.Unseal(map[string]any{model.KeySealed: tampered}, "uid-1", "password")
			if !model.IsKind(err, model.SecretsError) {
				t.Fatalf("%q opens as %v, %v", tampered, got, err)
			}
			if plain, ok := v.(string); ok && len(plain) > 8 && strings.Contains(err.Error(), plain) {
				t.Fatalf("%q holds the value", err)
			}
		}
	})
}

func TestUnsealRefuses(t *testing.T) {
	key := testKey(t)
	text := func(prefix, additional, plain string) string {
		data, err := key.encrypt(&counting{}, []byte(plain), additional)
		must(t, err)
		return prefix + base64.StdEncoding.EncodeToString(data)
	}
	const additional = thirdScheme + "\x00part-1\x00uid-1\x00password"
	third := thirdPrefix + goldenKeyID + ":"
	for _, tc := range []struct {
		why    string
		sealed any
		text   string
	}{
		{"T-214d stripped of its version", strings.TrimPrefix(goldenSealed04, "v2:"), "no form"},
		{"T-214d the third form, stripped", strings.TrimPrefix(goldenSealed, "v3:"), "no form"},
		{"the third form as the second", "v2:" + strings.TrimPrefix(goldenSealed, third), "does not open"},
		{"the second form as the third", third + strings.TrimPrefix(goldenSealed04, "v2:"), "does not open"},
		{"T-214c a secret store as a seal", text(third, storeScheme, `"x"`), "does not open"},
		{"a secret store as one of 0.4", text("v2:", storeScheme, "x"), "does not open"},
		{"of release 0.3, as one of 0.4", "v2:" + goldenSealed03, "does not open"},
		{"SC-11 of another field", text(third, thirdScheme+"\x00part-1\x00uid-1\x00other", `"x"`), "does not open"},
		{"SC-11 of another row", text(third, thirdScheme+"\x00part-1\x00uid-2\x00password", `"x"`), "does not open"},
		{"SC-11 of another partition", text(third, thirdScheme+"\x00part-2\x00uid-1\x00password", `"x"`), "does not open"},
		{"of an output with such a name", text(third, thirdScheme+"\x00part-1\x00password\x00", `"x"`), "does not open"},
		{"no JSON inside", text(third, additional, `{`), "damaged"},
		{"two documents inside", text(third, additional, `1 2`), "damaged"},
		{"not UTF-8 inside one of 0.4", text("v2:", secondScheme, "\xff"), "does not open"},
		{"SC-22 of a key that is not loaded", "v3:00000000:" + strings.TrimPrefix(goldenSealed, third), "00000000"},
		{"T-214e no base64", third + "%%%", "damaged"},
		{"T-214e no base64 in one of 0.4", "v2:%%%", "damaged"},
		{"base64 without padding", strings.TrimRight(goldenSealed, "="), "damaged"},
		{"base64 for URLs", strings.ReplaceAll(goldenSealed, "/", "_"), "damaged"},
		{"base64 over two lines", goldenSealed[:40] + "\n" + goldenSealed[40:], "damaged"},
		{"base64 with bits to spare", strings.Replace(goldenSealed, "bw==", "bx==", 1), "damaged"},
		{"shorter than nonce and tag", third + "AAAA", "does not open"},
		{"no key id", "v3:" + strings.TrimPrefix(goldenSealed, third), "damaged"},
		{"a long key id", "v3:" + goldenKeyID + "0:" + strings.TrimPrefix(goldenSealed, third), "damaged"},
		{"empty", "", "no form"},
		{"no text", int64(1), "damaged"},
		{"too long", third + strings.Repeat("A", base64.StdEncoding.EncodedLen(maxSealed+64)+4), "damaged"},
	} {
		got, err := goldenSession(t).Unseal(map[string]any{"x": []any{map[string]any{model.KeySealed: tc.sealed}}}, "uid-1", "password")
		if got != nil || err == nil || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, %v; want an error with %q", tc.why, got, err, tc.text)
			continue
		}
		wantUserError(t, err, "'password'")
	}
	// The place is right: the same text opens where it belongs.
	got, err := goldenSession(t).Unseal(map[string]any{model.KeySealed: text(third, additional, `"x"`)}, "uid-1", "password")
	if err != nil || got != "x" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestKeyringOpensWithEveryKey(t *testing.T) {
	old, err := sealing(t).Recorder().Seal("v", "u", "f")
	must(t, err)
	both := NewSession(Options{Keys: NewKeyring("two keys", otherKey(t), testKey(t)), Partition: "part-1"})
	for why, sealed := range map[string]any{"v3": old, "v2": map[string]any{model.KeySealed: goldenSealed04}} {
		if _, err := both.Unseal(sealed, "u", "f"); err != nil {
			t.Errorf("SC-22: %s: %v", why, err)
		}
	}
	fresh, err := both.Recorder().Seal("v", "u", "f")
	must(t, err)
	if text := fresh.(map[string]any)[model.KeySealed].(string); !strings.Contains(text, otherKey(t).ID()) {
		t.Errorf("SC-23: sealed as %q, with a key that was replaced", text)
	}
	_, err = sealing(t).Unseal(fresh, "u", "f")
	wantUserError(t, err, otherKey(t).ID(), "the test key")
}

func TestSealRefuses(t *testing.T) {
	for _, tc := range []struct {
		why   string
		value any
		owner string
		text  string
	}{
		{"a NUL would move the bounds of its place", "v", "uid\x00x", "NUL"},
		{"too long", strings.Repeat("v", maxSealed), "uid", "longer than"},
	} {
		_, err := sealing(t).Recorder().Seal(tc.value, tc.owner, "f")
		wantUserError(t, err, tc.text)
	}
	if _, err := sealing(t).Recorder().Seal(make(chan int), "uid", "f"); err == nil {
		t.Error("what is no value is sealed")
	}
	s := NewSession(Options{Keys: testRing(t), Rand: failing{}})
	_, err := s.Recorder().Seal("v", "uid", "f")
	wantUserError(t, err, "randomness")
}

// FuzzUnseal: what nobody sealed is never a value (T-214g).
func FuzzUnseal(f *testing.F) {
	for _, seed := range []string{"", "v2:", "v3:", goldenSealed03, goldenSealed04, goldenSealed, goldenOutput, "v3:" + goldenKeyID + ":AAAA"} {
		f.Add(seed, "uid-1", "password")
	}
	f.Fuzz(func(t *testing.T, text, owner, field string) {
		for _, s := range []*Session{goldenSession(t), NewSession(Options{Keys: NewKeyring("none", otherKey(t))})} {
			adopt := func(v any, owner, field string) (any, error) {
				adopted, err := s.Adopt(v, owner, field)
				if err != nil {
					return nil, err
				}
				return s.Unseal(adopted, owner, field)
			}
			for _, open := range []func(any, string, string) (any, error){s.Unseal, adopt} {
				got, err := open(map[string]any{model.KeySealed: text}, owner, field)
				switch {
				case err != nil:
					if !model.IsKind(err, model.SecretsError) {
						t.Fatalf("error %v", err)
					}
				case text == goldenSealed03, text == goldenSealed04, text == goldenSealed && owner == "uid-1" && field == "password",
					text == goldenOutput && owner == "s:out" && field == "":
				default:
					t.Fatalf("%q opens as %v", text, got)
				}
			}
		}
	})
}
