package aws_test

import (
	"context"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
)

var _ providers.Provider = (*aws.Provider)(nil)

func node(id string, inputs map[string]any) *model.Request {
	return &model.Request{Node: model.NodeOf(id), Inputs: inputs}
}

func TestValidate(t *testing.T) {
	ref := model.Reference{NodeID: "s:aws.S3Bucket:b", Output: "name"}.Marker()
	route := func(destination any) any { return map[string]any{"cidr_block": destination} }
	for _, c := range []struct {
		reason string
		nodes  []*model.Request
		says   []string // nil: passes
	}{
		{reason: "a period that Logs offers", nodes: []*model.Request{node("s:aws.CloudWatchLogGroup:g", map[string]any{"retention_days": int64(14)})}},
		{reason: "one that it does not", nodes: []*model.Request{node("s:aws.CloudWatchLogGroup:g", map[string]any{"retention_days": int64(15)})},
			says: []string{"s:aws.CloudWatchLogGroup:g", "retention_days", "14, 30", "not 15"}},
		{reason: "a period that is not known yet", nodes: []*model.Request{node("s:aws.CloudWatchLogGroup:g", map[string]any{"retention_days": ref})}},
		{reason: "policies of two buckets, one not known yet", nodes: []*model.Request{
			node("s:aws.S3BucketPolicy:a", map[string]any{"bucket": "x"}), node("s:aws.S3BucketPolicy:b", map[string]any{"bucket": "y"}),
			node("s:aws.S3BucketPolicy:c", map[string]any{"bucket": ref}), node("s:aws.S3BucketPolicy:d", map[string]any{"bucket": ref}),
		}},
		{reason: "two policies of one bucket", nodes: []*model.Request{
			node("s:aws.S3BucketPolicy:a", map[string]any{"bucket": "x"}), node("s:aws.S3BucketPolicy:b", map[string]any{"bucket": "x"}),
		}, says: []string{"s:aws.S3BucketPolicy:a", "s:aws.S3BucketPolicy:b", "'x'"}},
		{reason: "two tables may route to one destination", nodes: []*model.Request{
			node("s:aws.RouteTable:a", map[string]any{"routes": []any{route("0.0.0.0/0"), route(ref), route(ref)}}),
			node("s:aws.RouteTable:b", map[string]any{"routes": []any{route("0.0.0.0/0")}}),
		}},
		{reason: "one table may not", nodes: []*model.Request{node("s:aws.RouteTable:a", map[string]any{"routes": []any{route("0.0.0.0/0"), route("0.0.0.0/0")}})},
			says: []string{"s:aws.RouteTable:a", "'0.0.0.0/0'"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := aws.New().Validate(context.Background(), c.nodes)
			if c.says == nil {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			wantRefusal(t, err, c.says...)
		})
	}
}

// Nothing may look done, and nothing absent: the engine would record it.
func TestOperationsRefuse(t *testing.T) {
	ctx, p, r := context.Background(), aws.New(), node("s:aws.Vpc:v", nil)
	ops := map[string]func() error{
		"created": func() error { _, err := p.Create(ctx, r); return err },
		"read":    func() error { _, _, err := p.Read(ctx, r); return err },
		"updated": func() error { _, err := p.Update(ctx, r); return err },
		"deleted": func() error { return p.Delete(ctx, r) },
	}
	for op, call := range ops {
		wantRefusal(t, call(), "s:aws.Vpc:v", op, "later release")
	}
}

func wantRefusal(t *testing.T, err error, says ...string) {
	t.Helper()
	if !model.IsKind(err, model.ProviderError) || model.ClassOf(err) != model.ClassUser {
		t.Fatalf("error %v, want a ProviderError of the user", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q lacks %q", err, s)
		}
	}
}
