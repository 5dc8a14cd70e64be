"""Prints format.tsv: what CPython makes of values under format specifications.

    python3 format.py > format.tsv

A line is: type, value, specification and result as JSON texts; a result that begins
with "!" names the error's class.
"""

import itertools
import json
import random

ALIGNS = ["", "<", ">", "^", "=", "*<", "é^", "0=", "{>"]
SIGNS = ["", "+", "-", " "]
ZEROS = ["", "z"]
ALTERNATES = ["", "#"]
WIDTHS = ["", "0", "1", "8", "08", "012", "13", "021"]
GROUPS = ["", ",", "_"]
PRECISIONS = ["", ".0", ".1", ".3", ".17"]
KINDS = ["", "b", "c", "d", "e", "E", "f", "F", "g", "G", "n", "o", "s", "x", "X", "%", "y"]

VALUES = [
    0, 1, -1, 7, 65, 233, 0x1F600, -42, 1234, -1234567, 2**53 - 1, -(2**63), 10**30, 0x110000,
    True, False,
    0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1234.0, -1234567.891, 0.0001, 0.00001234, 1e15, 1e16, 1.5e300, 5e-324,
    -0.04, 99.95, float("inf"), float("-inf"), float("nan"),
    "", "a", "héllo", "日本語😀", "it's",
]

HAND = ["", "z.1E", "08,d", ",", "#.3f", "c", "5.", "5dd", ",_", "__", "99999999999999999999", ".99999999999999999999", "é", "<<", ">>5", "=+012,", "#06b", "_.1f"]


def show(value, spec):
    try:
        return format(value, spec)
    except (ValueError, OverflowError, TypeError) as e:
        return "!" + type(e).__name__


def main():
    pick = random.Random(1)
    specs = ["".join(p) for p in itertools.product(ALIGNS, SIGNS, ZEROS, ALTERNATES, WIDTHS, GROUPS, PRECISIONS, KINDS)]
    seen = set()
    for value in VALUES:
        for spec in HAND + pick.sample(specs, 40) + [w + g + p + k for w, g, p, k in
                pick.sample(list(itertools.product(WIDTHS, GROUPS, PRECISIONS, KINDS)), 30)]:
            if value is True or value is False:
                spec = spec or "d"  # without a specification a bool is a text, which is not this package's
            line = "\t".join(json.dumps(x, ensure_ascii=False) for x in (type(value).__name__, str(value), spec, show(value, spec)))
            if line not in seen:
                seen.add(line)
                print(line)


main()
