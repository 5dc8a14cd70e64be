package aws

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// retentions are the periods that CloudWatch Logs offers, in days. They are judged at
// plan, so that configs with others still compile (providers.md 2.11).
var retentions = []int64{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731,
	1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

// validate looks at all declared nodes. What is not known yet is not judged.
func validate(nodes []*model.Request) error {
	policies := map[string]string{} // bucket → node of its policy
	for _, r := range nodes {
		var err *model.Error
		switch r.Node.Type {
		case "aws.CloudWatchLogGroup":
			err = validRetention(r)
		case "aws.S3BucketPolicy":
			err = onlyPolicy(r, policies)
		case "aws.RouteTable":
			err = distinctRoutes(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func validRetention(r *model.Request) *model.Error {
	days, known := r.Inputs["retention_days"].(int64)
	if !known || slices.Contains(retentions, days) {
		return nil
	}
	offered := make([]string, len(retentions))
	for i, n := range retentions {
		offered[i] = strconv.FormatInt(n, 10)
	}
	return refuse(r, "", "%s: retention_days must be one of %s, not %d", r.Node.ID, strings.Join(offered, ", "), days)
}

// onlyPolicy refuses a second policy for a bucket: the last one written would win.
func onlyPolicy(r *model.Request, policies map[string]string) *model.Error {
	bucket, known := r.Inputs["bucket"].(string)
	if !known {
		return nil
	}
	if other, taken := policies[bucket]; taken {
		return refuse(r, "", "%s and %s both are the policy of bucket '%s', which has 1; put all statements into one of them", other, r.Node.ID, bucket)
	}
	policies[bucket] = r.Node.ID
	return nil
}

// distinctRoutes refuses two routes to one destination.
func distinctRoutes(r *model.Request) *model.Error {
	routes, _ := r.Inputs["routes"].([]any)
	seen := map[string]bool{}
	for _, item := range routes {
		fields, _ := item.(map[string]any)
		destination, known := fields["cidr_block"].(string)
		if known && seen[destination] {
			return refuse(r, "", "%s: routes has '%s' 2 times; a destination has 1 route", r.Node.ID, destination)
		}
		seen[destination] = known
	}
	return nil
}
