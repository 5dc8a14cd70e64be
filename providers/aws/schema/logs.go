package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// logs is CloudWatch Logs (providers.md 2.11).
func logs() []*model.ResourceType {
	group := resource("CloudWatchLogGroup", "A log group.", tagged(), []model.Field{
		named(immutable("log_group_name", text, "Name.")),
		or(mutable("retention_days", integer, "Days for which events are kept."), int64(14)),
		computed("arn", text, "ARN, ending in ':*'."),
	})
	group.Constants = actions("logs", "CreateLogStream", "PutLogEvents")
	return []*model.ResourceType{group}
}
