"""Live charts of a running simulation: their numbers, titles and sentences.

Everything is added up as it comes, so a snapshot costs the same after a million jobs as after a
thousand, and memory does not grow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.core.tables import kept_text, share_text
from nona.core.units import format_time
from nona.queries.chart_data import LinkLoad, LiveLine, LiveLines, LiveRun, ResourceLoad
from nona.queries.results import Schedulers
from nona.queries.simulation.collected import Busy, RunProgress, in_time
from nona.queries.simulation.steady_state import BACKLOG, SHORT_FIRST

LOWEST_S = 1e-6  # left end of the first bin of completion times
PER_OCTAVE = 8  # bins by which a completion time doubles: each is 9 % wide
OCTAVES = 40
BINS = PER_OCTAVE * OCTAVES
MOST_DRAWN = 2000  # executors of a cluster whose loads are sent while it runs


def bin_edge_s(number: float) -> float:
    """Left end of a bin of completion times, seconds; in between for numbers in between.

    >>> bin_edge_s(0), bin_edge_s(PER_OCTAVE) / bin_edge_s(0)
    (1e-06, 2.0)
    """
    return LOWEST_S * math.exp2(number / PER_OCTAVE)


class IntervalMeans:
    """Means of values over equal time intervals; their width doubles when the run outgrows them.

    >>> s = IntervalMeans(2)
    >>> s.add(np.array([0.0, 1.0, 5.0]), np.array([1.0, 3.0, 8.0]))
    >>> round(s.width_s, 6), s.means()[1].tolist()
    (2.5, [2.0, 8.0])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.begin_s = self.width_s = math.nan
        self._sums, self._counts = np.zeros(most), np.zeros(most)

    def add(self, at_s: Floats, value: Floats) -> None:
        """Add values at instants; those before the first instant ever seen count in the first interval."""
        if not len(at_s):
            return
        if math.isnan(self.begin_s):
            self.begin_s = float(at_s.min())
            self.width_s = max(float(at_s.max()) - self.begin_s, 1e-9) / self.most
            self.width_s *= 1 + 1e-9  # the last value is in the last interval, not alone beyond it
        while (float(at_s.max()) - self.begin_s) / self.width_s >= self.most:  # rounded as places are
            self._widen()
        place = ((at_s - self.begin_s) / self.width_s).astype(np.int64).clip(0, self.most - 1)
        self._counts += np.bincount(place, minlength=self.most)
        self._sums += np.bincount(place, weights=value, minlength=self.most)

    def _widen(self) -> None:
        self.width_s *= 2
        for sums in (self._sums, self._counts):
            joined = np.add.reduceat(sums, np.arange(0, self.most, 2))
            sums[: len(joined)], sums[len(joined) :] = joined, 0.0

    def means(self) -> tuple[Floats, Floats]:
        """Midpoints of the intervals with values, seconds after the first; the means there.

        The last is left out until it has half as many values as is usual: a few jobs would look like a peak.
        """
        used = np.flatnonzero(self._counts)
        if len(used) > 1 and self._counts[used[-1]] < np.median(self._counts[used[:-1]]) / 2:
            used = used[:-1]
        means: Floats = self._sums[used] / self._counts[used]
        at: Floats = np.asarray((used + 0.5) * self.width_s, dtype=np.float64)
        return at, means


@dataclass
class _Scheduler:
    stretches: IntervalMeans
    short: bool
    jobs: int = 0
    total_s: float = 0.0
    hits: int = 0
    with_slo: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))
    busy: dict[int, Busy] = field(default_factory=dict)
    waiting: dict[int, Ints] = field(default_factory=dict)

    def loads(self) -> tuple[Floats, Floats]:
        """Shares of the time that each executor and each link was busy, mean of all replications."""
        runs = list(self.busy.values())
        return np.mean([b.executors for b in runs], axis=0), np.mean([b.links for b in runs], axis=0)


class LiveSeries:
    """Sums over the measured jobs that are complete so far, of all replications.

    The line over time is that of the first replication alone. ``slo_s`` has the SLO of every class, or
    none; ``points`` is the most that a line may have.

    >>> LiveSeries().snapshot()
    {}
    """

    def __init__(self, slo_s: Sequence[float | None] = (), points: int = 80) -> None:
        self.points = points
        self._limit = np.array([math.nan if s is None else s for s in slo_s])
        self._known: dict[str, _Scheduler] = {}

    @property
    def jobs(self) -> int:
        """Measured jobs that are complete, of all schedulers and replications."""
        return sum(s.jobs for s in self._known.values())

    def add(self, scheduler: str, replication: int, progress: RunProgress) -> None:
        """Add the measured jobs that were completed since the last call."""
        short, so_far = replication >= SHORT_FIRST, self._known.get(scheduler)
        if not len(progress.arrival_s):
            if so_far is not None and so_far.short == short:
                so_far.waiting[replication] = progress.waiting
            return
        if so_far is None or so_far.short != short:  # the whole run begins with the jobs of the short one
            so_far = self._known[scheduler] = _Scheduler(IntervalMeans(self.points), short)
        so_far.waiting[replication] = progress.waiting
        jct = progress.completion_s - progress.arrival_s
        if len(self._limit):
            limit = self._limit[progress.query]
            so_far.with_slo += int(np.count_nonzero(~np.isnan(limit)))
            so_far.hits += int(np.count_nonzero(in_time(jct, limit)))
        if replication in (0, SHORT_FIRST):
            so_far.stretches.add(progress.arrival_s, jct)
        so_far.jobs += len(jct)
        so_far.total_s += float(jct.sum())
        place = (PER_OCTAVE * np.log2(np.maximum(jct, LOWEST_S) / LOWEST_S)).astype(np.int64)
        so_far.counts += np.bincount(place.clip(0, BINS - 1), minlength=BINS)
        if progress.busy.known:
            so_far.busy[replication] = progress.busy

    def snapshot(self) -> LiveLines:
        """Scheduler → its line, its distribution, its sums; ``busy`` since each run's start.

        One of which no job is complete yet has none.
        """
        with_slo = ~np.isnan(self._limit)
        return {name: _live_line(so_far, with_slo) for name, so_far in self._known.items() if so_far.jobs}

    def loads(self, link_names: Sequence[str]) -> dict[str, ResourceLoad]:
        """Scheduler → utilisation of each executor and link so far; none for clusters too large to draw."""
        return {
            name: _load(*so_far.loads(), link_names)
            for name, so_far in self._known.items()
            if so_far.busy and len(next(iter(so_far.busy.values())).executors) <= MOST_DRAWN
        }


