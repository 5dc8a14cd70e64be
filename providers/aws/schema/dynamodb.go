package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// tables is DynamoDB (providers.md 2.10).
func tables() []*model.ResourceType {
	keyType := oneOf("S", "N", "B")
	table := resource("DynamoDbTable", "A table.", tagged(), []model.Field{
		named(immutable("table_name", text, "Name.")),
		immutable("hash_key", text, "Attribute of the partition key."),
		or(immutable("range_key", nullableText, "Attribute of the sort key."), nil),
		or(immutable("hash_key_type", keyType, "Type of the partition key: text, number or binary."), "S"),
		or(immutable("range_key_type", keyType, "Type of the sort key."), "S"),
		or(mutable("billing_mode", oneOf("PAY_PER_REQUEST"), "How use is paid; there are no fields for provisioned capacity."), "PAY_PER_REQUEST"),
		or(mutable("ttl_attribute", nullableText, "Attribute with the time at which an item expires."), nil),
		or(mutable("point_in_time_recovery", boolean, "Keep continuous backups."), false),
		computed("arn", text, "ARN."),
	})
	table.Constants = actions("dynamodb", "GetItem", "PutItem", "DeleteItem", "Query", "Scan")
	return []*model.ResourceType{table}
}
