"""A virtual network over several zones, with or without a way out."""

from .topology import Network, PublicNetwork

__all__ = ["Network", "PublicNetwork"]
