"""Components of the provider and of the source tree, five resources a round."""

from atlantide.components.acme import Service
from atlantide.core import Stack
from atlantide.providers.aws import SecureBucket

with Stack("s", region="eu-west-1", name_prefix="acme", tags={"owner": "web"}):
    for i in range(atlantide.input("nodes") // 5):
        box = SecureBucket(f"box{i}", bucket=f"acme-box-{i}")
        Service(f"svc{i}", bucket=box.bucket)
