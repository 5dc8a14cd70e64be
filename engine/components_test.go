package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// published is a project that is made of components as people publish them: packages of
// several modules, two of them vendored, with inheritance, properties, components in
// components, and functions that make them (lang.md 13.3a).
func published(t *testing.T) *sourcetree.Folder {
	t.Helper()
	tree, err := sourcetree.OpenFolder("testdata/published")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func TestPublishedComponentsOfAProject(t *testing.T) {
	text, err := os.ReadFile("testdata/published/infra.py")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newDesk(t).withAll().compileWith(published(t), string(text))
	if err != nil {
		t.Fatal(err)
	}
	everywhere := []string{
		"aws.AwsAvailabilityZones:inner-zones", "aws.AwsAvailabilityZones:outer-zones",
		"aws.CloudWatchLogGroup:audit-logs", "aws.CloudWatchLogGroup:resize-logs",
		"aws.IamPolicy:audit-policy", "aws.IamPolicy:resize-policy", "aws.IamRole:audit-role", "aws.IamRole:resize-role",
		"aws.InternetGateway:outer-internet", "aws.LambdaFunction:audit-function", "aws.LambdaFunction:resize-function",
		"aws.RouteTable:inner-routes-0", "aws.RouteTable:outer-routes-0", "aws.RouteTable:outer-routes-1",
		"aws.S3Bucket:audit-archive-assets", "aws.S3BucketPolicy:audit-archive-policy",
		"aws.SecurityGroup:inner-inner", "aws.SecurityGroup:outer-inner",
		"aws.SqsQueue:audit-inbox-dead", "aws.SqsQueue:audit-inbox-queue", "aws.SqsQueue:resize-inbox-dead", "aws.SqsQueue:resize-inbox-queue",
		"aws.Subnet:inner-subnet-0", "aws.Subnet:outer-subnet-0", "aws.Subnet:outer-subnet-1", "aws.Vpc:inner-vpc", "aws.Vpc:outer-vpc",
	}
	var want, got []string
	for _, id := range everywhere {
		want = append(want, "dev:"+id, "prod:"+id)
	}
	want = append(want, "prod:aws.ElasticIp:outer-address-0", "prod:aws.ElasticIp:outer-address-1", "prod:aws.NatGateway:outer-nat-0", "prod:aws.NatGateway:outer-nat-1")
	for i := range c.Document.Nodes {
		got = append(got, c.Document.Nodes[i].ID)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	wantOutputs(t, c, map[string]string{
		"dev:resize-queue": `{"$ref":"dev:aws.SqsQueue:resize-inbox-queue#arn"}`,
		"prod:audit-queue": `{"$ref":"prod:aws.SqsQueue:audit-inbox-queue#arn"}`,
		"prod:network": `{"gateways":2,"label":"Network","size":2,"subnets":[{"$ref":"prod:aws.Subnet:outer-subnet-0#subnet_id"},` +
			`{"$ref":"prod:aws.Subnet:outer-subnet-1#subnet_id"}],"tables":["inner-subnet-0"]}`,
		"dev:owners": `["web","web"]`,
		"dev:names":  `["dev-audit-archive","bootstrap",512,"xxxxxx-d4fc1db6"]`,
		"prod:names": `["acme-audit-archive","bootstrap",1024,"xxxxxx-d4fc1db6"]`,
	})
	if len(c.Policies) != 1 || c.Policies[0].Name != "require-tags" || len(c.Policies[0].Types) != 2 {
		t.Errorf("policies %+v, want one, bound in prod", c.Policies)
	}
	property := func(id, field, want string) {
		t.Helper()
		if got := compact(t, c.Document.Node(id).Properties[field]); got != want {
			t.Errorf("%s of %s is %s, want %s", field, id, got, want)
		}
	}
	property("prod:aws.Subnet:outer-subnet-1", "cidr_block", `"10.0.16.0/20"`)
	property("prod:aws.Subnet:outer-subnet-1", "availability_zone", `{"$transform":{"args":[{"$ref":"prod:aws.AwsAvailabilityZones:outer-zones#names"},1],"op":"index"}}`)
	property("prod:aws.RouteTable:outer-routes-0", "routes", `[{"cidr_block":"0.0.0.0/0","gateway_id":"igw-0","nat_gateway_id":null}]`)
	property("dev:aws.RouteTable:outer-routes-0", "routes", `[]`)
	property("prod:aws.SqsQueue:audit-inbox-queue", "dead_letter_target_arn", `{"$ref":"prod:aws.SqsQueue:audit-inbox-dead#arn"}`)
	property("prod:aws.LambdaFunction:audit-function", "environment", `{"A":"1","QUEUE":{"$ref":"prod:aws.SqsQueue:audit-inbox-queue#url"}}`)
	property("prod:aws.LambdaFunction:audit-function", "signing_secret", `{"$secret_ref":{"name":"audit/key","provider":null}}`)
	property("dev:aws.LambdaFunction:resize-function", "code_sha256", `"8e29d2a8452d0c6f392830c837f5923c546e6ade9890eb002d774ad5075ec4e6"`)
	property("dev:aws.CloudWatchLogGroup:resize-logs", "log_group_name", `"/aws/lambda/dev-resize-main"`)
	if n := c.Document.Node("prod:aws.Vpc:inner-vpc"); !n.PreventDestroy {
		t.Error("the guard of the inner network is lost")
	}
	if n := c.Document.Node("prod:aws.ElasticIp:outer-address-0"); !slices.Equal(n.DependsOn, []string{"prod:aws.InternetGateway:outer-internet"}) {
		t.Errorf("the address waits for %v", n.DependsOn)
	}
}

// wantOutputs compares some outputs, as JSON.
func wantOutputs(t *testing.T, c *ir.Compilation, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, o := range c.Outputs {
		if _, asked := want[o.Key]; asked {
			got[o.Key] = compact(t, o.Value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func compact(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What a published component raises has its class and text, and the place of the call.
func TestPublishedComponentsRaise(t *testing.T) {
	const imports = "from atlantide.components.network import Network, PublicNetwork\nfrom atlantide.components.naming import Names\n"
	d, tree := newDesk(t).withAll(), published(t)
	for _, c := range []struct {
		reason, config string
		kind           model.Kind
		col            int
		says           []string
	}{
		{"under another name of the class", "n = Network('n', zones=17)", model.RegistryError, 5,
			[]string{"Network 'n': zones must be from 1 to 16, not 17", ".atlantis/components/network/topology.py, line 41"}},
		{"through the constructor of the base", "PublicNetwork('n', zones=0)", model.RegistryError, 1, []string{"Network 'n': zones must be from 1 to 16, not 0"}},
		{"in a method called by the config", "x = Names('n').of('vault')", model.LanguageError, 5, []string{"n names no 'vault'; it names bucket, queue, role"}},
		{"a resource that it declares wrongly", "Network('n', cidr='10.0.0.0/99')", model.LanguageError, 1, []string{"invalid resource inputs for aws.AwsAvailabilityZones 'n-zones': region"}},
		{"what its signature does not take", "Network('n', '10.0.0.0/16')", model.LanguageError, 1, []string{"positional"}},
		{"a private attribute", "Names('n')._limits", model.LanguageError, 1, []string{"'_limits'"}},
		{"an annotation is no attribute", "x = Names('n').kind", model.LanguageError, 5, []string{"'Names' object has no attribute 'kind'"}},
		{"a private module", "from atlantide.components.network._cidr import subnet", model.LanguageError, 1, []string{"'atlantide.components.network._cidr'"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := d.compileWith(tree, imports+c.config+"\n")
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Line != 3 || e.Col != c.col || e.File != "infra.py" {
				t.Fatalf("error %v, want a %s at 3:%d", err, c.kind, c.col)
			}
			for _, s := range c.says {
				if !strings.Contains(e.Error(), s) {
					t.Errorf("%q lacks %q", e.Error(), s)
				}
			}
		})
	}
}
