"""A loop of resources that cost nothing to make: what is left is the engine and its state."""

from atlantide.core import Stack
from atlantide.providers.local import Null

with Stack("s", region="eu-west-1"):
    for i in range(atlantide.input("nodes")):
        Null(f"n{i}", triggers={"i": str(i)})
