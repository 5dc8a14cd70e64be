from __future__ import annotations

from atlantide.core import Component, Lifecycle, Ref, child
from atlantide.core import RegistryError as Refused
from atlantide.providers.aws import (
    AwsAvailabilityZones,
    ElasticIp,
    InternetGateway,
    NatGateway,
    Route,
    RouteTable,
    SecurityGroup,
    SgRule,
    Subnet,
    Vpc,
)

from ._cidr import subnet

DEFAULT_CIDR = "10.0.0.0/16"


class Network(Component):
    """Subnets that reach one another and nothing else."""

    EXTRA_BITS = 4
    MAX_ZONES: int = 2**EXTRA_BITS
    kind: str

    def __init__(
        self,
        name: str,
        *,
        cidr: str = DEFAULT_CIDR,
        zones: int = 2,
        protect: bool = False,
        ports: list[int] | tuple[int, ...] = (443,),
    ) -> None:
        """Zones are taken in the order of their names."""
        if not 0 < zones <= self.MAX_ZONES:
            raise Refused(
                f"{self.label()} '{name}': zones must be from 1 to "
                f"{self.MAX_ZONES}, not {zones}"
            )
        self.name = name
        self.cidr = cidr
        guard = Lifecycle(prevent_destroy=protect)
        self.zones = child(AwsAvailabilityZones, "zones")
        self.vpc = child(Vpc, "vpc", cidr_block=cidr, lifecycle=guard)
        self.subnets: list[Subnet] = [self._subnet(i) for i in range(zones)]
        self.first, *self.others = self.subnets
        self.tables = {}
        for i, part in enumerate(self.subnets):
            self.tables[part.logical_name] = child(
                RouteTable, f"routes-{i}", vpc_id=self.vpc.vpc_id, routes=self.routes(i), subnet_ids=[part.subnet_id]
            )
        self.group = child(
            SecurityGroup,
            "inner",
            group_name=f"{name}-inner",
            vpc_id=self.vpc.vpc_id,
            ingress=[SgRule(from_port=p, to_port=p, cidr_blocks=[cidr]) for p in sorted(ports)],
        )

    @staticmethod
    def label() -> str:
        return "Network"

    def routes(self, index: int) -> list[Route]:
        return []

    def _subnet(self, index: int):
        return child(
            Subnet,
            f"subnet-{index}",
            vpc_id=self.vpc.vpc_id,
            cidr_block=subnet(self.cidr, self.EXTRA_BITS, index),
            availability_zone=self.zones.names[index],
        )

    @property
    def subnet_ids(self) -> list[Ref]:
        return [s.subnet_id for s in self.subnets]

    @property
    def size(self) -> int:
        return len(self.subnet_ids)


class PublicNetwork(Network):
    """A network whose subnets reach the internet."""

    def __init__(self, name: str, *, cidr: str = DEFAULT_CIDR, zones: int = 1, nat: bool = False) -> None:
        self._nat = nat
        super().__init__(name, cidr=cidr, zones=zones)
        self.internet = child(InternetGateway, "internet", vpc_id=self.vpc.vpc_id)
        self.gateways = []
        for i, part in enumerate(self.subnets if nat else []):
            address = child(ElasticIp, f"address-{i}", depends_on=[self.internet])
            self.gateways += [child(NatGateway, f"nat-{i}", subnet_id=part.subnet_id, allocation_id=address.allocation_id)]

    def routes(self, index: int) -> list[Route]:
        return [Route(cidr_block="0.0.0.0/0", gateway_id=f"igw-{index}")] if self._nat else []
