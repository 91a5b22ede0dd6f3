"""Results as saved items: what is said of one, and the headline numbers of several beside each other.

Simulations of queries are compared by replication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nona.app.store.contents import ComparedResults, scenario_of
from nona.app.store.report import scenario_line
from nona.app.store.saved_results import MOST_ABOUT, SavedAnswer, SavedFacts, Unit
from nona.core.document import UNKNOWN, Estimate, RunResult
from nona.core.statistics import mean_interval
from nona.core.tables import currency_sign
from nona.core.text import count_text, join_words
from nona.core.units import duration
from nona.language.report.tables import language_finding, language_plan_finding
from nona.language.results import LanguagePlanned, LanguageRun
from nona.planning.report_holds import holds_finding
from nona.planning.report_plan import outcome_finding
from nona.planning.results import HoldsOutcome, PlanOutcome
from nona.queries.placement.results import SolvedPlacement
from nona.queries.report.comparison import HEADINGS, change_of, changes, pairing, same_jobs
from nona.queries.report.findings import headline
from nona.queries.report.placement.comparison import estimate_of, figure_text, hits_estimate, order_finding
from nona.queries.report.report import SimulatedRun
from nona.queries.results import Measure, MeasureChange, ReplicationMeans
from nona.queries.sweeps.findings import stability_finding
from nona.queries.sweeps.report import value_text
from nona.queries.sweeps.results import SweepGrid, SweepReport, SweepRequest
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.report.findings import PER, serverless_finding
from nona.training.elastic.results import ElasticHistory, ElasticOutcome
from nona.training.report.findings import training_finding
from nona.training.results import TrainingOutcome, TrainingPolicyResult

_LONGEST = 1000  # characters of a finding


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """Results of one kind.

    ``ways``: the schedulers, routers or policies that a result compares.
    ``finding``: its answer.
    ``compare``: several beside each other, the first as the reference.
    """

    ways: Callable[[Any], Iterable[str]]
    finding: Callable[[Any], str]
    compare: Callable[[Sequence[Any]], ComparedResults]

    def facts(self, result: RunResult) -> SavedFacts:
        """Scenario and finding of a result, and the ways that it compares."""
        about, scenario, finding = result.about, scenario_of(result), self.finding(result)
        return SavedFacts(
            fingerprint=about.hash,
            version=about.version,
            made=about.made,
            scenario=about.name,
            schedulers=tuple(dict.fromkeys(self.ways(result))),
            models=(*scenario.labels, *scenario.language_labels),
            finding=finding if len(finding) <= _LONGEST else f"{finding[: _LONGEST - 1]}…",
            about=scenario_line(scenario)[:MOST_ABOUT],
        )


@dataclass(frozen=True, slots=True)
class _Headline:
    """A headline number of a result: of what, which one; ``runs``: its value in each replication."""

    subject: str
    measure: str
    unit: Unit
    value: Estimate
    runs: Sequence[float | None] = ()


def _exact(subject: str, measure: str, unit: Unit, value: float | None) -> _Headline:
    return _Headline(subject, measure, unit, UNKNOWN if value is None else Estimate(mean=value, ci95=None))


def _of_plan(plan: PlanOutcome) -> Iterator[_Headline]:
    report = plan.report
    if (answer := report.answer) is not None:
        money = f", {currency_sign(report.currency)}"
        yield _exact("answer", f"cost per hour{money}", "number", answer.cost_per_hour)
        yield _exact("answer", f"cost per million queries{money}", "number", answer.cost_per_million)
        yield _exact("answer", "headroom, times the traffic", "number", answer.headroom)
    for name, of in report.best.models.items() if report.best is not None else ():
        yield _Headline(name, "within the SLO", "share", of.hit_rate)
        yield _exact(name, "p99", "s", of.p99_s)


def _of_check(check: HoldsOutcome) -> Iterator[_Headline]:
    yield _exact("cluster", "holds until, times the traffic", "number", check.report.headroom)
    for held in check.report.targets:
        of = f"{held.target.model}, {held.target.text}"
        yield _Headline(of, "jobs in time", "share", held.share)
        yield _Headline(of, "time", "s", held.time_s)


def _of_placement(solved: SolvedPlacement) -> Iterator[_Headline]:
    for name, report in (("nona", solved.nona), ("local", solved.local), ("spread", solved.spread)):
        if report is not None:
            of = report.simulated
            yield _Headline(name, "mean JCT", "s", estimate_of(report), of.run_means)
            yield _Headline(name, "SLO hits", "share", hits_estimate(report), of.run_hits)
            yield _exact(name, "mean JCT by formula", "s", report.predicted.jct_s)


def _of_sweep(sweep: SweepReport, beside: str = "") -> Iterator[_Headline]:
    for name, curve in sweep.schedulers.items():
        for point in curve.points:
            at = f"{name} at {value_text(point.value, sweep.unit)}{beside}"
            yield _Headline(at, "mean JCT", "s", point.jct_s, point.means_s)
            yield _Headline(at, "SLO hits", "share", point.slo_hit_rate, point.hits)


def _of_grid(grid: SweepGrid) -> Iterator[_Headline]:
    for row in grid.rows:
        yield from _of_sweep(row.sweep, f", {grid.label.lower()} {value_text(row.value, grid.unit)}")


def _of_routers(run: LanguageRun) -> Iterator[_Headline]:
    for name, of in run.report.schedulers.items():
        yield _Headline(name, "goodput", "share", of.goodput, of.runs.get("goodput", ()))
        yield _Headline(name, "first token, mean", "s", of.ttft_s, of.runs.get("ttft_s", ()))
        yield _Headline(name, "last token, mean", "s", of.e2e_s, of.runs.get("e2e_s", ()))


def _of_language_plan(planned: LanguagePlanned) -> Iterator[_Headline]:
    if (best := planned.plan.best) is not None:
        currency = currency_sign(planned.plan.currency)
        yield _exact("answer", "servers", "number", best.servers)
        yield _exact("answer", f"cost per hour, {currency}", "number", best.price)
        yield _exact("answer", f"cost per million output tokens, {currency}", "number", best.per_million)
        yield _exact("answer", "headroom, times the traffic", "number", best.headroom)


def _of_serverless(run: ServerlessOutcome) -> Iterator[_Headline]:
    for name, of in run.report.policies.items():
        costs = [None if c is None else PER * c for c in of.runs.get("cost_per_call_usd", ())]
        cost = f"cost per {PER:,} calls, $"
        yield _Headline(name, "SLOs kept", "share", of.slo_hit_rate, of.runs.get("slo_hit_rate", ()))
        yield _Headline(name, cost, "number", _times(PER, of.cost_per_call_usd), costs)
        yield _Headline(name, "latency, mean", "s", of.latency_s, of.runs.get("latency_s", ()))


def _of_training(run: TrainingOutcome | ElasticHistory) -> Iterator[_Headline]:
    policies: Mapping[str, TrainingPolicyResult] | Mapping[str, ElasticOutcome] = run.report.policies
    for name, of in policies.items():
        yield _Headline(name, "mean JCT", "s", of.jct_s.estimate, of.jct_s.runs)
        yield _exact(name, "makespan", "s", of.makespan_s)
        if isinstance(of, TrainingPolicyResult):
            yield _exact(name, "cost, $", "number", of.cost_usd)


def _times(factor: float, value: Estimate) -> Estimate:
    ends = value.ci95 and (factor * value.ci95[0], factor * value.ci95[1])
    return Estimate(mean=None if value.mean is None else factor * value.mean, ci95=ends)


_ALONE = "compared as runs that do not depend on each other"


def _noted(
    numbers: Callable[[Any], Iterable[_Headline]],
    note: Callable[[Any, Any], str] = lambda first, other: _ALONE,
) -> Callable[[Sequence[Any]], ComparedResults]:
    """Each number in every result, with the change from the first; ``note``: how one was compared with it."""

    def compare(results: Sequence[Any]) -> ComparedResults:
        notes = ("", *(note(results[0], result) for result in results[1:]))
        return ComparedResults(_side_by_side([numbers(result) for result in results]), notes)

    return compare


def _paired(
    numbers: Callable[[Any], Iterable[_Headline]],
    size: Callable[[Any], Mapping[str, object]] = lambda result: {},
) -> Callable[[Sequence[Any]], ComparedResults]:
    """Compare ``numbers``, by replication where jobs and ``size`` are those of the first result."""

    def compare(results: Sequence[Any]) -> ComparedResults:
        scenarios, sizes = [scenario_of(r) for r in results], [size(r) for r in results]
        pairs = [
            same_jobs(scenarios[0], scenario, {key: of[key] != sizes[0].get(key) for key in of})
            for scenario, of in zip(scenarios, sizes, strict=True)
        ]
        notes = ("", *(pair.text() for pair in pairs[1:]))
        every = [numbers(result) for result in results]
        return ComparedResults(_side_by_side(every, [pair.paired for pair in pairs]), notes)

    return compare


def _side_by_side(
    results: Sequence[Iterable[_Headline]], paired: Sequence[bool] = ()
) -> tuple[SavedAnswer, ...]:
    """Those that no result has are left out; ``paired``: whether a result is of the first one's jobs."""
    of = [{(n.measure, n.subject): n for n in numbers if n.value.mean is not None} for numbers in results]
    rows: list[SavedAnswer] = []
    for key in dict.fromkeys(key for numbers in of for key in numbers):
        values = [numbers.get(key, _NO_NUMBER) for numbers in of]
        changes = [
            _moved(values[0], value, same)
            for value, same in zip(values, paired or [False] * len(of), strict=True)
        ]
        rows.append(
            SavedAnswer.from_fields(
                next(numbers[key] for numbers in of if key in numbers),
                values=tuple(Estimate(mean=n.value.mean, ci95=n.value.ci95) for n in values),
                changes=tuple(changes),
                clear=tuple(c.ci95 is not None and not c.ci95[0] <= 0 <= c.ci95[1] for c in changes),
            )
        )
    return tuple(rows)


