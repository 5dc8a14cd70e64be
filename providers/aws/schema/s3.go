package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// storage is S3 (providers.md 2.1 to 2.3).
func storage() []*model.ResourceType {
	bucketName := checked(text,
		length(3, 63),
		matches("be lower-case letters, digits, '.' and '-', with a letter or digit at both ends", `[a-z0-9]|[a-z0-9][a-z0-9.-]*[a-z0-9]`),
		without(".."))
	bucket := resource("S3Bucket", "A bucket.", tagged(), []model.Field{
		named(immutable("bucket", bucketName, "Name, unique in the world.")),
		or(mutable("versioning", boolean, "Keep old versions of objects."), false),
		or(mutable("block_public_access", boolean, "Refuse public policies and lists, all four switches."), true),
		or(mutable("encryption", nullableText, "Algorithm of the default encryption; null leaves it to S3."), "AES256"),
		or(mutable("kms_key_id", nullableText, "Key of the default encryption."), nil),
		or(mutable("force_destroy", boolean, "Delete the objects with the bucket."), false),
		computed("name", text, "The name; reading it makes a dependent wait for the bucket."),
		computed("arn", text, "ARN."),
		computed("objects_arn", text, "ARN pattern of all objects."),
		computed("regional_domain_name", text, "Host name of the bucket in its region."),
	})
	bucket.Constants = actions("s3", "ListBucket", "GetBucketLocation", "GetObject", "PutObject", "DeleteObject")

	policy := resource("S3BucketPolicy", "The policy of a bucket; a bucket has one.", global(), []model.Field{
		immutable("bucket", text, "Name of the bucket."),
		mutable("statements", statements, "Statements, as allow() and deny() make them."),
	})

	folder := resource("S3Folder", "The files of a folder of the source tree, as objects.", regional(), []model.Field{
		immutable("bucket", text, "Name of the bucket."),
		or(immutable("prefix", text, "What every key begins with; no slash is added."), ""),
		literal(mutable("source_path", text, "The folder, in the source tree.")),
		filled(or(mutable("manifest", textMap, "Hex SHA-256 of each file by its relative path."), map[string]any{}), model.FillManifest, "source_path"),
		or(mutable("cache_control", text, "Cache-Control of every object; empty sends none."), ""),
		computed("uploaded", textMap, "Hex SHA-256 of what was uploaded by key."),
	})
	return []*model.ResourceType{bucket, policy, folder}
}
