package model

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// asSlow fails where readJSON gives something else than encoding/json.
func asSlow(t *testing.T, data []byte) (read bool) {
	t.Helper()
	fast, ok := readJSON(data)
	if !ok {
		return false
	}
	slow, err := decodeAny(data)
	if err != nil {
		t.Fatalf("%.200q was read, and is refused: %v", data, err)
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("%.200q was read as %#v, not as %#v", data, fast, slow)
	}
	return true
}

// What is plain is read without encoding/json, and all of it as encoding/json reads it.
func TestReadJSON(t *testing.T) {
	for text, plain := range map[string]bool{
		`{}`: true, `[]`: true, ` [ ] `: true, "\t{\r\n}": true, `null`: true, `true`: true, `false`: true,
		`{"a":[1,-2,0,-0,2.5,1e3,1E-3,-0.0,1e+2]}`: true, `{"a":{"b":{"c":[[],{}]}}, "d" : "x"}`: true,
		`{"a":1,"a":2}`: true, `"é 漢 𝄞"`: true, `"\u00e9\n\"\\"`: true, `"\ud834\udd1e"`: true, `"\ud834"`: true, "\"\xff\"": true,
		`9223372036854775807`: true, `-9223372036854775808`: true, `"\u0000"`: true,

		``: false, `{`: false, `[1,]`: false, `{"a":}`: false, `{"a" 1}`: false, `{a:1}`: false, `{"a":1,}`: false, `[1 2]`: false,
		`01`: false, `-`: false, `1.`: false, `.5`: false, `1e`: false, `+1`: false, `nul`: false, `tru`: false, `NaN`: false, `1 2`: false,
		`"`: false, `"\`: false, `"\x"`: false, `"\u12"`: false, "\"\n\"": false, "\"\x00\"": false, `'a'`: false,
		`9223372036854775808`: false, `1e999`: false, "\u00a0[]": false, "\ufeff[]": false,
		strings.Repeat("[", maxRead+1) + strings.Repeat("]", maxRead+1): true,
		strings.Repeat("[", maxRead+2) + strings.Repeat("]", maxRead+2): false,
	} {
		if asSlow(t, []byte(text)) != plain {
			t.Errorf("%.200q: read %t; want %t", text, !plain, plain)
		}
	}
	if v, _ := readJSON([]byte("-0.0")); v != 0.0 || !math.Signbit(v.(float64)) {
		t.Errorf("negative zero came back as %v", v)
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,1.0,null,true,"\u00e9"]}`, `[`, `-0.0`, `"\ud834x"`, "\"\xff\\n\"", ` [1 , {"é":-1e-2}] `, `[[],{}]`, `{"a":1,"a":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { asSlow(t, data) })
}