def _live_line(running: _Scheduler, with_slo: Bools) -> LiveLine:
    waiting = sum((w for w in running.waiting.values() if len(w)), np.zeros(1, dtype=np.int64))
    late = running.with_slo + (int(waiting[with_slo].sum()) if len(waiting) == len(with_slo) else 0)
    at, means = running.stretches.means()
    filled = np.flatnonzero(running.counts)
    low, high = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 0)
    compute = np.mean([b.executors.mean() for b in running.busy.values()]) if running.busy else math.nan
    link = np.mean([b.links.max() for b in running.busy.values()]) if running.busy else math.nan
    return LiveLine(
        t=_short(at),
        jct_s=_short(means),
        first=low,
        counts=tuple(running.counts[low:high].tolist()),
        jobs=running.jobs,
        mean_s=running.total_s / running.jobs,
        hit_rate=running.hits / late if running.with_slo else None,
        busy=(round(float(compute), 4), round(float(link), 4)) if running.busy else None,
        waiting=int(waiting.sum()),
    )


def _load(executors: Floats, links: Floats, link_names: Sequence[str]) -> ResourceLoad:
    each = tuple(
        LinkLoad(link=name, utilization=round(share, 3))
        for name, share in zip(link_names, links.tolist(), strict=True)
    )
    busiest = float(links.max())
    return ResourceLoad(executors=tuple(np.round(executors, 3)), link=busiest, links=(), each_link=each)


def _short(values: Floats) -> tuple[float, ...]:
    """Five digits: more than a screen can show, and a third of the bytes."""
    return tuple(float(f"{v:.5g}") for v in values.tolist())


def comparable(series: LiveLines) -> LiveLines:
    """Those whose means are of the same jobs: that drop none and leave few behind; all where none is so."""
    return {
        name: line for name, line in series.items() if line.waiting <= BACKLOG * (line.jobs + line.waiting)
    } or series


TITLES = ("JCT over time", "Distribution of the JCT", "SLO hits", "Utilisation")  # of the four charts


def counts_text(live: LiveRun) -> str:
    """Count the measured jobs that each scheduler completed in a cancelled run.

    >>> counts_text(LiveRun(schedulers=("nona", "local")))
    'Measured jobs completed: nona none, local none.'
    """
    jobs = {n: live.series[n].jobs if n in live.series else 0 for n in live.schedulers}
    counts = ", ".join(f"{name} {f'{count:,}' if count else 'none'}" for name, count in jobs.items())
    return f"Measured jobs completed: {counts}."


def measured(series: LiveLines, schedulers: Schedulers) -> dict[str, LiveLine]:
    """Return the lines of a finished run, with the use of executors and links and its SLO hits.

    So that charts and tables show one number: while a run goes on, its use counts from its start, and its
    hits are of the jobs that are done.
    """
    shown = dict(series)
    for name, line in series.items():
        if name not in schedulers:
            continue
        used, hits = schedulers[name].utilization, schedulers[name].slo_hit_rate.mean
        if line.busy and used.compute is not None and used.network is not None:
            line = line.model_copy(update={"busy": (used.compute, used.network)})
        shown[name] = line if hits is None else line.model_copy(update={"hit_rate": hits})
    return shown


def quantile_s(line: LiveLine, share: float) -> float:
    """Return the ``share`` quantile of the JCT, up to a bin's width of 9 %, in seconds.

    ∞ beyond what is done.
    """
    passed, wanted = 0, share * line.arrived
    for k, count in enumerate(line.counts):
        if passed + count >= wanted:
            return bin_edge_s(line.first + k + (wanted - passed) / max(count, 1))
        passed += count
    return math.inf


def live_alts(series: LiveLines) -> list[str]:
    """Return the latest numbers of each chart as one sentence."""
    names = list(series)
    means = ", ".join(f"{n} {format_time(series[n].mean_s)}" for n in names)
    tails = ", ".join(f"{n} {format_time(quantile_s(series[n], 0.95))}" for n in names)
    rates = ", ".join(f"{n} {kept_text(s.hit_rate)}" for n, s in series.items() if s.hit_rate is not None)
    busy = ", ".join(
        f"{n} {share_text(s.busy[0])} and {share_text(s.busy[1])}" for n, s in series.items() if s.busy
    )
    return [
        f"JCT over arrival time. Means: {means or 'none yet'}.",
        f"Distribution of the JCT. 95 % of the jobs within: {tails or 'none yet'}.",
        f"SLO hit rates: {rates or 'none'}.",
        f"Executors and busiest link busy: {busy or 'none yet'}.",
    ]
