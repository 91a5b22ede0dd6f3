"""When nodes fail: exponential gaps, one random stream per node."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from nona.random_streams import RandomStreams

_BLOCK = 32


@dataclass(eq=False, slots=True)
class NodeFailures:
    """Failure times of nodes with mean gap ``mtbf_s``; a node is back at once, its jobs restart.

    Times of a node depend on the seed, its type and its number only, so that all policies see the same
    failures.

    >>> failures = NodeFailures(1000.0, RandomStreams(3))
    >>> times = failures.between("v100", 0, 0.0, 10_000.0)
    >>> times == NodeFailures(1000.0, RandomStreams(3)).between("v100", 0, 0.0, 10_000.0), 2 < len(times) < 30
    (True, True)
    """

    mtbf_s: float
    streams: RandomStreams
    _times: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    _generators: dict[tuple[str, int], np.random.Generator] = field(default_factory=dict)

    def between(self, gpu: str, node: int, start_s: float, end_s: float) -> list[float]:
        """The node's failures from start to before end, in order."""
        key = (gpu, node)
        if key not in self._times:
            self._times[key] = [0.0]
            self._generators[key] = self.streams.generator("failures", gpu, str(node))
        times = self._times[key]
        while times[-1] < end_s:
            gaps = self._generators[key].exponential(self.mtbf_s, size=_BLOCK)
            times.extend((times[-1] + np.cumsum(gaps)).tolist())
        return times[max(bisect_left(times, start_s), 1) : bisect_left(times, end_s)]
