"""A private bucket with a policy that refuses every request without TLS."""

from atlantide.core import Component, RegistryError, child, current_stack_region
from atlantide.providers.aws import S3Bucket, S3BucketPolicy, deny


class SecureBucket(Component):
    def __init__(self, name, *, bucket, region=None, versioning=False):
        resolved = region or current_stack_region()
        if not resolved:
            raise RegistryError(f"SecureBucket '{name}' has no region; pass region=, or make it inside a Stack")
        self.name = name
        self.bucket = child(S3Bucket, "assets", bucket=bucket, region=resolved, versioning=versioning)
        self.policy = child(
            S3BucketPolicy,
            "policy",
            bucket=bucket,
            statements=[
                deny(
                    "s3:*",
                    on=[self.bucket.arn, self.bucket.objects_arn],
                    principal="*",
                    condition={"Bool": {"aws:SecureTransport": "false"}},
                )
            ],
        )
        self.arn = self.bucket.arn
        self.domain_name = self.bucket.regional_domain_name
