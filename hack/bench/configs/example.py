"""A small service as a team would write it: fifteen AWS resources."""

from atlantide.core import Lifecycle, Stack, concat, output
from atlantide.providers.aws import (
    CloudWatchLogGroup,
    DynamoDbTable,
    IamPolicy,
    IamRole,
    InternetGateway,
    LambdaFunction,
    Route,
    RouteTable,
    S3Bucket,
    SecurityGroup,
    ServicePrincipal,
    SgRule,
    SnsSubscription,
    SnsTopic,
    SqsQueue,
    Subnet,
    Vpc,
    allow,
)

ZONES = ["eu-west-1a", "eu-west-1b"]


def subnet(vpc, index, zone):
    return Subnet(
        f"public-{index}",
        vpc_id=vpc.vpc_id,
        cidr_block=f"10.0.{index}.0/24",
        availability_zone=zone,
        map_public_ip_on_launch=True,
    )


with Stack("orders", region="eu-west-1", name_prefix="shop", tags={"service": "orders", "owner": "checkout"}):
    vpc = Vpc("vpc", cidr_block="10.0.0.0/16")
    gateway = InternetGateway("gateway", vpc_id=vpc.vpc_id)
    subnets = [subnet(vpc, i, zone) for i, zone in enumerate(ZONES)]
    RouteTable(
        "public",
        vpc_id=vpc.vpc_id,
        routes=[Route(gateway_id=gateway.internet_gateway_id)],
        subnet_ids=[s.subnet_id for s in subnets],
    )
    SecurityGroup(
        "web",
        vpc_id=vpc.vpc_id,
        ingress=[SgRule(from_port=p, to_port=p, cidr_blocks=["0.0.0.0/0"]) for p in (80, 443)],
    )

    receipts = S3Bucket("receipts", versioning=True, lifecycle=Lifecycle(prevent_destroy=True))
    dead = SqsQueue("dead")
    queue = SqsQueue("incoming", dead_letter_target_arn=dead.arn)
    topic = SnsTopic("placed")
    SnsSubscription("to-queue", topic_arn=topic.arn, protocol="sqs", endpoint=queue.arn)
    table = DynamoDbTable("orders", hash_key="id")

    role = IamRole("worker", assumed_by=ServicePrincipal.Lambda)
    IamPolicy(
        "worker",
        role_arn=role.arn,
        policy_name="worker",
        statements=[
            allow(S3Bucket.Action.GetObject, S3Bucket.Action.PutObject, on=receipts.objects_arn),
            allow(SqsQueue.Action.ReceiveMessage, SqsQueue.Action.DeleteMessage, on=queue.arn),
            allow(DynamoDbTable.Action.PutItem, on=[table.arn, concat(table.arn, "/index/*")]),
        ],
    )
    LambdaFunction(
        "worker",
        role_arn=role.arn,
        s3_bucket="shop-releases",
        s3_key="orders/worker.zip",
        memory_size=256,
        environment={"TABLE": "orders", "TOPIC": "placed"},
    )
    output("queue", queue.arn)
    output("receipts", receipts.arn)
