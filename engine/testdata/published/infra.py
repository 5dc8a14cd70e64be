"""Two environments of an application that is made of published components."""

from atlantide.core import Config, Stack, output, var
from atlantide.components.naming import shortened
from atlantide.components.network import PublicNetwork
from atlantide.components.network.topology import Network
from atlantide.components.service import Worker, workers

config = Config(
    {"memory": var(int, default=512), "nat": var(bool, default=False)},
    envs={
        "dev": {"region": "eu-west-1", "tags": {"owner": "web"}},
        "prod": {"region": "eu-central-1", "tags": {"owner": "web"}, "name_prefix": "acme", "nat": True, "memory": 1024},
    },
)

for env in config.envs():
    with Stack(env.name, config=env):
        outer = PublicNetwork("outer", zones=2, nat=env.nat)
        inner = Network("inner", cidr="10.1.0.0/16", zones=1, protect=env.nat, ports={8080, 443})
        jobs = workers({"resize": "src/resize"}, tagged=env.nat)
        audit = Worker("audit", "src/resize", language="custom", environment={"A": "1"}, secret=atlantide.secret("audit/key"), archive=True)
        output("network", {"subnets": outer.subnet_ids, "size": outer.size, "label": Network.label(), "tables": list(inner.tables), "gateways": len(outer.gateways)})
        output("owners", [w.owner for w in list(jobs.values()) + [audit]])
        output("names", [audit.bucket.bucket.bucket, audit.function.handler, jobs["resize"].function.memory_size, shortened("x" * 20, 15)])
