package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestPrintError(t *testing.T) {
	tests := []struct {
		name, reason string
		err          *model.Error
		want         string
	}{
		{
			name: "a node", reason: "the bracket names node and operation; further failures follow",
			err: &model.Error{
				Message: "the disk is full", NodeID: "s:local.File:a", Op: "create",
				AlsoFailed: []*model.Error{{Message: "the other one too", NodeID: "s:local.File:b", Op: "create"}},
			},
			want: "error: [node s:local.File:a op=create] the disk is full\n  and: [node s:local.File:b op=create] the other one too\n",
		},
		{
			name: "columns", reason: "they are code points",
			err:  &model.Error{Message: "no", Line: 12, Col: 6, Source: "å = “x” + 1"},
			want: "error: no (line 12, col 6)\n  12 | å = “x” + 1\n            ^\n",
		},
		{
			name: "tabs", reason: "the caret stands where the terminal puts the column",
			err:  &model.Error{Message: "no", Line: 3, Col: 2, Source: "\treturn"},
			want: "error: no (line 3, col 2)\n   3 |  return\n        ^\n",
		},
		{
			name: "many lines", reason: "the gutter grows, and the caret with it",
			err:  &model.Error{Message: "no", Line: 12345, Col: 2, Source: "ab"},
			want: "error: no (line 12345, col 2)\n12345 | ab\n         ^\n",
		},
		{
			name: "further places", reason: "each with its line",
			err: &model.Error{Message: "no", Line: 1, Col: 1, Source: "a()", Related: []model.Related{
				{Place: model.Place{File: "b.py", Line: 2, Col: 3, Source: "x = 1"}, Message: "raised here"}, {Place: model.Place{File: "c.py"}, Message: "imported here"},
			}},
			want: "error: no (line 1, col 1)\n   1 | a()\n       ^\n  raised here: b.py, line 2, col 3\n   2 | x = 1\n         ^\n  imported here: c.py\n",
		},
		{
			name: "the order of letters", reason: "no text shows in another order than it stands in",
			err:  &model.Error{Message: "a\u202eb", Related: []model.Related{{Place: model.Place{File: "x\ny"}, Message: "see"}}},
			want: "error: a\uFFFDb\n  see: x\uFFFDy\n",
		},
		{
			name: "further lines", reason: "a CI service acts on lines that begin with its commands",
			err:  &model.Error{Message: "no name 'x\n::error::y'", Related: []model.Related{{Message: "see\n::error::z", Place: model.Place{File: "f"}}}},
			want: "error: no name 'x\n  | ::error::y'\n  see\uFFFD::error::z: f\n",
		},
		{
			name: "control characters", reason: "a config may not steer the terminal",
			err:  &model.Error{Message: "no \x1b[2J"},
			want: "error: no \uFFFD[2J\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			printError(screen{Writer: &out}, test.err)
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got): %s\n%s", test.reason, diff)
			}
		})
	}
}

func TestScreen(t *testing.T) {
	var out bytes.Buffer
	terminal := screen{Writer: &out, colour: true, width: 30}
	printError(terminal, &model.Error{
		Message: "the value is not one that this field takes", Line: 1, Col: 41, Source: "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
		AlsoFailed: []*model.Error{{Message: "more"}},
	})
	want := "\x1b[1;31merror:\x1b[0m the value is not one\nthat this field takes (line 1,\ncol 41)\n" +
		"\x1b[2m   1 | \x1b[0m…efghijklmnopqrstuvwxy…\n" +
		"                  \x1b[1;31m^\x1b[0m\n\x1b[1;31m  and:\x1b[0m more\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("colour, wrapped prose, and an excerpt that fits (-want +got):\n%s", diff)
	}
	if s := newScreen(&out, func(string) string { return "" }); s.colour || s.width != 0 {
		t.Errorf("what is no terminal has %+v", s)
	}
}
