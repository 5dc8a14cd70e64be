package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// identity is IAM (providers.md 2.5, 2.6).
func identity() []*model.ResourceType {
	services := model.FieldType{Kind: model.KindUnion, Nullable: true, Alternatives: []model.FieldType{text, texts}}
	role := resource("IamRole", "A role.", globalTagged(), []model.Field{
		named(immutable("role_name", checked(text, atMost(64)), "Name.")),
		or(mutable("assumed_by", services, "The service, or services, that may assume the role."), nil),
		or(mutable("assume_role_policy", nullableText, "The whole trust policy as JSON."), nil),
		or(mutable("description", text, "What the role is for."), ""),
		computed("arn", text, "ARN."),
	})
	role.Rules = []model.Rule{{
		Fields: []string{"assumed_by", "assume_role_policy"}, Must: "give exactly 1 of assumed_by and assume_role_policy",
		Holds: func(f map[string]model.Value) bool {
			return (f["assumed_by"] != nil) != (f["assume_role_policy"] != nil)
		},
	}}
	role.Constants = actions("iam", "PassRole", "GetRole", "TagRole")

	policy := resource("IamPolicy", "A policy inside of a role.", global(), []model.Field{
		immutable("role_arn", text, "ARN of the role."),
		immutable("policy_name", text, "Name of the policy in the role."),
		mutable("statements", statements, "Statements, as allow() and deny() make them."),
	})
	return []*model.ResourceType{role, policy}
}
