"""A service: its queue, its role and what the role may do."""

from atlantide.core import Component, child
from atlantide.providers.aws import IamPolicy, IamRole, SqsQueue, allow


class Service(Component):
    def __init__(self, name, *, bucket, service="lambda.amazonaws.com"):
        self.queue = child(SqsQueue, "queue")
        self.role = child(IamRole, "role", assumed_by=service)
        child(
            IamPolicy,
            "access",
            role_arn=self.role.arn,
            policy_name="access",
            statements=[allow("s3:GetObject", on=bucket.objects_arn), allow("sqs:*", on=self.queue.arn)],
        )
