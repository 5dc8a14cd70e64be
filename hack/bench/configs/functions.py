"""Every file is made by a chain of functions and closures, and a recursion decides its text."""

from atlantide.core import Stack
from atlantide.providers.local import File


def words(n):
    if n == 0:
        return []
    return words(n - 1) + [f"w{n}"]


def titled(texts, sep="-", upper=False):
    joined = sep.join([t.title() for t in texts if t])
    return joined.upper() if upper else joined


def entry(i, names, options, depth=8):
    settings = {"names": list(names), "options": options, "words": words(depth)}
    ordered = sorted(settings["words"], key=lambda w: (len(w), w))
    return titled(ordered, upper=i % 2 == 0) + str(settings["options"].get("sep", ""))


def decorate(make, names, options):
    return lambda i: make(i, names, options=options)


def layered(levels):
    if levels == 0:
        return decorate(entry, ["a", "b"], {"sep": ":"})
    inner = layered(levels - 1)
    return lambda i: inner(i)


content = layered(8)
with Stack("s", region="eu-west-1"):
    for i in range(atlantide.input("nodes")):
        File(f"f{i}", path=f"out/{i}.txt", content=content(i))
