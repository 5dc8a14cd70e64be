package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// delivery is CloudFront (providers.md 2.19, 2.20).
func delivery() []*model.ResourceType {
	access := identified("oac_id", resource("OriginAccessControl", "How CloudFront signs its requests to a bucket.", global(), []model.Field{
		named(immutable("oac_name", text, "Name.")),
		or(mutable("description", text, "What it is for."), ""),
		computed("oac_id", text, "Id."),
	}))
	distribution := identified("distribution_id", resource("CloudFrontDistribution", "A distribution in front of one bucket.", globalTagged(), []model.Field{
		immutable("origin_domain", text, "Host name of the bucket."),
		mutable("oac_id", text, "Origin access control."),
		or(mutable("default_root_object", text, "Object that stands for the root."), "index.html"),
		or(mutable("enabled", boolean, "Serve viewers."), true),
		or(mutable("comment", text, "A remark."), ""),
		or(mutable("aliases", texts, "Further host names."), []any{}),
		or(mutable("certificate_arn", nullableText, "Certificate of the further host names."), nil),
		or(mutable("minimum_protocol_version", text, "Lowest TLS policy of viewers."), "TLSv1.2_2021"),
		or(mutable("price_class", text, "Which edges serve."), "PriceClass_All"),
		computed("distribution_id", text, "Id."),
		computed("domain_name", text, "Host name at CloudFront."),
		computed("arn", text, "ARN."),
	}))
	distribution.Rules = []model.Rule{{
		Fields: []string{"aliases", "certificate_arn"}, Must: "give aliases and certificate_arn together, or neither",
		Holds: func(f map[string]model.Value) bool { return given(f["aliases"]) == given(f["certificate_arn"]) },
	}}
	return []*model.ResourceType{access, distribution}
}
