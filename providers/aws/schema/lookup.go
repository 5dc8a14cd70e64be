package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// lookups are the data sources (providers.md 2.24, 2.25).
func lookups() []*model.ResourceType {
	query := append([]model.Field{region()}, global()...)
	caller := resource("AwsCallerIdentity", "Who the credentials belong to.", query, []model.Field{
		computed("account_id", text, "Account."),
		computed("arn", text, "ARN of the caller."),
		computed("user_id", text, "Id of the caller."),
	})
	zones := resource("AwsAvailabilityZones", "The zones of a region, sorted by name.", query, []model.Field{
		or(immutable("state", text, "State that a zone must be in."), "available"),
		computed("names", texts, "Names."),
		computed("zone_ids", texts, "Ids, in the order of the names."),
	})
	caller.Kind, zones.Kind = model.KindData, model.KindData
	return []*model.ResourceType{caller, zones}
}
