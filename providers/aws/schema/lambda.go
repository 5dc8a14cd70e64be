package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// compute is Lambda (providers.md 2.7).
func compute() []*model.ResourceType {
	secret := or(mutable("signing_secret", model.FieldType{Kind: model.KindSecret, Nullable: true}, "Secret that the function finds in SIGNING_SECRET."), nil)
	secret.Sensitive = true
	function := resource("LambdaFunction", "A function.", tagged(), []model.Field{
		named(immutable("function_name", text, "Name.")),
		mutable("role_arn", text, "Role that the function runs as."),
		or(mutable("runtime", text, "Runtime."), "python3.12"),
		or(mutable("handler", text, "Entry point."), "index.handler"),
		or(literal(mutable("code_path", nullableText, "The package in the source tree: a file, or a folder that is packed.")), nil),
		filled(or(mutable("code_sha256", text, "Hex SHA-256 of the package."), ""), model.FillPackage, "code_path"),
		or(mutable("s3_bucket", nullableText, "Bucket of a package that is uploaded already."), nil),
		or(mutable("s3_key", nullableText, "Key of that package."), nil),
		or(mutable("s3_object_version", nullableText, "Version of that object."), nil),
		or(mutable("memory_size", integer, "Memory in MiB."), int64(128)),
		or(mutable("timeout", integer, "Seconds that a call may take."), int64(3)),
		or(mutable("environment", textMap, "Environment variables."), map[string]any{}),
		secret,
		computed("arn", text, "ARN."),
	})
	function.Rules = []model.Rule{
		{
			Fields: []string{"code_path", "s3_bucket"}, Must: "have 1 package: give code_path, or s3_bucket with s3_key",
			Holds: func(f map[string]model.Value) bool { return count(f, "code_path", "s3_bucket") == 1 },
		},
		{
			Fields: []string{"s3_bucket", "s3_key"}, Must: "give s3_key with s3_bucket",
			Holds: func(f map[string]model.Value) bool { return !given(f["s3_bucket"]) || given(f["s3_key"]) },
		},
	}
	function.Constants = actions("lambda", "InvokeFunction", "GetFunction")
	return []*model.ResourceType{function}
}
