"""What was measured of a class of jobs, or of all, over the replications of a scheduler.

Recorded jobs are used one by one where all are recorded. Where records are thinned the sums over
all jobs give means and shares, the sketch of all jobs percentiles (to its stated error); only how
a single run fluctuates is then read from the jobs that are recorded, which errs on the wide side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.run import Records
from nona.simulation.records.tally import PARTS, Tally, in_time
from nona.simulation.statistics.batch_means import overlapping_batch_means, run_mean
from nona.simulation.statistics.intervals import Interval, mean_interval, percentile
from nona.simulation.statistics.percentiles import (
    Percentile,
    percentile_interval,
    percentile_of,
    too_few_jobs,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """The jobs of one query class (``query``: its number; ``None``: all classes) in several runs.

    ``slo_s`` has the SLO of every class, or none.
    """

    runs: Sequence[Records]
    slo_s: Sequence[float | None]
    query: int | None = None

    def completed(self) -> list[int]:
        """Completed measured jobs of each run."""
        return [int(self._of(r.tally.completed).sum()) for r in self.runs]

    def mean_jcts(self) -> list[float]:
        """Mean JCT of each run, seconds; ``nan`` for one without completed jobs."""
        return [run_mean(self._jct(r)) if r.every == 1 else _ratio(*self._sums(r.tally)) for r in self.runs]

    def mean_jct(self, level: float = 0.95) -> Interval:
        """Interval of the mean JCT: over replications, or by batches if there is one run."""
        return _over(self.mean_jcts(), [self._jct(r) for r in self.runs[:1]], level)

    def mean_parts_s(self) -> tuple[float, ...]:
        """Mean parts of the JCT, in the order of :data:`~nona.simulation.records.tally.PARTS`, over the runs.

        They add up to the mean of :meth:`mean_jct`; ``nan`` without completed jobs.
        """
        chosen = slice(None) if self.query is None else slice(self.query, self.query + 1)
        totals = [(r.tally.parts_s[chosen].sum(axis=0), jobs) for r, jobs in self._counted()]
        if not totals:
            return (float("nan"),) * len(PARTS)
        return tuple(np.mean([parts / jobs for parts, jobs in totals], axis=0).tolist())

    def _counted(self) -> list[tuple[Records, int]]:
        """The runs with completed jobs, and how many."""
        return [(r, jobs) for r, jobs in zip(self.runs, self.completed(), strict=True) if jobs]

    def hit_rates(self) -> list[float]:
        """SLO hits per arrived job of the classes with an SLO, of each run."""
        return [
            run_mean(self._hits(r)) if r.every == 1 else _ratio(*self._hit_sums(r.tally)) for r in self.runs
        ]

    def hit_rate(self, level: float = 0.95) -> Interval:
        """Interval of the SLO hit rate, as for the mean JCT."""
        return _over(self.hit_rates(), [self._hits(r) for r in self.runs[:1]], level)

    def percentile(self, percent: float, level: float = 0.95) -> Percentile:
        """A percentile of the JCT with its interval, or why it is withheld."""
        if all(r.every == 1 for r in self.runs):
            return percentile_interval([self._jct(r) for r in self.runs], percent, level)
        found = [
            percentile(self._jct(r), percent) if r.every == 1 else self._sketched(r.tally, percent)
            for r in self.runs
        ]
        return percentile_of(found, too_few_jobs(self.completed(), percent), level)

    def jobs_jct(self) -> list[Array]:
        """JCT of the recorded jobs of each run; ``nan`` where unfinished."""
        return [self._jct(r) for r in self.runs]

    def jobs_hits(self) -> list[Array]:
        """1 or 0 for the recorded jobs of each run, ``nan`` without an SLO."""
        return [self._hits(r) for r in self.runs]

    def _of(self, by_class: NDArray[np.int64]) -> NDArray[np.int64]:
        return by_class if self.query is None else by_class[self.query : self.query + 1]

    def _jct(self, run: Records) -> Array:
        times = run.completion_time_s
        return times if self.query is None else times[run.query == self.query]

    def _hits(self, run: Records) -> Array:
        """1 for a job within its SLO, 0 for one that is late or unfinished, ``nan`` without an SLO."""
        limits = np.array([np.nan if s is None else s for s in self.slo_s])[run.query]
        times = run.completion_time_s
        late = np.where(np.isnan(times), np.inf, times)
        hits = np.where(np.isnan(limits), np.nan, in_time(late, limits).astype(float))
        return hits if self.query is None else hits[run.query == self.query]

    def _sums(self, tally: Tally) -> tuple[float, float]:
        chosen = slice(None) if self.query is None else slice(self.query, self.query + 1)
        return float(tally.total_s[chosen].sum()), float(tally.completed[chosen].sum())

    def _hit_sums(self, tally: Tally) -> tuple[float, float]:
        counted = np.array([s is not None for s in self.slo_s])
        if self.query is not None:
            counted &= np.arange(len(counted)) == self.query
        return float(tally.hits[counted].sum()), float(tally.arrived[counted].sum())

    def _sketched(self, tally: Tally, percent: float) -> float:
        sketch = tally.sketch() if self.query is None else tally.sketches[self.query]
        return sketch.quantile(percent / 100)


def _over(means: Sequence[float], jobs: Sequence[Array], level: float) -> Interval:
    if len(means) == 1:
        return replace(overlapping_batch_means(jobs[0], level=level), mean=means[0])
    return mean_interval(means, level)


def _ratio(total: float, count: float) -> float:
    return total / count if count else float("nan")


def link_utilizations(records: Sequence[Records]) -> tuple[tuple[str, float], ...]:
    """Name and utilisation of every link of one scheduler's runs, the busiest first.

    Background included, averaged over replications; empty where there is but one link.
    """
    names = records[0].link_names
    if len(names) == 1:
        return ()
    lengths = [max(r.window_s[1] - r.window_s[0], 1e-300) for r in records]
    share = np.mean([r.link_busy_s / n for r, n in zip(records, lengths, strict=True)], axis=0)
    order = np.argsort(-share, kind="stable").tolist()
    return tuple((names[k], float(share[k])) for k in order)
