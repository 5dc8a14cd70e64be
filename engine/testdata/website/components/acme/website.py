"""A static website: a private bucket behind a distribution.

Usage::

    site = Website("www", source="public", bucket="acme-www")
    output("domain", site.domain_name)
"""

from __future__ import annotations

from atlantide.core import Component, RegistryError, child, concat, current_stack_region
from atlantide.providers.aws import (
    CloudFrontDistribution,
    OriginAccessControl,
    S3Bucket,
    S3BucketPolicy,
    S3Folder,
    ServicePrincipal,
    allow,
)

from ._names import checked

__all__ = ["Website"]


class Website(Component):
    """A bucket, its files, and the distribution that alone may read them."""

    CACHE_CONTROL: str = "max-age=300"

    def __init__(
        self,
        name: str,
        *,
        source: str,
        bucket: str,
        region: str | None = None,
        aliases: list[str] | None = None,
        certificate_arn: str | None = None,
    ) -> None:
        resolved = region or current_stack_region()
        if not resolved:
            raise RegistryError(f"Website '{name}' has no region: pass region= or make it in a Stack")
        self.name = checked(name)
        self.bucket = child(S3Bucket, "bucket", bucket=bucket, region=resolved)
        self.files = child(
            S3Folder, "files", bucket=self.bucket.name, source_path=source, region=resolved, cache_control=self.CACHE_CONTROL
        )
        self.access = child(OriginAccessControl, "access", oac_name=f"{bucket}-access")
        self.distribution = child(
            CloudFrontDistribution,
            "cdn",
            origin_domain=self.bucket.regional_domain_name,
            oac_id=self.access.oac_id,
            aliases=aliases or [],
            certificate_arn=certificate_arn,
        )
        self.policy = child(S3BucketPolicy, "policy", bucket=bucket, statements=[self._read()])
        self.domain_name = self.distribution.domain_name

    def _read(self):
        return allow(
            S3Bucket.Action.GetObject,
            on=self.bucket.objects_arn,
            principal={"Service": ServicePrincipal.CloudFront},
            condition={"StringEquals": {"AWS:SourceArn": self.distribution.arn}},
        )

    @property
    def url(self):
        return concat("https://", self.domain_name)
