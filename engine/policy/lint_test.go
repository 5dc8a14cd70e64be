package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

func lintSchemas(t *testing.T) *model.Schemas {
	t.Helper()
	schemas, err := model.NewSchemas(&model.ProviderSchema{Name: "aws", Types: []*model.ResourceType{
		{Name: "aws.S3Bucket", Class: "S3Bucket"}, {Name: "aws.Vpc", Class: "Vpc"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

func TestLint(t *testing.T) {
	schemas := lintSchemas(t)
	for _, c := range []struct {
		reason        string
		binding       ir.PolicyBinding
		message, hint string // of the one warning; none = no warning
	}{
		{"all is right", ir.PolicyBinding{Name: policy.RequireTags, Types: []string{"aws.Vpc"}, Params: map[string]any{"keys": "a"}}, "", ""},
		{"every type and no parameter", ir.PolicyBinding{Name: policy.RequireSecretRefs}, "", ""},
		{"a policy, misspelt", ir.PolicyBinding{Name: "require-tag"}, "nothing defines the policy 'require-tag'", "did you mean 'require-tags'?"},
		{"a parameter, misspelt", ir.PolicyBinding{Name: policy.RequireTags, Params: map[string]any{"key": "a"}}, "ignores the parameter 'key'; it reads 'keys'", "did you mean 'keys'?"},
		{"a parameter of another policy", ir.PolicyBinding{Name: policy.RequireSecretRefs, Params: map[string]any{"keys": "a"}}, "ignores the parameter 'keys'; it reads none", ""},
		{"the stacks, misspelt, once", ir.PolicyBinding{Name: policy.DenyDestroy, Params: map[string]any{"stack": "s"}}, "ignores the parameter 'stack'; it reads 'stacks'", "did you mean 'stacks'?"},
		{"no stacks", ir.PolicyBinding{Name: policy.DenyDestroyAlias}, "protects no stack", "name the stacks to protect: stacks=[…]"},
		{"a type without its provider", ir.PolicyBinding{Name: policy.RequireTags, Types: []string{"S3Bucket"}}, "the type 'S3Bucket', which no provider has", "did you mean 'aws.S3Bucket'?"},
		{"a class, misspelt", ir.PolicyBinding{Name: policy.RequireTags, Types: []string{"S3Buckt"}}, "the type 'S3Buckt', which no provider has", "did you mean 'aws.S3Bucket'?"},
		{"a type, misspelt", ir.PolicyBinding{Name: policy.RequireTags, Types: []string{"aws.S3Buckt"}}, "the type 'aws.S3Buckt', which no provider has", "did you mean 'aws.S3Bucket'?"},
		{"a type of nowhere", ir.PolicyBinding{Name: policy.RequireTags, Types: []string{"Elephant"}}, "the type 'Elephant', which no provider has", "a type is written as 'provider.Class'"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			c.binding.At = model.Place{File: "infra.py", Line: 7, Col: 1}
			found := policy.Lint([]ir.PolicyBinding{c.binding}, schemas)
			if c.message == "" {
				if len(found) > 0 {
					t.Errorf("warns: %+v", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("got %d warnings, want one: %+v", len(found), found)
			}
			d := found[0]
			if !strings.Contains(d.Message, c.message) || d.Hint != c.hint || d.Place != c.binding.At ||
				d.Code != model.PolicyWithoutEffect || d.Severity != model.SeverityWarning {
				t.Errorf("got %+v, want %q; %q", d, c.message, c.hint)
			}
		})
	}
}

// A hostile config is warned of a bounded number of oddities.
func TestLintIsBounded(t *testing.T) {
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("aws.T%d", i)
	}
	bindings := []ir.PolicyBinding{{Name: policy.RequireTags, Types: many}, {Name: "nope", Types: many}}
	if found := policy.Lint(bindings, lintSchemas(t)); len(found) != 100 {
		t.Errorf("%d warnings, want 100", len(found))
	}
}
