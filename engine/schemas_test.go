package engine_test

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// withAll puts the providers that need no folder beside the one of the desk.
func (d *desk) withAll() *desk {
	d.Helper()
	d.build(random.New(rand.Reader, time.Now), aws.New())
	return d
}

func (d *desk) compileWhole(text string) (*ir.Compilation, error) {
	return d.engine.Compile(d.Context(), engine.Source{Filename: "infra.py", Text: text}, engine.CompileOptions{})
}

const imports = `from atlantide.core import SecretRef
from atlantide.providers.aws import (
    ALLOW_ALL_EGRESS, CLOUDFRONT_ZONE_ID, AcmCertificate, AliasTarget, CloudFrontDistribution, CloudWatchLogGroup, DynamoDbTable,
    IamPolicy, IamRole, LambdaFunction, Region, Route, Route53HostedZone, Route53Record, RouteTable, S3Bucket, S3Folder, SecurityGroup,
    ServicePrincipal, SgRule, SqsQueue, Subnet, Vpc, allow, assume_role, deny,
)
from atlantide.providers.aws.policy import policy_document, policy_json
from atlantide.providers.local import File
from atlantide.providers.random import Id, Password
r = File("x", path="x").checksum
`

// What a refusal says: type, field, the value refused and the limit (providers.md 1.14).
func TestConstraints(t *testing.T) {
	const (
		sg     = `SecurityGroup("g", group_name="g", vpc_id="v", region="r", `
		lambda = `LambdaFunction("f", function_name="f", role_arn="a", region="r", `
		record = `Route53Record("r", zone_id="z", record_name="a", `
		queue  = `SqsQueue("q", region="r", queue_name=`
		site   = `CloudFrontDistribution("d", origin_domain="o", oac_id="x", `
	)
	for _, c := range []struct {
		reason, config string
		says           []string // nil: compiles
	}{
		{"63 characters are a bucket name", `S3Bucket("b", region="r", bucket="a" * 63)`, nil},
		{"64 are none", `S3Bucket("b", region="r", bucket="a" * 64)`, []string{"aws.S3Bucket 'b'", "bucket: ", "'aaa", "3-63"}},
		{"no two dots in a row", `S3Bucket("b", region="r", bucket="a..b")`, []string{"bucket: ", "'..'", "'a..b'"}},
		{"a hyphen ends no bucket name", `S3Bucket("b", region="r", bucket="ab-")`, []string{"bucket: ", "'ab-'"}},
		{"a handle is not judged", `S3Bucket("b", region="r", bucket=r)`, nil},
		{"no region anywhere", `S3Bucket("b", bucket="abc")`, []string{"region: is required"}},
		{"a region of null is refused, not filled", `S3Bucket("b", bucket="abc", region=None)`, []string{"region: ", "None"}},

		{"a FIFO name with fifo", queue + `"a.fifo", fifo=True)`, nil},
		{"and without", queue + `"a.fifo")`, []string{"aws.SqsQueue 'q'", "queue_name, fifo: ", ".fifo", "queue_name='a.fifo', fifo=False"}},
		{"while fifo is a handle it counts as set", queue + `"a.fifo", fifo=r)`, nil},
		{"80 characters", queue + `"a" * 80)`, nil},
		{"80 with the suffix that will be added", queue + `"a" * 75, fifo=True)`, nil},
		{"81 with it", queue + `"a" * 76, fifo=True)`, []string{"at most 80", "fifo=True"}},
		{"nothing but the suffix", queue + `".fifo", fifo=True)`, []string{"queue_name: ", "'.fifo'"}},
		{"no receive before the dead-letter queue", queue + `"a", dead_letter_target_arn=r, max_receive_count=0)`,
			[]string{"at least 1", "max_receive_count=0"}},
		{"a count that is not known", queue + `"a", dead_letter_target_arn="d", max_receive_count=r)`, nil},
		{"a count without such a queue", queue + `"a", max_receive_count=0)`, nil},

		{"neither trust form", `IamRole("r", role_name="r")`, []string{"assumed_by, assume_role_policy: ", "exactly 1", "assumed_by=None, assume_role_policy=None"}},
		{"a handle is a trust form", `IamRole("r", role_name="r", assumed_by=[r, "a"])`, nil},
		{"beside another one it is one too many", `IamRole("r", role_name="r", assumed_by=r, assume_role_policy="{}")`, []string{"exactly 1"}},
		{"a principal is a text", `IamRole("r", role_name="r", assumed_by=5)`, []string{"assumed_by: ", "a str or a list of str or None", "not 5 (int)"}},
		{"so is each of several, beside a handle too", `IamRole("r", role_name="r", assumed_by=[r, 5])`, []string{"assumed_by.1: ", "not 5 (int)"}},
		{"64 characters of a role", `IamRole("r", role_name="é" * 64, assumed_by="a")`, nil},

		{"no package", lambda + `s3_key="k")`, []string{"code_path, s3_bucket: ", "code_path=None, s3_bucket=None"}},
		{"a bucket of null is none", lambda + `s3_bucket=None, s3_key="k")`, []string{"code_path, s3_bucket: "}},
		{"a bucket that is a handle", lambda + `s3_bucket=r, s3_key="k")`, nil},
		{"a package that would have to be read", lambda + `code_path="src")`, []string{"aws.LambdaFunction 'f'", "code_sha256", "'src'", "source tree"}},
		{"a package whose digest is given", lambda + `code_path="src", code_sha256="00")`, nil},
		{"a folder that would have to be read", `S3Folder("f", region="r", bucket="b", source_path="site")`, []string{"manifest", "'site'"}},
		{"a literal is no secret, and is not shown", lambda + `s3_bucket="b", s3_key="k", signing_secret="hunter2")`, []string{"signing_secret: ", "a secret handle"}},
		{"a handle of a secret is", lambda + `s3_bucket="b", s3_key="k", signing_secret=SecretRef("s"))`, nil},

		{"a rule without ports", sg + `ingress=[SgRule(cidr_blocks=["0.0.0.0/0"])])`, []string{"SgRule: protocol, from_port, to_port: ", "'-1'", "protocol='tcp', from_port=None, to_port=None"}},
		{"a rule for nobody", sg + `ingress=[SgRule(protocol="-1")])`, []string{"at least 1 of cidr_blocks, ipv6_cidr_blocks and source_security_group_id"}},
		{"the same in a dict", sg + `ingress=[ALLOW_ALL_EGRESS, {"protocol": "-1"}])`, []string{"aws.SecurityGroup 'g'", "ingress.1.cidr_blocks, "}},
		{"a peer that is a handle", sg + `ingress=[SgRule(protocol="-1", source_security_group_id=r)])`, nil},
		{"a dict with a handle is forgiven what is said of the whole", sg + `ingress=[{"description": r}])`, nil},
		{"but not an unknown key", sg + `ingress=[{"description": r, "port": 1}])`, []string{"ingress.0.port: ", "from_port"}},
		{"a route to nowhere", `RouteTable("t", region="r", vpc_id="v", routes=[{}])`, []string{"routes.0.gateway_id, nat_gateway_id: ", "exactly 1"}},
		{"a route to two places, one a handle", `Route(gateway_id=r, nat_gateway_id="n")`, []string{"exactly 1"}},

		{"values and an alias", record + `records=["1"], alias=AliasTarget(name="a", zone_id=CLOUDFRONT_ZONE_ID))`, []string{"records, alias: ", "exactly 1"}},
		{"records that are not known", record + `records=r)`, nil},
		{"an alias at the default TTL", record + `alias={"name": "a", "zone_id": "z"}, ttl=300)`, nil},
		{"an alias with another", record + `alias={"name": "a", "zone_id": "z"}, ttl=301)`, []string{"ttl, alias: ", "300", "ttl=301"}},
		{"an alias whose TTL is not known", record + `alias={"name": "a", "zone_id": "z"}, ttl=r)`, nil},
		{"an alias without a target", record + `alias={})`, []string{"alias.name: is required", "alias.zone_id: is required"}},

		{"names without a certificate", site + `aliases=["a.test"])`, []string{"aliases, certificate_arn: ", "['a.test']"}},
		{"a certificate without names", site + `certificate_arn=r)`, []string{"aliases=[]"}},
		{"names and a certificate to come", site + `aliases=[r], certificate_arn=r)`, nil},
		{"each further name of a certificate", `AcmCertificate("c", domain_name="a.test", subject_alternative_names=["b.test", "c"])`,
			[]string{"subject_alternative_names.1: ", "2 labels", "253", "'c'"}},
		{"a name beside a handle", `AcmCertificate("c", domain_name="a.test", subject_alternative_names=[r, "c"])`, []string{"subject_alternative_names.1: "}},

		{"4096 characters of a password", `Password("p", length=4096)`, nil},
		{"4097", `Password("p", length=4097)`, []string{"random.Password 'p'", "length: ", "1 to 4096", "not 4097"}},
		{"1025 bytes of an id", `Id("i", byte_length=1025)`, []string{"byte_length: ", "1 to 1024"}},
		{"an action that nobody has", `S3Bucket.Action.GetObjct`, []string{"AttributeError", "GetObjct"}},
		{"a type without actions", `Vpc.Action`, []string{"AttributeError", "Action"}},
		{"a region that nobody has", `Region.Mars`, []string{"AttributeError", "Mars"}},
		{"a statement that denies nothing", `deny(on="*")`, []string{"ValueError", "Deny", "deny()"}},
		{"on is keyword-only", `allow("a:B", "*")`, []string{"TypeError", "'on'"}},
		{"a trust policy for nobody", `assume_role()`, []string{"ValueError", "assume_role()"}},
		{"a trust policy is a text, which no handle is in", `assume_role(r)`, []string{"ValueError", "assumed_by"}},
		{"a document that is a text holds no handle", `policy_json([allow("a:B", on=r)])`, []string{"Ref"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := newDesk(t).withAll().compileWhole(imports + c.config + "\n")
			if c.says == nil {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.LanguageError || e.Class != model.ClassUser {
				t.Fatalf("error %v, want a LanguageError", err)
			}
			if want := strings.Count(imports, "\n") + 1; e.Line != want {
				t.Errorf("line %d, want %d", e.Line, want)
			}
			for _, s := range c.says {
				if !strings.Contains(e.Message, s) {
					t.Errorf("%q lacks %q", e.Message, s)
				}
			}
			if strings.Contains(e.Message, "hunter2") {
				t.Error("the secret is shown")
			}
		})
	}
}

// What a provider's module gives beside its types: values that a config reads.
func TestProviderModule(t *testing.T) {
	d := newDesk(t).withAll()
	c, err := d.compileWhole(imports + `
from atlantide.providers.aws.region import Region as Again
from atlantide.providers.aws.components import SgRule as Rule
from atlantide.providers.aws.policy import allow as permit
from atlantide.core import output
s = allow("a:B", "a:C", on=[r], principal={"AWS": r}, sid="S", condition={"k": 1})
output("keys", [list(s), list(deny("x", on="*"))])
output("statement", s)
output("document", policy_document([s]))
output("json", policy_json([allow("b:1", "a:2", on="*", sid="x"), deny("c", on=["é🚀"], principal="*")]))
output("trust", [assume_role("a.b"), assume_role("a.b", "c.d"), assume_role(["a.b"]) == assume_role("a.b")])
output("texts", [Region.EuWest1, ServicePrincipal.StepFunctions, S3Bucket.Action.GetObject, Region.EuWest1 == "eu-west-1", Region.EuWest1.upper()])
output("same", [Again == Region, Rule == SgRule, S3Bucket.Action == S3Bucket.Action, permit("x", on=1) == allow("x", on=1)])
g = SecurityGroup("g", group_name="g", vpc_id="v", region="r")
output("egress", [g.egress[0].protocol, g.egress == [ALLOW_ALL_EGRESS], ALLOW_ALL_EGRESS.cidr_blocks])
`)
	if err != nil {
		t.Fatal(err)
	}
	ref := model.Reference{NodeID: "default:local.File:x", Output: "checksum"}.Marker()
	statement := map[string]any{
		"Effect": "Allow", "Action": []any{"a:B", "a:C"}, "Resource": []any{ref}, "Principal": map[string]any{"AWS": ref},
		"Sid": "S", "Condition": map[string]any{"k": int64(1)},
	}
	want := map[string]any{
		"keys":      []any{[]any{"Effect", "Action", "Resource", "Principal", "Sid", "Condition"}, []any{"Effect", "Action", "Resource"}},
		"statement": statement,
		"document":  map[string]any{"Version": "2012-10-17", "Statement": []any{statement}},
		"json": `{"Statement":[{"Action":["b:1","a:2"],"Effect":"Allow","Resource":"*","Sid":"x"},` +
			`{"Action":["c"],"Effect":"Deny","Principal":"*","Resource":["\u00e9\ud83d\ude80"]}],"Version":"2012-10-17"}`,
		"trust": []any{
			`{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"a.b"}}],"Version":"2012-10-17"}`,
			`{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":["a.b","c.d"]}}],"Version":"2012-10-17"}`,
			false, // a list of one is written as it was given
		},
		"texts":  []any{"eu-west-1", "states.amazonaws.com", "s3:GetObject", true, "EU-WEST-1"},
		"same":   []any{true, true, true, true},
		"egress": []any{"-1", true, []any{"0.0.0.0/0"}},
	}
	got := map[string]any{}
	for _, o := range c.Outputs {
		got[strings.TrimPrefix(o.Key, "default:")] = o.Value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestImportsOfProviders(t *testing.T) {
	d := newDesk(t).withAll()
	for _, refused := range []struct{ reason, module, name string }{
		{"a provider is not driven by a config", "atlantide.providers.aws", "AwsProvider"},
		{"nor is this one", "atlantide.providers.random", "RandomProvider"},
		{"a plugin's entry", "atlantide.providers.aws", "PLUGIN"},
		{"an account is no part of a config", "atlantide.providers.aws", "AwsAlias"},
		{"documents are of the policy module alone", "atlantide.providers.aws", "policy_json"},
		{"a type of another provider", "atlantide.providers.random", "S3Bucket"},
	} {
		_, err := d.compileWhole("from " + refused.module + " import " + refused.name + "\n")
		wantKind(t, err, model.LanguageError, "'"+refused.name+"'")
		if t.Failed() {
			t.Fatal(refused.reason)
		}
	}
}

// A resource that nothing can make is planned and hashed; a run that would make it
// locks, writes and calls nothing.
func TestPlanOnly(t *testing.T) {
	d := newDesk(t).withAll()
	body := "from atlantide.providers.aws import SnsTopic\nSnsTopic('t', name='t')\nFile('f', path='f')"
	p, err := d.engine.Plan(d.Context(), engine.PlanRequest{Compilation: d.compile(body), Snapshot: d.snapshot(), OnFailure: plan.OnFailureHalt})
	if err != nil || !p.HasPending() {
		t.Fatalf("plan %v, %v", p, err)
	}
	_, err = d.engine.Apply(d.Context(), d.request(body))
	wantKind(t, err, model.ProviderError, "s:aws.SnsTopic:t")
	if model.ClassOf(err) != model.ClassUser || !strings.Contains(err.Error(), "later release") {
		t.Errorf("error %v", err)
	}
	d.wantCalls(map[string]int{})
	if d.locks.Load() != 0 || len(d.snapshot().Rows) != 0 {
		t.Errorf("%d locks, rows %v", d.locks.Load(), slices.Collect(maps.Keys(d.snapshot().Rows)))
	}
}

// A random value is drawn once, kept, and drawn again when a keeper moves.
func TestRandomIsKept(t *testing.T) {
	d := newDesk(t).withAll()
	body := func(gen string) string {
		return "from atlantide.providers.random import Id\nn = Id('n', keepers={'gen': '" + gen + "'})\nFile('f', path='f', content=n.result)"
	}
	result := func() any { return d.snapshot().Rows["s:random.Id:n"].Outputs["result"] }
	d.mustApply(body("1"))
	first := result()
	d.mustApply(body("1"))
	if again := result(); again != first {
		t.Errorf("a steady apply drew %v after %v", again, first)
	}
	d.mustApply(body("2"))
	if second := result(); second == first {
		t.Errorf("a moved keeper kept %v", first)
	}
	d.wantFiles(map[string]string{"f": result().(string)})
}
