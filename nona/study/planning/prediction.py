"""The order in which options are looked at: a quick prediction, which decides nothing.

A cluster is taken for one line before all its executors (schedulers that look at queues), or for one line
before each (those that draw). With c executors, load ρ, and mean m and squared variation v of a job's
seconds, a job waits longer than t with probability

    C(c, cρ) · exp(−2 c (1−ρ) t / (m (1+v))),

C by Erlang: exact for M/M/c, and for others scaled as Lee and Longton do. A target with bound b is then kept
for the share of jobs whose wait is at most b less their own time: the longest chain of tasks where a
scheduler splits queries, all tasks else.

Source: Lee and Longton, Queueing processes associated with airline passenger check-in, Operational Research
Quarterly 10, 1959.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.planning.offers import Option
from nona.simulation.theory.single import erlang_c
from nona.study.planning.bounds import Bounds
from nona.study.planning.question import MILLE

WHOLE = frozenset({"local", "least-loaded", "least-loaded-d"})  # run all tasks of a job on one executor
DRAWN = frozenset({"nona", "local", "spread", "random"})  # draw servers without a look at queues
MOST_ERLANG = 2000  # executors; with more, nobody waits where ρ is clearly below 1


class Prediction:
    """Predicted shares of the targets of a question, option by option."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.question = bounds, bounds.question
        stream = bounds.system.background_compute
        self.spread = np.array([q.service_scv for q in bounds.system.queries])
        self.background_rate = stream.rate
        self.background_moment = stream.rate * stream.mean**2 * (1 + stream.scv)

    def margin(self, option: Option, load: int = MILLE) -> float:
        """The least predicted share over what its target asks for; from 1 on all are predicted to hold."""
        shares = self.shares(option, load)
        return min(s / t.share for s, t in zip(shares, self.question.targets, strict=True))

    def shares(self, option: Option, load: int = MILLE) -> tuple[float, ...]:
        """The predicted share of each target; 0 without a steady state."""
        bounds, name = self.bounds, self.question.schedulers[option.scheduler].name
        counts = bounds.classes(option)
        used = np.flatnonzero(counts)
        rates = bounds.rates * load / MILLE
        mean_s = (rates @ bounds.work)[used] / rates.sum()  # of a job, by class
        speed = counts[used] / mean_s
        part = speed / speed.sum()  # of the jobs, by class
        executors = float(counts[used].sum())
        busy = rates.sum() * float(part @ (mean_s * part.sum())) / executors
        rho = bounds.background + busy
        if rho >= 1:
            return (0.0,) * len(self.question.targets)
        own = bounds.work if name in WHOLE else bounds.chain
        whole_s, moment = self._moments(rates, used, part, executors)
        lines = 1 if name in DRAWN else int(executors)
        waits = erlang_c(lines, lines * rho) if lines <= MOST_ERLANG else 0.0
        decay = 2 * lines * (1 - rho) * whole_s / moment
        found = []
        for target in self.question.targets:
            spare = target.bound_s - own[target.model][used]
            late = np.where(spare < 0, 1.0, waits * np.exp(-decay * np.maximum(spare, 0.0)))
            found.append(float(1 - part @ late))
        return tuple(found)

    def _moments(
        self,
        rates: NDArray[np.float64],
        used: NDArray[np.int64],
        part: NDArray[np.float64],
        executors: float,
    ) -> tuple[float, float]:
        """First and second moment of what an executor serves: queries, and background."""
        work = self.bounds.work[:, used]
        mine = float(rates.sum())
        other = self.background_rate * executors
        first = float(rates @ work @ part) + other * self._background_mean()
        second = float((rates * (1 + self.spread)) @ (work**2) @ part)
        second += self.background_moment * executors
        return first / (mine + other), max(second / (mine + other), 1e-300)

    def _background_mean(self) -> float:
        return self.bounds.background / self.background_rate if self.background_rate else 0.0

    def least(self, option: Option, offer: int, low: int, most: int) -> int:
        """The least count of ``offer``, others as in ``option``, predicted to keep; ``most`` if none is."""
        high = low
        while high < most and self.margin(with_count(option, offer, high)) < 1:
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            if self.margin(with_count(option, offer, middle)) < 1:
                low = middle
            else:
                high = middle
        return high


def with_count(option: Option, offer: int, count: int) -> Option:
    """The option with ``count`` servers of ``offer``.

    >>> with_count(Option((1, 0)), 1, 3).counts
    (1, 3)
    """
    counts = (*option.counts[:offer], count, *option.counts[offer + 1 :])
    return Option(counts, option.scheduler, option.link)
