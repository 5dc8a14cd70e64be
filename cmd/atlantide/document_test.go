package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A document says what it was given, and holds nothing that a terminal acts on.
func TestPrintJSON(t *testing.T) {
	given := map[string]any{"text": "é ✓ \u202e right to left \u009b2J \x7f <b> \n", "key\u2066": "x"}
	var out bytes.Buffer
	if err := printJSON(&out, given); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"key\\u2066\": \"x\",\n  \"text\": \"é ✓ \\u202e right to left \\u009b2J \\u007f <b> \\n\"\n}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given, got); diff != "" {
		t.Errorf("another value (-given +read):\n%s", diff)
	}
}
