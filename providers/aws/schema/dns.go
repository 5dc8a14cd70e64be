package schema

import (
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// defaultTTL is the TTL of a record that says none, in seconds.
const defaultTTL = 300

// names is ACM and Route 53 (providers.md 2.21 to 2.23).
func names() []*model.ResourceType {
	domain := checked(text, dottedDomain())
	certificate := identified("arn", resource("AcmCertificate", "A public certificate, in us-east-1.", globalTagged(), []model.Field{
		named(immutable("domain_name", domain, "Primary name.")),
		or(immutable("subject_alternative_names", listOf(domain), "Further names."), []any{}),
		or(immutable("validation_method", oneOf("DNS", "EMAIL"), "How ownership is proved."), "DNS"),
		computed("arn", text, "ARN."),
		computed("validation_name", text, "Name of the record that proves the primary name."),
		computed("validation_type", text, "Its type."),
		computed("validation_value", text, "Its value."),
	}))
	zone := identified("zone_id", resource("Route53HostedZone", "A public zone.", global(), []model.Field{
		named(immutable("domain", domain, "Name of the zone.")),
		or(mutable("comment", text, "A remark."), ""),
		computed("zone_id", text, "Id."),
		computed("name_servers", texts, "Servers to delegate to."),
	}))
	record := resource("Route53Record", "A set of records of one name and type.", global(), []model.Field{
		immutable("zone_id", text, "Zone."),
		immutable("record_name", text, "Name."),
		or(immutable("record_type", oneOf("A", "AAAA", "CNAME", "TXT", "MX", "NS"), "Type."), "A"),
		or(mutable("ttl", integer, "Seconds that an answer is good for; an alias has none of its own."), int64(defaultTTL)),
		or(mutable("records", texts, "Values, as the type writes them."), []any{}),
		or(mutable("alias", model.FieldType{Kind: model.KindNested, Nested: aliasTarget, Nullable: true}, "What to answer with in place of values."), nil),
	})
	record.Rules = []model.Rule{
		{
			Fields: []string{"records", "alias"}, Must: "give exactly 1 of records and alias",
			Holds: func(f map[string]model.Value) bool { return count(f, "records", "alias") == 1 },
		},
		{
			Fields: []string{"ttl", "alias"}, Must: fmt.Sprintf("leave ttl at %d with an alias, which has none of its own", defaultTTL),
			Holds: func(f map[string]model.Value) bool {
				ttl, known := f["ttl"].(int64)
				return !given(f["alias"]) || !known || ttl == defaultTTL
			},
		},
	}
	return []*model.ResourceType{certificate, zone, record}
}

var aliasTarget = &model.NestedType{
	Name: "AliasTarget",
	Doc:  "The name of another AWS resource that a record stands for.",
	Fields: []model.Field{
		mutable("name", text, "Name of the target."),
		mutable("zone_id", text, "Zone of the target."),
		or(mutable("evaluate_target_health", boolean, "Answer only while the target is healthy."), false),
	},
}
