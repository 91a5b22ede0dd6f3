"""Queues by attained service, and the Gittins rank."""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from nona.core.errors import SimulationError
from nona.core.options import PolicyOption

SCALE = 10**6
MORE = 1.0
"""A rank is computed at the next size less this, as in the public simulator."""


@dataclass(frozen=True)
class GittinsRank:
    """Ranks by the sizes of all jobs; who ranks high runs first.

    Let D_0 ≤ … ≤ D_{n−1} be the sizes, Δ the step, i = #{D ≤ a} and k = #{D ≤ a + Δ} (n − 1 if
    a + Δ > D_{n−1} − 1). Then

    h(a) = 10⁶ · [(k − i)/(n − i)] / [(D_i + … + D_{k−1} + Δ·(n − k))/(n − i)]

    with the brackets rounded to 5 decimals and h to 4. The rank of attained service a is h(D_i − 1), and 0 if
    no size is above a.

    ``sizes``: GPU-seconds of the jobs, ascending.
    ``step``: Δ in GPU-seconds.

    Of sizes 10 and 1,000, a new job is likely to end soon, one that had 10 GPU-seconds is not.

    >>> ranks = GittinsRank.from_sizes([1000, 10], 100.0)
    >>> ranks.rank(0.0) > ranks.rank(10.0), ranks.rank(1000.0)
    (True, 0.0)

    Source: Gu et al., Tiresias, NSDI 2019, section 4.1, as its public simulator computes it.
    """

    sizes: tuple[float, ...]
    step: float

    @classmethod
    def from_sizes(cls, sizes: Iterable[float], step: float) -> GittinsRank:
        """For sizes in any order."""
        order = tuple(sorted(sizes))
        if not order or step <= 0:
            raise SimulationError(f"Gittins rank: {len(order)} sizes and step {step:g} must both be above 0.")
        return cls(order, step)

    def rank(self, attained: float) -> float:
        """H at the next size after ``attained`` GPU-seconds."""
        place = bisect.bisect_right(self.sizes, attained)
        return 0.0 if place == len(self.sizes) else self._by_place[place]

    @cached_property
    def _by_place(self) -> list[float]:
        return [self._index(size - MORE) for size in self.sizes]

    @cached_property
    def _sums(self) -> list[float]:
        sums = [0.0]
        for size in self.sizes:
            sums.append(sums[-1] + size)
        return sums

    def _index(self, attained: float) -> float:
        count = len(self.sizes)
        i = bisect.bisect_right(self.sizes, attained)
        k = bisect.bisect_right(self.sizes, attained + self.step)
        if attained + self.step > self.sizes[-1] - MORE:
            k = count - 1
        k = max(k, i)
        chance = round((k - i) / (count - i), 5)
        cost = round((self._sums[k] - self._sums[i] + self.step * (count - k)) / (count - i), 5)
        return round(SCALE * chance / cost, 4)


MOST_QUEUES = 16


@dataclass(slots=True)
class _Entry:
    """``executed_s``, ``waited_s``: since it came or rose."""

    gpus: int
    arrival_s: float
    executed_s: float = 0.0
    waited_s: float = 0.0
    queue: int = 0

    @property
    def attained(self) -> float:
        return self.executed_s * self.gpus


