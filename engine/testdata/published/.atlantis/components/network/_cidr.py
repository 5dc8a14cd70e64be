"""Arithmetic on IPv4 networks."""

BITS = 32


def number(address: str) -> int:
    total = 0
    for part in address.split("."):
        total = total * 256 + int(part)
    return total


def dotted(value: int) -> str:
    return ".".join([str(value >> shift & 255) for shift in range(24, -1, -8)])


def subnet(network: str, extra: int, index: int) -> str:
    """The subnet of that index when a network is cut into 2**extra parts."""
    address, prefix = network.split("/")
    length = int(prefix) + extra
    return f"{dotted(number(address) + (index << BITS - length))}/{length}"
