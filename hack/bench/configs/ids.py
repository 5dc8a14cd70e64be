"""Pairs of a random id and what reads it: every other resource has an output that state must give back."""

from atlantide.core import Stack
from atlantide.providers.local import Null
from atlantide.providers.random import Id

with Stack("s", region="eu-west-1"):
    for i in range(atlantide.input("nodes") // 2):
        made = Id(f"id{i}", keepers={"i": str(i)})
        Null(f"n{i}", triggers={"id": made.result})
