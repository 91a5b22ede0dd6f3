"""The Gittins rank of Tiresias: what is likely to end soon, by the distribution of sizes."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from nona.errors import SimulationError

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

    Parameters
    ----------
    sizes
        GPU-seconds of the jobs, ascending.
    step
        Δ in GPU-seconds.

    Examples
    --------
    Of sizes 10 and 1,000, a new job is likely to end soon, one that had 10 GPU-seconds is not.

    >>> ranks = GittinsRank.of([1000, 10], 100.0)
    >>> ranks.rank(0.0) > ranks.rank(10.0), ranks.rank(1000.0)
    (True, 0.0)

    Source: Gu et al., Tiresias, NSDI 2019, section 4.1, as its public simulator computes it.
    """

    sizes: tuple[float, ...]
    step: float

    @classmethod
    def of(cls, sizes: Iterable[float], step: float) -> GittinsRank:
        """For sizes in any order.

        Raises
        ------
        SimulationError
            For no size, or a step that is not above 0.
        """
        found = tuple(sorted(sizes))
        if not found or step <= 0:
            raise SimulationError(f"Gittins rank: {len(found)} sizes and step {step:g} must both be above 0.")
        return cls(found, step)

    def rank(self, attained: float) -> float:
        """h at the next size after ``attained`` GPU-seconds."""
        place = bisect.bisect_right(self.sizes, attained)
        return 0.0 if place == len(self.sizes) else self._by_place[place]

    @cached_property
    def _by_place(self) -> list[float]:
        return [self._index(size - MORE) for size in self.sizes]

    @cached_property
    def _sums(self) -> list[float]:
        found = [0.0]
        for size in self.sizes:
            found.append(found[-1] + size)
        return found

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
