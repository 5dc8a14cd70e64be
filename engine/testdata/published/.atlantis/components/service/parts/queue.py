from __future__ import annotations

from atlantide.core import Component, child
from atlantide.providers.aws import SqsQueue


class DeadLetterQueue(Component):
    """A queue, and one for what could not be handled."""

    RETENTION = {"days": 14, "seconds": 14 * 24 * 3600}

    def __init__(self, name: str, *, receives: int = 3, fifo: bool = False, wait: int | None = None):
        suffix = ".fifo" if fifo else ""
        self.dead = child(SqsQueue, "dead", queue_name=f"{name}-dead{suffix}", fifo=fifo, message_retention_seconds=self.RETENTION["seconds"])
        self.queue = child(
            SqsQueue,
            "queue",
            queue_name=name + suffix,
            fifo=fifo,
            visibility_timeout=wait if wait is not None else 30,
            dead_letter_target_arn=self.dead.arn,
            max_receive_count=receives,
        )

    @property
    def arn(self):
        return self.queue.arn
