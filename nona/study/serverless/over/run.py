"""Policies over the values of one number, with the knees up to which they keep the SLOs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.experiments.workers import kept_pool
from nona.results.serverless.over import OverReport, OverSetting, PolicyOver
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.serverless.over.bench import Bench
from nona.study.serverless.over.search import Points, knee_search, knees_of, point_search
from nona.study.serverless.over.settings import OverSettings, check_over
from nona.study.serverless.tasks import TaskPool

VALUES = 0.6  # share of the work that the asked values are
FIRST, STEP = 0.5, 0.15  # a batch at the asked values, a step towards knees: parts of what is left
_NO_SOURCES = Sources()


@dataclass(frozen=True, slots=True)
class OverProgress:
    """How far it is, and the points so far."""

    text: str
    fraction: float
    report: OverReport


def policies_over(
    scenario: Scenario,
    settings: OverSettings,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    pool: TaskPool | None = None,
    on_progress: Callable[[OverProgress], None] = lambda progress: None,
) -> OverReport:
    """Simulate every policy at every value with the same random numbers, then look for the knees.

    Parameters
    ----------
    workers
        Processes; results do not depend on it.
    pool
        What runs them instead, e.g. processes that several calls share.
    on_progress
        What it raises (``Cancelled``) ends the work and comes out.

    Raises
    ------
    NonaError
        When the scenario is not serverless, or a value or policy is not possible.
    """
    if pool is None:
        with kept_pool(workers) as kept:
            return policies_over(scenario, settings, sources, pool=kept, on_progress=on_progress)
    if scenario.serverless is None:
        raise ScenarioError(
            ["serverless: is missing; add the key 'serverless: {}' (all its parts have defaults)."]
        )
    check_over(scenario, settings)
    begin = time.perf_counter()
    found: dict[str, Points] = {policy: {} for policy in settings.policies}
    bench = Bench(scenario, settings, sources, pool)

    def report() -> OverReport:
        return _report(scenario, settings, found, time.perf_counter() - begin)

    def tell(text: str, fraction: float) -> None:
        on_progress(OverProgress(text, fraction, report()))

    pairs = [(p, v) for v in settings.values for p in settings.policies]
    label, first, steps = settings.number.label.lower(), _Batches(FIRST), _Batches(STEP)
    bench.run(
        [point_search(settings, p, v, found[p]) for p, v in pairs],
        lambda share: tell(f"{len(settings.values)} values of {label}", VALUES * first.at(share)),
    )
    if settings.knees:
        bench.run(
            [knee_search(settings, p, found[p]) for p in settings.policies],
            lambda share: tell("looking for the knees", VALUES + (1 - VALUES) * steps.at(share)),
        )
    return report()


class _Batches:
    """How far a search is whose number of batches is unknown: each does ``part`` of what is left.

    >>> search = _Batches(0.5)
    >>> [search.at(share) for share in (0.0, 1.0, 0.0, 1.0)]
    [0.0, 0.5, 0.5, 0.75]
    """

    def __init__(self, part: float) -> None:
        self._left, self._batches, self._last = 1 - part, 0, 0.0

    def at(self, share: float) -> float:
        """The share of the whole, where ``share`` of a batch is done; less than before: of the next one."""
        self._batches += share < self._last
        self._last = share
        return 1 - float(self._left ** (self._batches + share))


def _report(
    scenario: Scenario, settings: OverSettings, found: dict[str, Points], seconds: float
) -> OverReport:
    number = settings.number
    return OverReport(
        key=number.key,
        label=number.label,
        unit=number.unit,
        now=number.of(scenario),
        values=settings.values,
        target=settings.target,
        policies={
            policy: PolicyOver(points=tuple(points[v] for v in sorted(points)), knees=knees_of(points))
            for policy, points in found.items()
        },
        setting=OverSetting(
            name=scenario.name, seed=scenario.seed, calls=settings.calls, replications=settings.most
        ),
        seconds=seconds,
    )
