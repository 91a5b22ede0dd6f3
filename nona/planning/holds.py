"""Check whether the cluster holds under one scheduler: as it stands, with more traffic, without servers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from nona.cluster.prices import breaks_after
from nona.core.document import UNKNOWN, Estimate, Verdict, number
from nona.core.experiments import ProcessPool, do_nothing
from nona.core.statistics import mean_interval
from nona.planning.candidates import CandidateEvidence, ReplicationSummary, shares_of, verdicts_of
from nona.planning.offers import Option, Target
from nona.planning.plan import failures, headroom, loads_of
from nona.planning.planner import PlanSearch, RunPool
from nona.planning.question import PlanQuestion, entry_named, question_now, question_of
from nona.planning.results import HoldsReport, PlanFailure, TargetOutcome
from nona.planning.servers import with_prices
from nona.planning.written import option_row
from nona.queries.simulation.collected import RELATIVE_ERROR
from nona.scenario.lookup import Sources
from nona.scenario.plan import PlanSpec
from nona.scenario.schema import Scenario

_NO_SOURCES = Sources()
OnHolds = Callable[[HoldsReport, float, str], None]


def holds(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    scheduler: str = "",
    *,
    workers: int = 1,
    pool: RunPool | None = None,
    check: Callable[[], None] = do_nothing,
    on_report: OnHolds = do_nothing,
) -> HoldsReport:
    """Judge whether the scenario's cluster keeps the targets of its plan, and with how much headroom.

    Parameters
    ----------
    scenario : Scenario
        The scenario; its part ``plan`` holds the targets.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
    scheduler : str, optional
        By default the scenario's first scheduler.
    workers, pool, check
        As for :func:`nona.plan`.
    on_report : callable, optional
        Gets the report so far, an estimate of the share of the work done (0 to 1), and the present stage.

    Returns
    -------
    HoldsReport
        The verdict on each target, the headroom for more traffic, and the effect of failures.

    Raises
    ------
    NonaError
        For a question that cannot be answered, in one line.
    """
    if pool is None and workers > 1:
        with ProcessPool(workers) as processes:
            return holds(scenario, sources, scheduler, pool=processes, check=check, on_report=on_report)
    begin = time.perf_counter()
    question, counts, priced = _question(scenario, sources, scheduler)
    planner = PlanSearch(question, pool, check)
    option = Option(counts, 0)

    def report(
        factor: float | None = None, lost: tuple[PlanFailure, ...] = (), whole: bool = False
    ) -> HoldsReport:
        spec, evidence = question.spec, planner.judged(option)
        return HoldsReport(
            option=option_row(planner, option, evidence),
            targets=_targets(question, evidence),
            headroom=factor,
            full_at=planner.bounds.full_at(option),
            growth=spec.growth,
            breaks_at=None if factor is None else breaks_after(factor, spec.growth),
            curve=loads_of(planner, option),
            failures=lost,
            priced=priced,
            currency=spec.prices.currency,
            confidence=spec.confidence,
            complete=whole,
            seconds=time.perf_counter() - begin,
        )

    def follow(first: float, last: float, before: str = "", factor: float | None = None) -> None:
        def report_progress(share: float, text: str) -> None:
            on_report(report(factor), first + (last - first) * share, f"{before}{text}")

        planner.follow(report_progress)

    follow(0.0, 0.5)
    while left := planner.undecided(option):
        planner.simulate_more(left)
    planner.best = option
    follow(0.5, 0.8, "More traffic: ")
    factor = headroom(planner, option)
    follow(0.8, 1.0, "Failures: ", factor)
    return report(factor, failures(planner, option), True)


def _question(
    scenario: Scenario, sources: Sources, scheduler: str
) -> tuple[PlanQuestion, tuple[int, ...], bool]:
    """Return the question with the cluster and one scheduler alone, its servers, whether all have a price."""
    spec = scenario.plan or PlanSpec()
    spec, priced = with_prices(spec, (group.gpu for group in scenario.cluster.task_groups))
    chosen = entry_named(scenario.schedulers, scheduler or scenario.schedulers[0].name)
    update = {"schedulers": (chosen,), "survive": "nothing", "offers": (), "group": None}
    asked = scenario.model_copy(update={"plan": spec.model_copy(update=update)})
    question, counts = question_now(question_of(asked, sources), asked)
    return question, counts, priced


def _targets(question: PlanQuestion, evidence: CandidateEvidence) -> tuple[TargetOutcome, ...]:
    shares = shares_of(question, evidence) or (UNKNOWN,) * len(question.targets)
    return tuple(
        _target(question, target, share, verdict, evidence)
        for target, share, verdict in zip(
            question.targets, shares, verdicts_of(question, evidence), strict=True
        )
    )


def _target(
    question: PlanQuestion, target: Target, share: Estimate, verdict: Verdict, evidence: CandidateEvidence
) -> TargetOutcome:
    of_mean = target.share is None
    time_s = share if of_mean else _time_s(target.model, target.threshold, evidence.summaries)
    return TargetOutcome(
        target=target.planned(question.scenario.labels[target.model]),
        share=UNKNOWN if of_mean else share,
        time_s=UNKNOWN if evidence.overloaded else time_s,
        verdict=verdict,
    )


def _time_s(model: int, share: float, seen: tuple[ReplicationSummary, ...]) -> Estimate:
    """Return the time by which the target's share of all arrived jobs are complete.

    A mean over replications.

    Its interval is Student's, widened by what the sketches round.
    """
    times_s = [_quantile_s(model, share, run) for run in seen]
    if not times_s or not np.isfinite(times_s).all():
        return UNKNOWN
    interval = mean_interval(times_s)
    has_interval = len(times_s) > 1
    ends = interval.low * (1 - RELATIVE_ERROR), interval.high * (1 + RELATIVE_ERROR)
    return Estimate(mean=number(interval.mean), ci95=ends if has_interval else None)


def _quantile_s(model: int, share: float, run: ReplicationSummary) -> float:
    """Jobs that are not complete count as later than any that is."""
    sketch = run.sketches[model]
    if not sketch.count:
        return np.inf
    of_complete = share * run.arrived[model] / sketch.count
    return sketch.quantile(of_complete) if of_complete <= 1 else np.inf