def _moved(before: _Headline, after: _Headline, paired: bool) -> Estimate:
    if paired and before.runs and after.runs:
        return change_of(before.runs, after.runs, paired).change
    return change(before.value, after.value)


_NO_NUMBER = _Headline("", "", "number", UNKNOWN)


def change(before: Estimate, after: Estimate) -> Estimate:
    """Return the difference ``after`` − ``before``, with an interval where both have one.

    Formula: with values a, b and intervals [l, u], the difference d = b − a lies within
    d − √((b − l_b)² + (u_a − a)²) and d + √((u_b − b)² + (a − l_a)²) (Newcombe 1998, for estimates that do
    not depend on each other; those of equal random numbers are closer together).

    >>> change(Estimate(mean=0.5, ci95=(0.2, 0.8)), Estimate(mean=0.9, ci95=(0.5, 1.0))).ci95
    (-0.09999999999999998, 0.7162277660168379)
    """
    if before.mean is None or after.mean is None:
        return UNKNOWN
    d = after.mean - before.mean
    if before.ci95 is None or after.ci95 is None:
        return Estimate(mean=d, ci95=None)
    down = math.hypot(after.mean - after.ci95[0], before.ci95[1] - before.mean)
    up = math.hypot(after.ci95[1] - after.mean, before.mean - before.ci95[0])
    return Estimate(mean=d, ci95=(d - down, d + up))


