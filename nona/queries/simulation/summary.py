"""Summary of a scheduler's runs, difference from another's, precision.

Recorded jobs are used one by one where all are recorded. Where records are thinned the sums over
all jobs give means and shares, the sketch of all jobs percentiles (to its stated error); only how
a single run fluctuates is then read from the jobs that are recorded, which errs on the wide side.

Whether to stop is decided by the data, and an interval that happens to be narrow stops early:
that costs coverage when replications are few. So there are at least ten, the number of the next
look follows from the data alone (never from the workers), and looks are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from nona.core.arrays import Floats, Ints
from nona.core.checks import Check
from nona.core.document import UNKNOWN, Estimate, Percentile
from nona.core.errors import SimulationError
from nona.core.statistics import (
    BATCHES,
    NO_DIFFERENCE,
    NO_INTERVAL,
    Interval,
    PairedDifference,
    mean_interval,
    no_percentile,
    overlapping_batch_means,
    paired_difference,
    paired_jobs,
    percentile,
    percentile_interval,
    percentile_of,
    run_mean,
    too_few_jobs,
)
from nona.core.verdict import BEYOND, LEVELS, HitCounts, estimate_of, level_of, share_within
from nona.queries.results import (
    BatchSteps,
    ClosedLoop,
    CompletionParts,
    Jct,
    JobCounts,
    ModelResult,
    PrecisionReport,
    Resources,
    SchedulerResult,
)
from nona.queries.simulation.collected import PARTS, JobSums, in_time, over_bound
from nona.queries.simulation.records import Records, State
from nona.queries.simulation.steady_state import over_runs


@dataclass(frozen=True, eq=False)
class MeasuredJobs:
    """The jobs of one query class (``query``: its number; ``None``: all classes) in several runs.

    ``slo_s`` has the SLO of every class, or none.
    """

    runs: Sequence[Records]
    slo_s: Sequence[float | None]
    query: int | None = None

    def completed(self) -> list[int]:
        """Return the number of completed jobs of each run."""
        return [int(self._of(r.tally.completed).sum()) for r in self.runs]

    def mean_jcts(self) -> list[float]:
        """Mean JCT of each run, seconds; ``nan`` for one without completed jobs."""
        return [run_mean(self._jct(r)) if r.every == 1 else _ratio(*self._sums(r.tally)) for r in self.runs]

    def mean_jct(self, level: float = 0.95) -> Interval:
        """Interval of the mean JCT: over replications, or by batches if there is one run."""
        return _over(self.mean_jcts(), [self._jct(r) for r in self.runs[:1]], level)

    def mean_parts_s(self) -> tuple[float, ...]:
        """Mean parts of the JCT, in the order of ``PARTS``, over the runs.

        They add up to the mean of :meth:`mean_jct`; ``nan`` without completed jobs.
        """
        chosen = slice(None) if self.query is None else slice(self.query, self.query + 1)
        totals = [(r.tally.parts_s[chosen].sum(axis=0), jobs) for r, jobs in self._counted()]
        if not totals:
            return (float("nan"),) * len(PARTS)
        return tuple(np.mean([parts / jobs for parts, jobs in totals], axis=0).tolist())

    def batches(self) -> BatchSteps | None:
        """Sizes of the batches that executors ran; ``None`` where they take one task at a time."""
        if self.runs[0].batch_sizes is None:
            return None
        chosen = slice(None) if self.query is None else slice(self.query, self.query + 1)
        counts = np.sum(
            [r.batch_sizes[chosen].sum(axis=0) for r in self.runs if r.batch_sizes is not None], axis=0
        )
        total = int(counts.sum())
        if not total:
            return None
        return BatchSteps(
            mean_size=float(counts @ np.arange(len(counts))) / total,
            sizes={size: int(n) / total for size, n in enumerate(counts.tolist()) if n},
            fill_wait_s=self.mean_parts_s()[PARTS.index("fill_wait")],
        )

    def loop(self) -> ClosedLoop | None:
        """Users of the class and what they send; ``None`` for all classes together, and for an open loop."""
        if self.query is None or not self.runs[0].loops or not self.runs[0].loops[self.query][0]:
            return None
        users, think_s, alone_s = self.runs[0].loops[self.query]
        rates = [
            float(r.tally.arrived[self.query]) / length
            for r in self.runs
            if (length := r.window_s[1] - r.window_s[0]) > 0
        ]
        found = mean_interval(rates).estimate if rates else UNKNOWN
        return ClosedLoop(users=users, think_s=think_s, alone_s=alone_s, per_s=found)

    def _counted(self) -> list[tuple[Records, int]]:
        """Return the runs with completed jobs, and how many."""
        return [(r, jobs) for r, jobs in zip(self.runs, self.completed(), strict=True) if jobs]

    def hit_rates(self) -> list[float]:
        """SLO hits per arrived job of the classes with an SLO, of each run."""
        return [
            run_mean(self._hits(r)) if r.every == 1 else _ratio(*self._hit_sums(r.tally)) for r in self.runs
        ]

    def hit_rate(self) -> Estimate:
        """Return the SLO hit rate, the mean over the runs; its interval as for verdicts on shares."""
        mean = mean_interval(self.hit_rates()).mean
        if math.isnan(mean):
            return UNKNOWN
        thinned = len(self.runs) > 1 and any(r.every > 1 for r in self.runs)
        if thinned:
            return Estimate(mean=mean, ci95=estimate_of(self._hit_counts()).ci95)
        found = share_within([self._over_slo(r) for r in self.runs], BATCHES)
        return Estimate(mean=mean, ci95=found.ci95)

    def _over_slo(self, run: Records) -> Floats:
        """Return times over the SLOs of the recorded jobs of classes with one; ``inf`` where unfinished."""
        limits = np.array([np.nan if s is None else s for s in self.slo_s])[run.query]
        of = np.ones(len(limits), dtype=bool) if self.query is None else run.query == self.query
        return over_bound(run.completion_time_s[of], limits[of])

    def _hit_counts(self) -> HitCounts:
        """All jobs by their tallies; the levels are those of the recorded ones."""
        recorded = np.concatenate([self._over_slo(r) for r in self.runs])
        sums = [self._hit_sums(r.tally) for r in self.runs]
        hits, arrived = (tuple(int(n) for n in of) for of in zip(*sums, strict=True))
        beyond = max(1 - sum(hits) / max(sum(arrived), 1), BEYOND / max(sum(arrived), 1))
        levels = [level_of(recorded, min(1.0, factor * beyond)) for factor in LEVELS]
        late = tuple(tuple(self._late(r.tally, level) for r in self.runs) for level in levels)
        return HitCounts(arrived, hits, late)

    def _late(self, tally: JobSums, level: float) -> int:
        """Jobs that take more than ``level`` times their SLO, or are not complete."""
        chosen = range(len(self.slo_s)) if self.query is None else (self.query,)
        slos = [(j, s) for j in chosen if (s := self.slo_s[j]) is not None]
        above = sum(tally.sketches[j].above(level * slo) for j, slo in slos)
        return above + sum(int(tally.arrived[j] - tally.completed[j]) for j, _ in slos)

    def percentile(self, percent: float, level: float = 0.95) -> Percentile:
        """Return a percentile of the JCT with its interval, or why it is withheld."""
        if all(r.every == 1 for r in self.runs):
            return percentile_interval([self._jct(r) for r in self.runs], percent, level)
        percentiles = [
            percentile(self._jct(r), percent) if r.every == 1 else self._sketched(r.tally, percent)
            for r in self.runs
        ]
        return percentile_of(percentiles, too_few_jobs(self.completed(), percent), level)

    def jobs_jct(self) -> list[Floats]:
        """JCT of the recorded jobs of each run; ``nan`` where unfinished."""
        return [self._jct(r) for r in self.runs]

    def jobs_hits(self) -> list[Floats]:
        """1 or 0 for the recorded jobs of each run, ``nan`` without an SLO."""
        return [self._hits(r) for r in self.runs]

    def _of(self, by_class: Ints) -> Ints:
        return by_class if self.query is None else by_class[self.query : self.query + 1]

    def _jct(self, run: Records) -> Floats:
        times = run.completion_time_s
        return times if self.query is None else times[run.query == self.query]

    def _hits(self, run: Records) -> Floats:
        """1 for a job within its SLO, 0 for one that is late or unfinished, ``nan`` without an SLO."""
        limits = np.array([np.nan if s is None else s for s in self.slo_s])[run.query]
        times = run.completion_time_s
        late = np.where(np.isnan(times), np.inf, times)
        hits = np.where(np.isnan(limits), np.nan, in_time(late, limits).astype(float))
        return hits if self.query is None else hits[run.query == self.query]

    def _sums(self, tally: JobSums) -> tuple[float, float]:
        chosen = slice(None) if self.query is None else slice(self.query, self.query + 1)
        return float(tally.total_s[chosen].sum()), float(tally.completed[chosen].sum())

    def _hit_sums(self, tally: JobSums) -> tuple[float, float]:
        counted = np.array([s is not None for s in self.slo_s])
        if self.query is not None:
            counted &= np.arange(len(counted)) == self.query
        return float(tally.hits[counted].sum()), float(tally.arrived[counted].sum())

    def _sketched(self, tally: JobSums, percent: float) -> float:
        sketch = tally.sketch() if self.query is None else tally.sketches[self.query]
        return sketch.quantile(percent / 100)


def _over(means: Sequence[float], jobs: Sequence[Floats], level: float) -> Interval:
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


SEVERITY: tuple[State, ...] = ("stable", "backlogged", "overloaded")
PERCENTILES = (50, 95, 99)
MOST_LINKS = 8  # of those with several
NO_PARTS = CompletionParts(compute=None, transfer=None, link_wait=None, server_wait=None)


@dataclass(frozen=True, slots=True)
class SchedulerSummary:
    """All replications of one scheduler: its result, and what the runs say of themselves.

    ``state`` of the result is the worst of the replications. Completion times are unknown when it is
    ``overloaded``: there is no steady state for them to describe. Hit rates stand even then, as what
    happened in these runs; they cover the classes with an SLO. Jobs are summed over replications,
    utilisations averaged. ``checks`` holds each check once: failed if it failed in any replication, with
    the first failure's detail.
    """

    scheduler: str
    engine: str
    result: SchedulerResult
    checks: tuple[Check, ...]


def summarize(
    records: Sequence[Records], slo_s: Sequence[float | None], names: Sequence[str]
) -> SchedulerSummary:
    """Summarise the replications of one scheduler.

    ``records``: one per replication, all of the same scheduler. ``slo_s``, ``names``: of each query class:
    its SLO (seconds, or none) and its name.

    Raises ``SimulationError`` without records, with records of several schedulers, or with classes that have
    no name.
    """
    _check(records, slo_s, names)
    first = records[0]
    worst = max(records, key=lambda r: SEVERITY.index(r.state))
    all_jobs = MeasuredJobs(records, slo_s)
    offered = (_mean([r.offered[0] for r in records]), _mean([r.offered[1] for r in records]))
    result = SchedulerResult(
        jct_s=_jct(all_jobs, worst),
        parts_s=_parts(all_jobs, worst),
        models={
            name: _model(MeasuredJobs(records, slo_s, j), worst, slo)
            for j, (name, slo) in enumerate(zip(names, slo_s, strict=True))
        },
        slo_hit_rate=all_jobs.hit_rate() if any(s is not None for s in slo_s) else UNKNOWN,
        jobs=JobCounts(
            arrived=sum(r.arrived for r in records),
            completed=sum(r.completed for r in records),
            in_flight=sum(r.in_flight for r in records),
        ),
        utilization=Resources(
            compute=_mean([r.utilization_compute for r in records]),
            network=_mean([r.utilization_network for r in records]),
        ),
        offered=Resources(compute=offered[0], network=offered[1]),
        little_s=_little_s(records),
        links=dict(link_utilizations(records)[:MOST_LINKS]),
        state=worst.state,
        state_reason=over_runs(worst.state_reason, worst.offered, offered),
        replications=len(records),
        decisions="python" if any(r.decisions == "python" for r in records) else "machine code",
        batches=all_jobs.batches(),
    )
    engines = ", ".join(sorted({r.engine for r in records}))  # several where a run changed over
    return SchedulerSummary(first.scheduler, engines, result, _merged_checks(records))


def _little_s(records: Sequence[Records]) -> float:
    """Mean JCT by Little's law, W = N̄ / λ, over the runs; ``nan`` where a window has no length.

    N̄ is the mean number of jobs in the system over the window, counted without looking at completion
    times; λ the rate at which jobs arrived in it.

    Source: Little, A Proof for the Queuing Formula L = λW, Operations Research 1961.
    """
    return _mean([r.mean_open * (r.window_s[1] - r.window_s[0]) / max(r.jobs - 1, 1) for r in records])


def _mean(values: Sequence[float]) -> float:
    return mean_interval(values).mean


def jct_difference(a: Sequence[Records], b: Sequence[Records], level: float = 0.95) -> PairedDifference:
    """Mean JCT of scheduler ``a`` less that of ``b``: paired by replication, or by job if there is one.

    Only replications that both have are compared. There is no difference when one of the two is overloaded,
    which has no mean.

    Raises ``SimulationError`` when the two have no replication of equally many jobs in common.
    """
    if any(r.state == "overloaded" for r in (*a, *b)):
        return NO_DIFFERENCE
    a, b = _pairs(a, b)
    x, y = MeasuredJobs(a, ()), MeasuredJobs(b, ())
    if len(a) == 1:
        return paired_jobs(x.jobs_jct()[0], y.jobs_jct()[0], level)
    return paired_difference(x.mean_jcts(), y.mean_jcts(), level)


def hit_rate_difference(
    a: Sequence[Records], b: Sequence[Records], slo_s: Sequence[float | None], level: float = 0.95
) -> PairedDifference:
    """SLO hit rate of scheduler ``a`` less that of ``b``, paired as the JCT; ``slo_s`` of each class.

    There is none when an overloaded one was stopped early.

    Raises ``SimulationError`` when the two have no replication of equally many jobs in common.
    """
    if any(r.state == "overloaded" for r in (*a, *b)) and not _in_common(a, b):
        return NO_DIFFERENCE  # an overloaded one was stopped early
    a, b = _pairs(a, b)
    x, y = MeasuredJobs(a, slo_s), MeasuredJobs(b, slo_s)
    if len(a) == 1:
        return paired_jobs(x.jobs_hits()[0], y.jobs_hits()[0], level)
    return paired_difference(x.hit_rates(), y.hit_rates(), level)


def _in_common(a: Sequence[Records], b: Sequence[Records]) -> list[tuple[Records, Records]]:
    """Return the runs of equal replications, which were measured alike."""
    of_b = {(r.replication, r.jobs, r.every): r for r in b}
    return [(r, of_b[mark]) for r in a if (mark := (r.replication, r.jobs, r.every)) in of_b]


def _pairs(a: Sequence[Records], b: Sequence[Records]) -> tuple[Sequence[Records], Sequence[Records]]:
    pairs = _in_common(a, b)
    if not pairs:
        raise SimulationError("Paired difference: the replications must match; run both in the same way.")
    return [x for x, _ in pairs], [y for _, y in pairs]


def _check(records: Sequence[Records], slo_s: Sequence[float | None], names: Sequence[str]) -> None:
    schedulers = {r.scheduler for r in records}
    if len(schedulers) != 1:
        raise SimulationError(
            f"Summary: records of {len(schedulers)} schedulers ({', '.join(sorted(schedulers))}) must be "
            "of one; summarise each separately."
        )
    classes = max(len(r.tally.arrived) for r in records)
    if len(slo_s) != len(names) or classes > len(names):
        raise SimulationError(
            f"Summary: {len(names)} names and {len(slo_s)} SLOs must match {classes} query classes; "
            "give one of each."
        )


def _jct(measured: MeasuredJobs, worst: Records) -> Jct:
    steady = worst.state != "overloaded"
    mean = measured.mean_jct() if steady else NO_INTERVAL
    withheld = "" if steady else "overloaded: there is no steady state"
    percentiles = {
        f"p{p}": no_percentile(withheld) if withheld else measured.percentile(p) for p in PERCENTILES
    }
    last = percentiles["p99"]
    return Jct(
        mean=mean.mean,
        ci95=mean.ends,
        **{name: p.value_s for name, p in percentiles.items()},
        percentiles=percentiles,
        p99_reliable=not (last.withheld or last.interval_withheld),
        jobs=sum(measured.completed()),
    )


def _parts(measured: MeasuredJobs, worst: Records) -> CompletionParts:
    if worst.state == "overloaded":
        return NO_PARTS
    parts: dict[str, float | None] = dict(zip(PARTS, measured.mean_parts_s(), strict=True))
    if worst.batch_sizes is None:
        parts["fill_wait"] = None
    return CompletionParts(**parts)


def _model(measured: MeasuredJobs, worst: Records, slo_s: float | None) -> ModelResult:
    jct = _jct(measured, worst)
    return ModelResult(
        jct_s=jct.mean,
        jct_ci95=jct.ci95,
        parts_s=_parts(measured, worst),
        jct_p50_s=jct.p50,
        jct_p95_s=jct.p95,
        jct_p99_s=jct.p99,
        percentiles=jct.percentiles,
        slo_s=slo_s,
        slo_hit_rate=None if slo_s is None else measured.hit_rate().mean,
        batches=measured.batches(),
        loop=measured.loop(),
    )


def _merged_checks(records: Sequence[Records]) -> tuple[Check, ...]:
    merged: dict[str, Check] = {}
    for r in records:
        for c in r.checks:
            if c.name not in merged or (merged[c.name].ok and not c.ok):
                detail = c.detail if c.ok else f"replication {r.replication}: {c.detail}"
                merged[c.name] = Check(c.name, c.ok, detail)
    return tuple(merged.values())


FEWEST = 10
Runs = Mapping[str, tuple[Records, ...]]
RunMore = Callable[[int, int], Runs]


def relative_bound(target: float) -> float:
    """γ/(1+γ): a half-width below this share of the *estimate* keeps the error below γ of the truth.

    >>> round(relative_bound(0.25), 3)
    0.2

    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.4.1.
    """
    if not 0 < target < 1:
        raise SimulationError(f"Precision: {target} must be between 0 and 1; use 0.02 for 2 %.")
    return target / (1 + target)


def precision_of(means: Mapping[str, ArrayLike], target: float, overloaded: Sequence[str]) -> PrecisionReport:
    """Return the precision of replication means; those of ``overloaded`` schedulers do not count.

    >>> precision_of({"a": [1.0, 1.1], "b": [1.0, 1.0]}, 0.1, ()).not_reached
    ('a',)
    """
    bound = relative_bound(target)
    by_scheduler = {name: mean_interval(values) for name, values in means.items()}
    relative = {n: math.nan if n in overloaded else i.relative for n, i in by_scheduler.items()}
    missed = tuple(n for n, r in relative.items() if n not in overloaded and not r <= bound)
    count = max((np.size(values) for values in means.values()), default=0)
    return PrecisionReport(
        target=target,
        bound=bound,
        replications=count,
        reached=not missed,
        relative_half_width=relative,
        not_reached=missed,
        overloaded=tuple(overloaded),
    )


def next_count(precision: PrecisionReport, at_most: int) -> int:
    """Return the replications at the next look, as the widest interval predicts, at most twice as many.

    A half-width shrinks like 1/√n, so n·(relative/bound)² should do.

    >>> next_count(precision_of({"a": [1.0, 1.1, 0.9, 1.0]}, 0.1, ()), 64)
    8
    """
    n = precision.replications
    wide = [precision.relative_half_width[name] for name in precision.not_reached]
    ratios = [math.inf if half is None else half / precision.bound for half in wide]
    if any(r * r > 2 for r in ratios):  # far off, or no mean at all
        return min(at_most, 2 * n)
    return min(at_most, max(n + 1, *(math.ceil(n * r * r) for r in ratios)))


def run_to_precision(
    run: RunMore, target: float, at_least: int = FEWEST, at_most: int = 64
) -> tuple[dict[str, tuple[Records, ...]], PrecisionReport]:
    """Run replications until every steady scheduler's mean JCT is precise enough.

    All schedulers get the same replications, so that differences between them can be paired.

    ``run``: ``run(first, count)`` simulates ``count`` replications from number ``first`` on.
    ``target``: greatest relative error γ; an interval may reach γ/(1+γ) of its mean to either side.
    ``at_least``: replications before the first look; fewer than 10 are not trusted.
    ``at_most``: replications after which it ends in any case; the result says what was not reached.

    Raises ``SimulationError`` for a target that is not between 0 and 1.

    Source: Law 2015, section 9.4.1, sequential procedure for the relative error; that it wants 10
    replications at least is recollected from there.
    """
    relative_bound(target)
    records: dict[str, tuple[Records, ...]] = {}
    done, wanted = 0, min(max(at_least, FEWEST), at_most)
    while True:
        for name, more in run(done, wanted - done).items():
            records[name] = records.get(name, ()) + more
        done = wanted
        overloaded = [n for n, rs in records.items() if any(r.state == "overloaded" for r in rs)]
        means = {n: MeasuredJobs(rs, ()).mean_jcts() for n, rs in records.items()}
        precision = precision_of(means, target, overloaded)
        if not precision.not_reached or done == at_most:
            return records, precision
        wanted = next_count(precision, at_most)
