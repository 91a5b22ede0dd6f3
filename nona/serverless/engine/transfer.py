"""How long a batch fetches its inputs, and how many of its jobs find theirs where they are.

One share of a job's bytes comes from each predecessor's invoker, all shares equal; those of the same
invoker come over the local path, the others over the remote one, both at once::

    time = max(path), path = latency + bytes / bandwidth where there are bytes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nona.serverless.engine.tables import Tables


class Transfers:
    """Seconds by the scenario's ``transfer``; ``batch`` and ``invoker_of`` are the run's own lists."""

    def __init__(self, tables: Tables, batch: list[int], width: int, invoker_of: list[int]) -> None:
        spec = tables.system.transfer
        self._tables, self._batch, self._width, self._invoker_of = tables, batch, width, invoker_of
        self._local = (spec.local_latency, spec.local_bandwidth)
        self._remote = (spec.remote_latency, spec.remote_bandwidth)

    def fetch(self, queue: int, calls: Sequence[int], invoker: int) -> tuple[float, int]:
        """(seconds, jobs of which all input lies on ``invoker``) for a batch of ``queue`` there."""
        tables = self._tables
        before = tables.before[queue]
        size = tables.input_bytes[queue]
        if not before:
            return self._seconds(0.0, len(calls) * size), 0
        here = local_jobs = 0
        batch, width, invoker_of = self._batch, self._width, self._invoker_of
        for call in calls:
            base = call * width
            found = 0
            for stage in before:
                if invoker_of[batch[base + stage]] == invoker:
                    found += 1
            here += found
            if found == len(before):
                local_jobs += 1
        share = size / len(before)
        return self._seconds(here * share, (len(calls) * len(before) - here) * share), local_jobs

    def parts(self, queue: int, calls: Sequence[int], invoker: int) -> tuple[float, dict[int, float], int]:
        """Seconds of the local path, bytes from each other invoker (−1: from outside), and local jobs."""
        tables = self._tables
        before, size = tables.before[queue], tables.input_bytes[queue]
        if not before:
            return 0.0, ({-1: len(calls) * size} if size > 0 else {}), 0
        shares: Counter[int] = Counter()
        local_jobs = 0
        for call in calls:
            sources = [self._invoker_of[self._batch[call * self._width + stage]] for stage in before]
            shares.update(sources)
            local_jobs += sources.count(invoker) == len(before)
        share = size / len(before)
        local_s = self._seconds(shares.pop(invoker, 0) * share, 0.0)
        return local_s, ({i: n * share for i, n in shares.items()} if share > 0 else {}), local_jobs

    def _seconds(self, local_bytes: float, remote_bytes: float) -> float:
        local_s = self._local[0] + local_bytes / self._local[1] if local_bytes > 0 else 0.0
        remote_s = self._remote[0] + remote_bytes / self._remote[1] if remote_bytes > 0 else 0.0
        return local_s if local_s > remote_s else remote_s
