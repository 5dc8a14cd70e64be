package py

import (
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestPureFunctions(t *testing.T) {
	runCases(t, []exprCase{
		{`uuid5("atlantide-buckets", "dev"), uuid5("", ""), uuid5("é", "ü")`, "('b89f6cc5-a194-51b7-ab9b-7c3307f7e316', '3cbc2c97-e32e-5210-aed2-bfb5bd49013f', '11eaa11a-e505-5fbd-aeee-a0abd5c519bf')", "published names"},
		{`uuid5(namespace="a", name="b")`, "'8a44703b-810d-553b-b8ff-9cded95d9bb3'", "by keyword"},
		{`uuid5("a", 1)`, "!TypeError", "texts only"},
		{`sha256_hex("x")[:8], sha256_hex("é")[:8], sha256_hex("")`, "('2d711642', '4a99557e', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')", "of the UTF-8"},
		{"sha256_hex(3)", "!AttributeError", "a number has no encode"},
		{"sha256_hex(surrogate)", "!UnicodeEncodeError", "a lone surrogate has no UTF-8"},
		{`hmac_sha256_hex("key", "message"), hmac_sha256_hex("", "")`, "('6e9ef29b75fffc5b7abae527d58fdadb2fe42e7219011976917343065f58ed4a', 'b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad')", "hmac"},
		{`b64encode("é"), b64encode("a?>~"), b64encode("")`, "('w6k=', 'YT8+fg==', '')", "padded"},
		{`b64decode("aGVs bG8="), b64decode("aGVsbG8=xyz"), b64decode("____")`, "('hello', 'hello', '')", "foreign characters are skipped, padding ends it"},
		{`b64decode("aGVsbG8")`, "!ValueError", "padding is missing"},
		{`b64decode("Y")`, "!ValueError", "an impossible length"},
		{`b64decode("é")`, "!ValueError", "not ASCII"},
		{`b64decode("/w==")`, "!UnicodeDecodeError", "not UTF-8"},
		{`to_json({"b": {"d": 1, "c": 2}, "a": (1, 2)}), to_json({1: "a"}), to_json({None: 1}), to_json({True: 1})`, `('{"a":[1,2],"b":{"c":2,"d":1}}', '{"1":"a"}', '{"null":1}', '{"true":1}')`, "sorted, no spaces, keys as texts"},
		{`to_json({2: "b", 10: "a"})`, `'{"2":"b","10":"a"}'`, "keys sort before they become texts"},
		{`to_json("\x01\x1f\x7f\u2028\t\b\f/\"\\é")`, `'"\\u0001\\u001f\x7f\u2028\\t\\b\\f/\\"\\\\é"'`, "escapes of JSON only"},
		{`to_json([1.0, 1e20, -0.0, float("inf"), float("nan")])`, "'[1.0,1e+20,-0.0,Infinity,NaN]'", "float texts"},
		{`to_json(set_([3, 10]))`, "'[10,3]'", "a set at the top is a list"},
		{`to_json([set_([1])])`, "!TypeError", "one inside is refused"},
		{`to_json({"a": 1, 2: 3})`, "!TypeError", "keys of two types have no order"},
		{`to_json({(1,): 2})`, "!TypeError", "no text for a tuple key"},
		{`to_json(len)`, "!TypeError", "nor for a function"},
		{`from_json('{"a":1,"a":2}'), from_json("1.0"), from_json("-0"), from_json(" true "), from_json("1E400"), from_json("-Infinity")`, "({'a': 2}, 1.0, 0, True, inf, -inf)", "the last of a key wins"},
		{`from_json('{"b": 1, "a": [null, {}]}'), from_json('"\\u00e9\\ud83d\\ude00\\n"'), from_json('"\\ud800"')`, `({'b': 1, 'a': [None, {}]}, 'é😀\n', '\ud800')`, "order kept, escapes read"},
		{`from_json("12345678901234567890123")`, "12345678901234567890123", "ints of any size"},
		{`from_json("[1,]")`, "!JSONDecodeError", "strict"},
		{`from_json("01")`, "!JSONDecodeError", "no leading zero"},
		{`from_json('"\t"')`, "!JSONDecodeError", "no control characters"},
		{`from_json("")`, "!JSONDecodeError", "nothing"},
		{`from_json(5)`, "!TypeError", "texts only"},
		{`merge({"a": {"x": 1}}, {"a": {"y": 2}, "b": 3}), merge(), merge({"k": {"a": 1}}, {"k": None}, {"k": {"b": 2}})`, "({'a': {'x': 1, 'y': 2}, 'b': 3}, {}, {'k': {'b': 2}})", "dict over dict merges, anything else replaces"},
		{`merge({"a": 1}, 5)`, "!AttributeError", "dicts only"},
		{`slugify("Café Menu!"), slugify("Straße"), slugify("ﬁle"), slugify("½"), slugify("x²"), slugify("Ünïcödé-Ⅷ"), slugify("日本"), slugify("  --Hello__World--  "), slugify("naïve—dash")`, "('cafe-menu', 'strae', 'file', '12', 'x2', 'unicode-viii', '', 'hello-world', 'naivedash')", "decompose, drop, lower, join"},
		{"slugify(1)", "!TypeError", "texts only"},
	})
}

func TestJSONErrorPosition(t *testing.T) {
	_, err := evalText(newThread(t, Limits{}), `from_json("{\"é\":\n  x}")`, nil)
	const want = "JSONDecodeError: Expecting value: line 2 column 3 (char 8)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s: the place counts code points", err, want)
	}
}

