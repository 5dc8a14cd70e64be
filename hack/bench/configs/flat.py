"""A loop of files, each of which reads the one before the loop."""

from atlantide.core import Stack
from atlantide.providers.local import File

with Stack("s", region="eu-west-1"):
    first = File("first", path="first", content="x")
    for i in range(atlantide.input("nodes") - 1):
        File(f"f{i}", path=f"out/{i}.txt", content=first.checksum)
