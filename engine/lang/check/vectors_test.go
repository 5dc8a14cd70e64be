package check_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/lang/check"
	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const vectors = "../../testdata/conformance/vectors"

// refusedVectors are the vectors that the parser or the check refuses; every other
// one must pass both, also when a later stage refuses it.
var refusedVectors = func() map[string]bool {
	set := make(map[string]bool)
	for name := range strings.FieldsSeq(`031-decorator-on-function
		138-subset-while 139-subset-try 140-subset-assert 141-subset-match 142-subset-await
		143-subset-yield 144-subset-global 145-subset-nonlocal 146-subset-del 147-subset-type-alias
		148-subset-matrix-multiply 149-subset-plain-class 150-subset-class-two-bases
		151-subset-class-decorated 152-subset-class-type-params 153-schema-method
		154-schema-nested-class 155-schema-generic-annotation 156-schema-unknown-annotation
		157-schema-private-field 158-schema-duplicate-field 160-schema-default-outside-subset
		161-name-eval 162-name-open 163-name-input 164-name-type 165-name-object 166-name-globals
		167-name-vars 168-name-breakpoint 169-name-memoryview 170-name-dunder
		171-name-dunder-import 172-attr-format 173-attr-format-map 177-import-os 178-import-future
		179-import-relative 180-import-internal-package 181-import-state 183-import-handlers
		184-import-whole-module 187-import-star 188-import-prefix-without-dot
		189-syntax-unclosed-paren 190-syntax-return-outside-function 191-syntax-keyword-as-name
		200-eval-star-args-parameter 201-eval-keyword-only-parameter
		202-eval-double-star-parameter 203-eval-star-in-list 204-eval-dict-unpacking
		205-eval-keyword-unpacking 206-eval-attribute-augmented
		289-syntax-column-counts-characters 290-break-outside-loop
		298-type-parameters-on-function 299-continue-outside-loop
		300-break-in-function-inside-loop 302-engine-name-import 303-logging-module-import
		304-model-api-on-resource 305-private-attribute-of-the-input-api`) {
		set[name] = true
	}
	return set
}()

type expectation struct {
	OK              bool
	Error           model.Kind
	Line, Col       *int
	MessageContains []string `json:"message_contains"`
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(vectors + "/*/infra.py")
	if err != nil || len(files) < 300 {
		t.Fatalf("found %d vectors (%v), want all of them", len(files), err)
	}
	seen := 0
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			first := firstError(t, file)
			if !refusedVectors[name] {
				if first != nil {
					t.Fatalf("refused: %v", first)
				}
				return
			}
			seen++
			compare(t, first, expected(t, dir))
		})
	}
	if seen != len(refusedVectors) {
		t.Errorf("met %d of the %d vectors to refuse", seen, len(refusedVectors))
	}
}

func firstError(t *testing.T, file string) *model.Error {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return checkText(t, string(text))
}

// checkText is the first error of parser and check, nil when both pass.
func checkText(t *testing.T, text string) *model.Error {
	t.Helper()
	if found := checkAll(t, text); len(found) > 0 {
		return found[0]
	}
	return nil
}

func checkAll(t *testing.T, text string) []*model.Error {
	t.Helper()
	m, err := syntax.Parse("infra.py", text)
	if err != nil {
		refusal, ok := errors.AsType[*model.Error](err)
		if !ok {
			t.Fatalf("%T is no model.Error: %v", err, err)
		}
		return []*model.Error{refusal}
	}
	return check.Check(m, check.Options{Filename: "infra.py"})
}

func expected(t *testing.T, dir string) expectation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want expectation
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func compare(t *testing.T, got *model.Error, want expectation) {
	t.Helper()
	if got == nil {
		t.Fatal("accepted")
	}
	if want.OK || got.Kind != want.Error || got.Class != model.ClassUser {
		t.Errorf("%s of class %s (%v), want %s of class User", got.Kind, got.Class, got, want.Error)
	}
	if want.Line != nil && got.Line != *want.Line || want.Col != nil && got.Col != *want.Col || got.Line == 0 || got.Col == 0 {
		t.Errorf("at %d:%d, want %v", got.Line, got.Col, want)
	}
	for _, text := range want.MessageContains {
		if !strings.Contains(got.Message, text) {
			t.Errorf("message %q lacks %q", got.Message, text)
		}
	}
	if got.File != "infra.py" || got.Source == "" {
		t.Errorf("file %q, source %q: the error must show its line", got.File, got.Source)
	}
}
