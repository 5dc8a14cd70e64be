"""Names that stay within the limits of the services that take them."""

from __future__ import annotations

from .rules import LIMITS, Names, shortened

__all__ = ("LIMITS", "Names", "shortened")
