package schema

import "github.com/atlantide-org/atlantide-operator/engine/model"

// constants are the names that configs import beside types and helpers
// (providers.md 3.3). They are plain texts; only a misspelled member fails.
func constants() []model.Constant {
	return []model.Constant{
		{Name: "Region", Members: []model.Constant{
			{Name: "UsEast1", Value: "us-east-1"},
			{Name: "UsEast2", Value: "us-east-2"},
			{Name: "UsWest1", Value: "us-west-1"},
			{Name: "UsWest2", Value: "us-west-2"},
			{Name: "CaCentral1", Value: "ca-central-1"},
			{Name: "EuWest1", Value: "eu-west-1"},
			{Name: "EuWest2", Value: "eu-west-2"},
			{Name: "EuWest3", Value: "eu-west-3"},
			{Name: "EuCentral1", Value: "eu-central-1"},
			{Name: "EuNorth1", Value: "eu-north-1"},
			{Name: "EuSouth1", Value: "eu-south-1"},
			{Name: "ApSouth1", Value: "ap-south-1"},
			{Name: "ApSoutheast1", Value: "ap-southeast-1"},
			{Name: "ApSoutheast2", Value: "ap-southeast-2"},
			{Name: "ApNortheast1", Value: "ap-northeast-1"},
			{Name: "ApNortheast2", Value: "ap-northeast-2"},
			{Name: "SaEast1", Value: "sa-east-1"},
		}},
		{Name: "ServicePrincipal", Members: []model.Constant{
			{Name: "Ec2", Value: "ec2.amazonaws.com"},
			{Name: "Lambda", Value: "lambda.amazonaws.com"},
			{Name: "Ecs", Value: "ecs.amazonaws.com"},
			{Name: "EcsTasks", Value: "ecs-tasks.amazonaws.com"},
			{Name: "Events", Value: "events.amazonaws.com"},
			{Name: "ApiGateway", Value: "apigateway.amazonaws.com"},
			{Name: "StepFunctions", Value: "states.amazonaws.com"},
			{Name: "Sns", Value: "sns.amazonaws.com"},
			{Name: "CloudFront", Value: "cloudfront.amazonaws.com"},
		}},
		{Name: "ALLOW_ALL_EGRESS", Nested: securityRule, Value: allowAllEgress()},
		{Name: "CLOUDFRONT_ZONE_ID", Value: "Z2FDTNDATAQYW2"},
	}
}
