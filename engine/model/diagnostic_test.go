package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestDiagnostics(t *testing.T) {
	located := &model.Error{
		Kind: model.LanguageError, Message: "name 'buckt' is not defined", Hint: "did you mean 'bucket'?",
		File: "infra.py", Line: 2, Col: 5, Source: "x = buckt.arn + 1",
		Related: []model.Related{{Place: model.Place{File: "infra.py", Line: 9}, Message: "called from here"}},
	}
	second := &model.Error{Kind: model.ProviderError, Message: "no route"}
	first := &model.Error{Kind: model.IRError, Message: "bad", AlsoFailed: []*model.Error{located, second}}
	inInfra := model.Diagnostic{
		Place:    model.Place{File: "infra.py", Line: 2, Col: 5, EndLine: 2, EndCol: 14, Source: "x = buckt.arn + 1"},
		Code:     model.LanguageError,
		Severity: model.SeverityError,
		Message:  "name 'buckt' is not defined",
		Hint:     "did you mean 'bucket'?",
		Related:  []model.Related{{Place: model.Place{File: "infra.py", Line: 9}, Message: "called from here"}},
	}
	plain := func(code model.Kind, message string) model.Diagnostic {
		return model.Diagnostic{Code: code, Severity: model.SeverityError, Message: message}
	}
	for _, c := range []struct {
		reason string
		err    error
		want   []model.Diagnostic
	}{
		{"no error, no diagnostic", nil, nil},
		{"an error with its place, and the name there marked", located, []model.Diagnostic{inInfra}},
		{"what failed beside it comes after it", first, []model.Diagnostic{plain(model.IRError, "bad"), inInfra, plain(model.ProviderError, "no route")}},
		{"a wrapped one is found", fmt.Errorf("compile: %w", located), []model.Diagnostic{inInfra}},
		{"joined ones are all listed", errors.Join(second, located), []model.Diagnostic{plain(model.ProviderError, "no route"), inInfra}},
		{"also below a wrapper", fmt.Errorf("all: %w", errors.Join(second, errors.New("disk full"))),
			[]model.Diagnostic{plain(model.ProviderError, "no route"), plain(model.AtlantideError, "disk full")}},
		{"a foreign error has no place", fmt.Errorf("read: %w", errors.New("disk full")),
			[]model.Diagnostic{plain(model.AtlantideError, "read: disk full")}},
	} {
		if diff := cmp.Diff(c.want, model.Diagnostics(c.err)); diff != "" {
			t.Errorf("%s:\n%s", c.reason, diff)
		}
	}
}

func TestExtendedPlace(t *testing.T) {
	for _, c := range []struct {
		reason, source string
		col, end       int // 0 = none
	}{
		{"a name", "x = buckt", 5, 10},
		{"a dotted name", "x = a.b.c(1)", 5, 10},
		{"a keyword", "while True:", 1, 6},
		{"a number", "x = 1.5", 5, 8},
		{"columns are code points", "é = größe", 5, 10},
		{"with combining marks", "x = e\u0301 + 1", 5, 7},
		{"an operator is a point", "a + b", 3, 0},
		{"a text is a point", `x = "abc"`, 5, 0},
		{"behind the line", "x", 7, 0},
		{"no column", "x", 0, 0},
	} {
		got := model.Place{Line: 3, Col: c.col, Source: c.source}.Extended()
		if got.EndCol != c.end || c.end > 0 && got.EndLine != 3 {
			t.Errorf("%s: end %d:%d, want column %d", c.reason, got.EndLine, got.EndCol, c.end)
		}
	}
	known := model.Place{Line: 1, Col: 1, EndLine: 2, EndCol: 3, Source: "abc"}
	if known.Extended() != known {
		t.Error("an end that is known is kept")
	}
}