def _plan_note(first: PlanOutcome, plan: PlanOutcome) -> str:
    """List the differences that limit the comparison of two answers."""
    notes = []
    if first.report.currency != plan.report.currency:
        notes.append(f"its currency is {plan.report.currency}, so that costs are not compared")
    if [t.text for t in first.report.targets] != [t.text for t in plan.report.targets]:
        notes.append("its targets are others")
    return "; ".join(notes) or "the same targets; the answers are compared, not each option"


_UNITS: dict[Measure, Unit] = {
    "jct_s": "s",
    "slo_hit_rate": "share",
    "compute": "share",
    "network": "share",
}


def _early(run: SimulatedRun) -> str:
    if run.ended_early_s is None:
        return ""
    ended = sorted({scheduler.replications for scheduler in run.report.schedulers.values()} or {0})
    least = "" if len(ended) == 1 else f"{ended[0]} to "
    wanted = count_text(run.scenario.simulation.replications, "replication")
    none = [s.name for s in run.scenario.schedulers if s.name not in run.report.schedulers]
    without = f", none of {join_words(none)}" if none else ""
    return f"Cancelled after {duration(run.ended_early_s)}, {least}{ended[-1]} of {wanted}{without}. "


def _compare_simulations(runs: Sequence[SimulatedRun]) -> ComparedResults:
    """Every measure of every scheduler in each run, with the change from the first.

    Runs of the same jobs are paired by replication, others compared by Welch's interval: see
    :mod:`nona.queries.report.comparison`.
    """
    first = runs[0]
    pairs = [pairing(first.scenario, run.scenario, (_warmup(first), _warmup(run))) for run in runs]
    against = [changes(first.means, run.means, pair.paired) for run, pair in zip(runs, pairs, strict=True)]
    names = list(dict.fromkeys(name for run in runs for name in run.means))
    rows = []
    for measure, (word, _) in HEADINGS.items():
        for name in names:
            every = [by_name[name].value(measure) if name in by_name else None for by_name in against]
            values = tuple(
                _value(run.means.get(name), measure, change) for run, change in zip(runs, every, strict=True)
            )
            rows.append(
                SavedAnswer(
                    subject=name,
                    measure=word,
                    unit=_UNITS[measure],
                    values=values,
                    changes=tuple(UNKNOWN if change is None else change.change for change in every),
                    clear=tuple(change is not None and change.clear for change in every),
                )
            )
    notes = (pair.text(first.means, run.means) for pair, run in zip(pairs[1:], runs[1:], strict=True))
    return ComparedResults(tuple(rows), ("", *notes))


