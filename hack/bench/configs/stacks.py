"""Many stacks of ten files, with tags and an output each; a stack reads the one before."""

from atlantide.core import Stack, output
from atlantide.providers.local import File

before = "none"
for i in range(atlantide.input("nodes") // 10):
    with Stack(f"team{i}", region="eu-west-1", tags={"team": f"t{i}"}):
        head = File("head", path=f"{i}/head.txt", content=before)
        for k in range(9):
            File(f"part{k}", path=f"{i}/part{k}.txt", content=head.checksum)
        before = output("head", head.checksum)
