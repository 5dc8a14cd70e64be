"""Networks with nested rules, and a role with its policy, five AWS resources a round."""

from atlantide.core import Stack, concat
from atlantide.providers.aws import IamPolicy, IamRole, SecurityGroup, SgRule, Subnet, Vpc, allow, deny

with Stack("net", region="eu-west-1", name_prefix="acme", tags={"owner": "platform", "cost": "shared"}):
    for i in range(atlantide.input("nodes") // 5):
        vpc = Vpc(f"vpc{i}", cidr_block=f"10.{i % 256}.0.0/16", tags={"n": str(i)})
        Subnet(f"subnet{i}", vpc_id=vpc.vpc_id, cidr_block=f"10.{i % 256}.1.0/24", availability_zone="eu-west-1a")
        group = SecurityGroup(
            f"group{i}",
            vpc_id=vpc.vpc_id,
            ingress=[SgRule(from_port=p, to_port=p, cidr_blocks=["10.0.0.0/8"]) for p in [80, 443]],
        )
        role = IamRole(f"role{i}", assumed_by="ec2.amazonaws.com")
        IamPolicy(
            f"policy{i}",
            role_arn=role.arn,
            policy_name="access",
            statements=[
                allow("ec2:Describe*", on="*", condition={"StringEquals": {"ec2:Vpc": vpc.vpc_id}}),
                deny("ec2:Delete*", on=[concat("arn:aws:ec2:*:*:security-group/", group.group_id)]),
            ],
        )