def _value(means: ReplicationMeans | None, measure: Measure, change: MeasureChange | None) -> Estimate:
    """Return the mean in one run; that of the comparison where the first run has the scheduler too."""
    if change is not None:
        return change.new
    values = () if means is None else means.value(measure)
    numbers = [v for v in values if v is not None]
    return UNKNOWN if not numbers or len(numbers) < len(values) else mean_interval(numbers).estimate


def _warmup(run: SimulatedRun) -> int | None:
    return None if run.report.warmup is None else run.report.warmup.jobs


def _ways(result: Any) -> Iterable[str]:
    ways: Iterable[str] = result.report.schedulers
    return ways


def _policies(result: Any) -> Iterable[str]:
    policies: Iterable[str] = result.report.policies
    return policies


def _swept(asked: SweepRequest) -> Mapping[str, object]:
    return {"number": asked.number, "number of jobs": asked.jobs}


def _simulated(result: RunResult) -> Mapping[str, object]:
    size = scenario_of(result).simulation
    return {"number of jobs": size.jobs, "warm-up": size.warmup}


SIMULATION = ResultFacts(
    _ways,
    lambda run: _early(run) + headline(run.report.schedulers, run.differences, run.off).text,
    _compare_simulations,
)
PLAN = ResultFacts(
    lambda plan: (option.scheduler for option in plan.report.options),
    lambda plan: outcome_finding(plan).text,
    _noted(_of_plan, _plan_note),
)
CHECK = ResultFacts(
    lambda check: (check.report.option.scheduler,),
    lambda check: holds_finding(check.report).text,
    _noted(_of_check),
)
PLACEMENT = ResultFacts(
    lambda solved: ("nona",),
    lambda solved: f"{order_finding(solved)}: {figure_text(solved.nona)}.",
    _paired(_of_placement, lambda solved: {"number of jobs": solved.nona.simulated.jobs}),
)
SWEEP = ResultFacts(
    lambda sweep: sweep.settings.schedulers,
    stability_finding,
    _paired(_of_sweep, lambda sweep: _swept(sweep.settings)),
)
GRID = ResultFacts(
    lambda grid: grid.settings.sweep.schedulers,
    lambda grid: f"{grid.rows[0].sweep.label} × {grid.label}" if grid.rows else grid.label,
    _paired(_of_grid, lambda grid: {"second number": grid.key, **_swept(grid.settings.sweep)}),
)
LANGUAGE = ResultFacts(_ways, lambda run: language_finding(run.report).text, _paired(_of_routers, _simulated))
LANGUAGE_PLAN = ResultFacts(
    lambda planned: (option.router for option in planned.plan.options),
    lambda planned: language_plan_finding(planned.plan, planned.ended_early_s).text,
    _noted(_of_language_plan),
)
SERVERLESS = ResultFacts(
    _policies, lambda run: serverless_finding(run.report).text, _paired(_of_serverless, _simulated)
)
TRAINING = ResultFacts(_policies, lambda run: training_finding(run.report).text, _paired(_of_training))