// merge changes neither its operands nor what is nested in them.
func TestMergeCopies(t *testing.T) {
	th := newThread(t, Limits{})
	names := map[string]value{}
	for name, expr := range map[string]string{"base": "{'a': {'x': 1}, 'l': [1]}", "over": "{'a': {'y': 2}}"} {
		names[name], _ = evalText(th, expr, nil)
	}
	names["m"], _ = evalText(th, "merge(base, over)", names)
	if got := run(th, "put(m['a'], 'x', 100), base, over, cmp('is', m['l'], base['l'])", names); got !=
		"({'x': 100, 'y': 2}, {'a': {'x': 1}, 'l': [1]}, {'a': {'y': 2}}, True)" {
		t.Errorf("got %s: merged dicts are new, values taken unmerged are shared", got)
	}
}

// What to_json writes, from_json reads back as equal.
func TestJSONRoundTrip(t *testing.T) {
	th := newThread(t, Limits{Fuel: 100_000_000, MaxTotalBytes: 1 << 32})
	rapid.Check(t, func(r *rapid.T) {
		v := drawJSON(r, 3)
		text, err := Call(th, Helpers()["to_json"], tuple{v}, nil)
		if err != nil {
			r.Fatal(err)
		}
		back, err := Call(th, Helpers()["from_json"], tuple{text}, nil)
		if err != nil {
			r.Fatal(err)
		}
		if eq, err := equal(th, v, back); err != nil || !eq {
			r.Fatalf("%s became %s (%v)", text, Show(th, back), err)
		}
	})
}

func drawJSON(r *rapid.T, depth int) value {
	kind := rapid.IntRange(0, 6).Draw(r, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return starlark.None
	case 1:
		return starlark.Bool(rapid.Bool().Draw(r, "bool"))
	case 2:
		return starlark.MakeInt64(rapid.Int64().Draw(r, "int"))
	case 3:
		return starlark.Float(rapid.Float64().Draw(r, "float"))
	case 4:
		return starlark.String(rapid.String().Draw(r, "text"))
	case 5:
		list := starlark.NewList(nil)
		for range rapid.IntRange(0, 4).Draw(r, "n") {
			_ = list.Append(drawJSON(r, depth-1))
		}
		return list
	default:
		d := starlark.NewDict(0)
		for range rapid.IntRange(0, 4).Draw(r, "n") {
			_ = d.SetKey(starlark.String(rapid.String().Draw(r, "key")), drawJSON(r, depth-1))
		}
		return d
	}
}

func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"\u00e9"],"b":null}`, "[", `"\ud83d`, "-", "1e", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		th := newThread(t, Limits{Fuel: 1_000_000})
		v, err := Call(th, Helpers()["from_json"], tuple{starlark.String(s)}, nil)
		if err != nil {
			return
		}
		if _, err := Repr(th, v); err != nil && errorName(err) != "FuelExhaustedError" && errorName(err) != "ValueError" {
			t.Fatalf("%q reads as a value without a text: %v", s, err)
		}
	})
}