class AttainedQueues:
    """Discretised two-dimensional least attained service: K queues, K − 1 limits in GPU-seconds.

    New jobs join the tail of queue 0. A job that attained the limit of its queue moves to the tail of the
    next. Jobs in the last queue stay there.

    ``limits_gpu_s``: Ascending, K − 1 of them.
    ``starvation``: κ. A job outside queue 0 that executed e seconds and waited ⌊κ·e⌋ rises to the tail of
        queue 0, where both start from 0; 0: never.
    ``ranks``: order inside queues, highest first, then by arrival; without: as they joined.

    >>> queues = AttainedQueues((100.0,))
    >>> queues.join(0, 2, 0.0); queues.join(1, 1, 5.0)
    >>> queues.advance([0, 1], 50.0, {0, 1})
    >>> list(queues.order())
    [1, 0]

    Source: Gu et al., Tiresias, NSDI 2019, sections 4.1 and 4.2, and its public simulator.
    """

    def __init__(
        self, limits_gpu_s: Sequence[float], starvation: float = 0.0, ranks: GittinsRank | None = None
    ) -> None:
        self._limits, self._starvation, self._ranks = tuple(limits_gpu_s), starvation, ranks
        self._queues: list[list[int]] = [[] for _ in range(len(self._limits) + 1)]
        self._entries: dict[int, _Entry] = {}

    def join(self, number: int, gpus: int, arrival_s: float) -> None:
        """Add a job to the first queue."""
        self._entries[number] = _Entry(gpus, arrival_s)
        self._queues[0].append(number)

    def keep(self, present: Collection[int]) -> None:
        """Remove the jobs that are not ``present``."""
        self._entries = {n: entry for n, entry in self._entries.items() if n in present}
        for queue in self._queues:
            queue[:] = [n for n in queue if n in self._entries]

    def follow(
        self, present: Mapping[int, tuple[int, float]], seconds: float, running: Collection[int]
    ) -> None:
        """``seconds`` passed; others than ``present``, number → (GPUs, arrival), left, and new ones join."""
        self.keep(present)
        old = [n for n in present if n in self._entries]
        for n in [n for n in present if n not in self._entries]:
            self.join(n, *present[n])
        self.advance(old, seconds, running)

    def advance(self, numbers: Iterable[int], seconds: float, running: Collection[int]) -> None:
        """``seconds`` passed; jobs in the order in which equals join a tail.

        Who never ran does not starve.
        """
        for n in numbers:
            entry = self._entries[n]
            if n in running:
                entry.executed_s += seconds
                if entry.queue < len(self._limits) and entry.attained >= self._limits[entry.queue]:
                    self._move(n, entry.queue + 1)
            elif entry.executed_s > 0:
                entry.waited_s += seconds
                if self._rises(entry):
                    entry.executed_s = entry.waited_s = 0.0
                    self._move(n, 0)

    def order(self) -> Iterator[int]:
        """All jobs, queue by queue."""
        if self._ranks is not None:
            ranks = {n: self._ranks.rank(entry.attained) for n, entry in self._entries.items()}
            for queue in self._queues:
                queue.sort(key=lambda n: (-ranks[n], self._entries[n].arrival_s))
        return (n for queue in self._queues for n in list(queue))

    def attained(self, number: int) -> float:
        """GPU-seconds since it came or rose."""
        return self._entries[number].attained

    def queue_of(self, number: int) -> int:
        """From 0."""
        return self._entries[number].queue

    def _rises(self, entry: _Entry) -> bool:
        allowed = math.floor(entry.executed_s * self._starvation)
        return self._starvation > 0 and entry.queue > 0 and entry.waited_s >= allowed

    def _move(self, number: int, queue: int) -> None:
        entry = self._entries[number]
        self._queues[entry.queue].remove(number)
        entry.queue = queue
        self._queues[queue].append(number)


STARVATION = PolicyOption(
    0.0,
    "a preempted job returns to the first queue after waiting this many times what it executed; 0: never",
)


def limits_of(owner: str, text: object) -> tuple[float, ...]:
    """Return the limits between queues from an option's text: numbers, ascending, with commas.

    >>> limits_of("Policy 'x'", "3250, 7200")
    (3250.0, 7200.0)
    """
    try:
        limits = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        limits = ()
    rising = all(a < b for a, b in pairwise((0.0, *limits, math.inf)))
    if not limits or not rising or len(limits) >= MOST_QUEUES:
        raise SimulationError(
            f"{owner}: option limits_gpu_s={text!r} must be 1 to {MOST_QUEUES - 1} ascending numbers of "
            "GPU-seconds, e.g. '3250, 7200'; change it."
        )
    return limits
