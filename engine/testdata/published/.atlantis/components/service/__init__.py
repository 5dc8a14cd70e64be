"""A function behind a queue, with what it needs to run and to be watched."""

from __future__ import annotations

from .worker import Worker, workers

__all__ = ["Worker", "workers"]
