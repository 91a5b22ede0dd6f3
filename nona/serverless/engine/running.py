"""A batch between its dispatch and its end."""

from __future__ import annotations

from nona.gpu_sharing.pool import Lease


class Running:
    """What its end needs to know; the last five matter only where batches slow each other down.

    ``left_s``: seconds of its own GPU work; ``speed``: of them per second, since ``since_s``; ``end_s``:
    when it ends if nothing changes; ``version``: how often that was said.
    """

    __slots__ = (
        "calls",
        "end_s",
        "function",
        "invoker",
        "lease",
        "left_s",
        "number",
        "queue",
        "since_s",
        "speed",
        "version",
    )

    def __init__(
        self, number: int, queue: int, function: int, calls: list[int], invoker: int, lease: Lease
    ) -> None:
        self.number = number
        self.queue = queue
        self.function = function
        self.calls = calls
        self.invoker = invoker
        self.lease = lease
        self.left_s = self.speed = self.since_s = self.end_s = 0.0
        self.version = 0
