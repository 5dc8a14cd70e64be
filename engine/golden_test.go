package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The golden vectors of providers.md 13: what a node's hash is made of, byte by byte.
func TestGoldenHashes(t *testing.T) {
	const stack = `from atlantide.core import SecretRef, Stack
from atlantide.providers.aws import (
    CLOUDFRONT_ZONE_ID, AliasTarget, AwsAvailabilityZones, CloudFrontDistribution, IamPolicy, LambdaFunction, Route, Route53Record,
    RouteTable, S3Bucket, SecureBucket, SecurityGroup, SqsQueue, allow,
)
from atlantide.providers.local import File
from atlantide.providers.random import Password
`
	const dev = stack + "with Stack(\"dev\", region=\"eu-north-1\", tags={\"env\": \"dev\"}):\n    "
	const assets = "ed3394298eb3762d680113cf2f1d7b760db33aa6de3650e072a75ddefb03877d"
	const greeting = "a0de4c9548771eba8f0e405ce45cd5abeeee898994db49a334c208b831e9f9bd"
	for _, v := range []struct{ vector, config, id, payload, hash string }{
		{"V1", dev + `S3Bucket("b", bucket="atlantide-assets-dev-7f3a91c2")`, "dev:aws.S3Bucket:b",
			`{"deps":[],"properties":{"block_public_access":true,"bucket":"atlantide-assets-dev-7f3a91c2","encryption":"AES256","force_destroy":false,"kms_key_id":null,"provider_alias":null,"region":"eu-north-1","tags":{"env":"dev"},"versioning":false},"type":"aws.S3Bucket"}`,
			"ba9807674e749c386fd72f9adcf16d99e5a328dcb46ddd6ebab3624f88d68ea6"},
		{"V2", dev + `SqsQueue("q", queue_name="jobs", fifo=True)`, "dev:aws.SqsQueue:q",
			`{"deps":[],"properties":{"dead_letter_target_arn":null,"fifo":true,"kms_key_id":null,"max_receive_count":5,"message_retention_seconds":345600,"provider_alias":null,"queue_name":"jobs","receive_wait_time_seconds":0,"region":"eu-north-1","tags":{"env":"dev"},"visibility_timeout":30},"type":"aws.SqsQueue"}`,
			"3eac93d5d7d738dddab8908146b1b4d6f9fe8d8faf5daba0b112f07f824a66c5"},
		{"V3", dev + `SecurityGroup("g", group_name="edge-dev", vpc_id="vpc-1")`, "dev:aws.SecurityGroup:g",
			`{"deps":[],"properties":{"description":"managed by atlantide","egress":[{"cidr_blocks":["0.0.0.0/0"],"description":"","from_port":null,"ipv6_cidr_blocks":[],"protocol":"-1","source_security_group_id":null,"to_port":null}],"group_name":"edge-dev","ingress":[],"provider_alias":null,"region":"eu-north-1","tags":{"env":"dev"},"vpc_id":"vpc-1"},"type":"aws.SecurityGroup"}`,
			"ce892faf2c5ad549dc2a7f2338e484090be2b5df60458cdb095795549cb390e5"},
		{"V4", dev + `RouteTable("t", vpc_id="vpc-1", routes=[Route(gateway_id="igw-1")], subnet_ids=["subnet-1"])`, "dev:aws.RouteTable:t",
			`{"deps":[],"properties":{"provider_alias":null,"region":"eu-north-1","routes":[{"cidr_block":"0.0.0.0/0","gateway_id":"igw-1","nat_gateway_id":null}],"subnet_ids":["subnet-1"],"tags":{"env":"dev"},"vpc_id":"vpc-1"},"type":"aws.RouteTable"}`,
			"464e85162c04324f6f1e3ad1807dd63033a0dbc90568ebc9fa74914a668f7326"},
		{"V5", dev + `IamPolicy("p", role_arn="arn:aws:iam::1:role/r", policy_name="p", statements=[allow("s3:GetObject", on="*")])`, "dev:aws.IamPolicy:p",
			`{"deps":[],"properties":{"policy_name":"p","provider_alias":null,"role_arn":"arn:aws:iam::1:role/r","statements":[{"Action":["s3:GetObject"],"Effect":"Allow","Resource":"*"}]},"type":"aws.IamPolicy"}`,
			"b4b9d47caf796864d163cd22598749aa7703a5522a175e774ab55a91cfe677be"},
		{"V6", dev + `LambdaFunction("f", function_name="f", role_arn="arn:aws:iam::1:role/r", s3_bucket="b", s3_key="k", signing_secret=SecretRef("app/key"))`, "dev:aws.LambdaFunction:f",
			`{"deps":[],"properties":{"code_path":null,"code_sha256":"","environment":{},"function_name":"f","handler":"index.handler","memory_size":128,"provider_alias":null,"region":"eu-north-1","role_arn":"arn:aws:iam::1:role/r","runtime":"python3.12","s3_bucket":"b","s3_key":"k","s3_object_version":null,"signing_secret":{"$secret_ref":{"name":"app/key","provider":null}},"tags":{"env":"dev"},"timeout":3},"type":"aws.LambdaFunction"}`,
			"ee4b7c418dec6d044997150da3a6e8a35dc2a0dde72c05a8f2dd585a8c5f75fa"},
		{"V7", dev + `Route53Record("r", zone_id="Z1", record_name="example.com", alias=AliasTarget(name="d1.cloudfront.net", zone_id=CLOUDFRONT_ZONE_ID))`, "dev:aws.Route53Record:r",
			`{"deps":[],"properties":{"alias":{"evaluate_target_health":false,"name":"d1.cloudfront.net","zone_id":"Z2FDTNDATAQYW2"},"provider_alias":null,"record_name":"example.com","record_type":"A","records":[],"ttl":300,"zone_id":"Z1"},"type":"aws.Route53Record"}`,
			"955fc2036b0d2aa6829634028915d2fde660a4281cb6959f65911f7c967a54f1"},
		{"V8", dev + `AwsAvailabilityZones("z")`, "dev:aws.AwsAvailabilityZones:z",
			`{"deps":[],"properties":{"provider_alias":null,"region":"eu-north-1","state":"available"},"type":"aws.AwsAvailabilityZones"}`,
			"7a24e077b1d86ca7caeaf0ecb32b7590f47f931e179d4208c54da7fa63cf38ec"},
		{"V9", dev + `Password("p")`, "dev:random.Password:p",
			`{"deps":[],"properties":{"keepers":{},"length":32},"type":"random.Password"}`,
			"ec3a32863ab23f3835e83a31249c3cc41c84d970ec5b31022a1ca2fb3bfa4905"},
		{"V10", dev + `File("f", path="out/greeting.txt", content="hello atlantide")`, "dev:local.File:f",
			`{"deps":[],"properties":{"content":"hello atlantide","path":"out/greeting.txt"},"type":"local.File"}`, greeting},
		{"V11", dev + `CloudFrontDistribution("d", origin_domain="b.s3.eu-north-1.amazonaws.com", oac_id="E1")`, "dev:aws.CloudFrontDistribution:d",
			`{"deps":[],"properties":{"aliases":[],"certificate_arn":null,"comment":"","default_root_object":"index.html","enabled":true,"minimum_protocol_version":"TLSv1.2_2021","oac_id":"E1","origin_domain":"b.s3.eu-north-1.amazonaws.com","price_class":"PriceClass_All","provider_alias":null,"tags":{"env":"dev"}},"type":"aws.CloudFrontDistribution"}`,
			"4b5384d0656db3540e738d8f4341c42f9d047d83954966decc94a808bb44e220"},
		{"V12", stack + "with Stack(\"demo\", region=\"r\"):\n    g = File(\"greeting\", path=\"out/greeting.txt\", content=\"hello atlantide\")\n    File(\"receipt\", path=\"out/receipt.txt\", content=g.checksum)", "demo:local.File:receipt",
			`{"deps":["` + greeting + `"],"properties":{"content":{"$ref":"demo:local.File:greeting#checksum"},"path":"out/receipt.txt"},"type":"local.File"}`,
			"d1c54122b306e5ee15c79032364658d9151835a7e7ace777b65ba7b36715862a"},
		{"V13, the bucket", stack + "with Stack(\"prod\", region=\"us-east-1\"):\n    SecureBucket(\"web\", bucket=\"acme-web\")", "prod:aws.S3Bucket:web-assets",
			`{"deps":[],"properties":{"block_public_access":true,"bucket":"acme-web","encryption":"AES256","force_destroy":false,"kms_key_id":null,"provider_alias":null,"region":"us-east-1","tags":{},"versioning":false},"type":"aws.S3Bucket"}`, assets},
		{"V13, its policy", stack + "with Stack(\"prod\", region=\"us-east-1\"):\n    SecureBucket(\"web\", bucket=\"acme-web\")", "prod:aws.S3BucketPolicy:web-policy",
			`{"deps":["` + assets + `"],"properties":{"bucket":"acme-web","provider_alias":null,"statements":[{"Action":["s3:*"],"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny","Principal":"*","Resource":[{"$ref":"prod:aws.S3Bucket:web-assets#arn"},{"$ref":"prod:aws.S3Bucket:web-assets#objects_arn"}]}]},"type":"aws.S3BucketPolicy"}`,
			"6e3dae7ea669e65b4b7de3a3f5c5bf085a1663fa71929dc40744c9cd6fdb8b3e"},
	} {
		t.Run(v.vector, func(t *testing.T) {
			sum := sha256.Sum256([]byte(v.payload))
			if hex.EncodeToString(sum[:]) != v.hash {
				t.Fatal("the payload of the vector has another hash: one of them is miswritten")
			}
			c, err := newDesk(t).withAll().compileWhole(v.config + "\n")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v.hash, c.Hashes[v.id]); diff != "" {
				t.Errorf("hash of %s (-want +got):\n%s\nproperties %s", v.id, diff, encoded(t, c.Document.Node(v.id).Properties))
			}
		})
	}
}
