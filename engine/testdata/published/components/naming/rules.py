from __future__ import annotations

from atlantide.core import Component, current_stack, current_stack_name_prefix
from atlantide.core.errors import LanguageError

LIMITS: dict[str, int] = {"bucket": 63, "queue": 80, "role": 64}
_DIGEST = 8


def shortened(name: str, limit: int) -> str:
    """The name, or as much of it as leaves room for a digest of the whole."""
    if len(name) <= limit:
        return name
    return f"{name[:limit - _DIGEST - 1]}-{sha256_hex(name)[:_DIGEST]}"


class Names(Component):
    """The names of one application; no resource by itself."""

    def __init__(self, name: str, *, limits: dict[str, int] | None = None):
        super().__init__(name)
        self._limits = merge(LIMITS, limits or {})
        self.prefix: str = current_stack_name_prefix() or current_stack()

    def of(self, kind: str, part: str = "main") -> str:
        if kind not in self._limits:
            known = ", ".join(sorted(self._limits))
            raise LanguageError(f"{self.name} names no {kind!r}; it names {known}")
        return shortened(f"{self.prefix}-{self.name}-{part}", self._limits[kind])
