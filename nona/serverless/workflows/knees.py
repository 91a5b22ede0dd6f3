"""Policies over one number of a scenario: the knees up to which they keep the SLOs.

A search is a generator: it yields a look at a point, is sent what was seen there, and so several
policies are searched side by side, their runs in parallel (:mod:`nona.serverless.workflows.knees`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from nona.core.count_search import edge, nested_search
from nona.core.document import Verdict
from nona.core.errors import ScenarioError
from nona.core.experiments import do_nothing, kept_pool
from nona.core.options import Options
from nona.core.points import MissingRuns, PointCache
from nona.core.statistics import Interval, mean_interval
from nona.core.verdict import HitCounts, TestResult, estimate_of, hit_counts, looks_of, verdict
from nona.queries.sweeps.numbers import LOAD, ScenarioNumber, number_named
from nona.queries.sweeps.run import OnSweepProgress
from nona.queries.sweeps.sweep_points import check_request
from nona.queries.sweeps.values import bisection, sign_changes
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.metrics import STATES, RunMeasures, ratio
from nona.serverless.policies.base import PreparedPolicy
from nona.serverless.policies.registry import get_policy
from nona.serverless.results import (
    Knee,
    OverPoint,
    OverReport,
    OverRequest,
    OverSetting,
    PolicyOver,
    Utilization,
)
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import chosen_policies, warmup_calls
from nona.serverless.workflows.tasks import PolicyTask, TaskPool, run_tasks

MOST_CALLS = 100_000
SWEPT = (  # what is often asked for
    ScenarioNumber(LOAD, "Load", "factor", "0.5, 1, 2, 3, 4"),
    ScenarioNumber("serverless.cpu_share", "CPU share", "fraction", "5 %, 10 %, 20 %, 35 %, 50 %"),
    ScenarioNumber("cluster.servers[0].vcpus", "vCPUs per node", "count", "4, 8, 12, 16, 24, 32"),
    ScenarioNumber("cluster.servers[0].count", "Nodes", "count", "2, 4, 8, 12, 16"),
    ScenarioNumber("serverless.slo_factor", "SLO over L", "number", "0.6, 0.8, 1, 1.2, 1.5"),
    ScenarioNumber("serverless.noise", "Noise", "fraction", "0 %, 10 %, 20 %, 30 %"),
    ScenarioNumber("serverless.prices.vgpu_hour", "vGPU-hour, US$", "number", "0.1, 0.34, 0.67, 1.34, 2.68"),
)
# What a serverless run does not depend on: a curve over it would be flat.
_WITHOUT_EFFECT = ("background.", "cluster.network.", "training.", "plan.", "objective.", "schedulers")
_OF_THE_NETWORK = ("background.network.", "cluster.network.")  # where transfers share it


def over_number(scenario: Scenario, key: str) -> ScenarioNumber:
    """Return the number at ``key``, if a serverless run depends on it.

    Raises ``ScenarioError`` when there is no such number, or it has no effect on a serverless run.
    """
    spec = scenario.serverless
    shared = spec is not None and spec.transfer.remote == "network" and key.startswith(_OF_THE_NETWORK)
    if not shared and any(key.startswith(part) or key == part.rstrip(".") for part in _WITHOUT_EFFECT):
        raise ScenarioError(
            [
                f"{key}: a serverless run does not depend on it; choose load, or a number of "
                "cluster.servers, workload or serverless."
            ]
        )
    if spec is not None and spec.slo_factor is not None and key.endswith(".slo"):
        raise ScenarioError(
            [f"{key}: serverless.slo_factor sets the SLO in its place; choose serverless.slo_factor."]
        )
    number = number_named(scenario, key)
    return next((swept for swept in SWEPT if swept.key == key), number)


def _check(scenario: Scenario, number: ScenarioNumber, settings: OverRequest) -> None:
    check_request(settings)
    if not 1 <= settings.jobs <= MOST_CALLS:
        raise ScenarioError([f"Calls: {settings.jobs} must lie between 1 and {MOST_CALLS:,}; change it."])
    if not 1 <= settings.replications <= settings.most:
        raise ScenarioError(
            [f"Replications: {settings.replications} must lie between 1 and {settings.most}; change it."]
        )
    chosen_policies(scenario, settings.schedulers)
    for value in settings.values:
        number.with_value(scenario, value)


ALPHA = 0.05  # of each verdict


Replications = tuple[RunMeasures, ...]  # of one policy at one value


def _counts(seen: Replications, target: float) -> HitCounts:
    return hit_counts([run.ratios for run in seen], target)


def _is_overloaded(run: RunMeasures) -> bool:
    return run.state == "overloaded"


def _judging(target: float) -> Callable[[Replications, int, int], Verdict]:
    """Return the verdict on ``target`` at a look: a policy without a steady state misses it."""

    def judge(seen: Replications, look: int, looks: int) -> Verdict:
        if any(map(_is_overloaded, seen)):
            return "misses"
        return verdict([_counts(seen, target)], [target], ALPHA, look, looks)

    return judge


def _point_of(value: float, settled: TestResult[Replications], target: float) -> OverPoint:
    """Return the point of a settled test; goodput is hits / seconds of the window, the mean over the runs."""
    seen = settled.result

    def mean(of: Callable[[RunMeasures], float]) -> Interval:
        return mean_interval([of(run) for run in seen])

    goodput = [ratio(run.all.hits, run.window_s) for run in seen]
    return OverPoint(
        value=value,
        slo_hit_rate=estimate_of(_counts(seen, target)),
        goodput_per_s=mean_interval(goodput).estimate,
        cost_per_call_usd=mean(lambda r: r.all.cost_per_call).estimate,
        cost_per_hit_usd=mean(lambda r: r.cost_per_hit).estimate,
        utilization=Utilization(
            vcpu=mean(lambda r: r.vcpu_utilization).mean, vgpu=mean(lambda r: r.vgpu_utilization).mean
        ),
        cold_start_rate=mean(lambda r: r.cold_start_rate).mean,
        warmup=seen[0].warmup,
        replications=len(seen),
        verdict=settled.verdict,
        state=max((run.state for run in seen), key=STATES.index),
    )


MOST_LOAD, LEAST_LOAD = 64.0, 1 / 8  # factors beyond which no knee is looked for


class Probe(NamedTuple):
    """A policy at a value, with so many replications in all."""

    policy: str
    value: float
    replications: int


PointsByValue = dict[float, OverPoint]
Search = Generator[Probe, Replications, None]


@dataclass(frozen=True, eq=False)
class PolicySearch:
    """The points of one policy so far, and the searches for more of them."""

    settings: OverRequest
    number: ScenarioNumber
    policy: str
    points: PointsByValue = field(default_factory=dict)

    def curve(self) -> PolicyOver:
        """Return the policy's simulated values and its knees."""
        points = self.points
        return PolicyOver(points=tuple(points[v] for v in sorted(points)), knees=knees_of(points))

    def point(self, value: float) -> Search:
        """Look at one value until the verdict stands."""
        if value in self.points:
            return
        asked = self.settings
        looks = looks_of(_judging(asked.target), asked.most, asked.replications)
        wanted = next(looks)
        while True:
            seen = yield Probe(self.policy, value, wanted)
            try:
                wanted = looks.send(seen)
            except StopIteration as end:
                self.points[value] = _point_of(value, end.value, asked.target)
                return

    def knees(self) -> Search:
        """Extend the values if wanted, and bisect to every knee.

        First to the last value that is found kept, then from there to the nearest that is found missed: an
        open verdict is neither, so the knee's bracket holds it.
        """
        if self.settings.extend:
            yield from self._outwards()
        for kept, other in _sign_changes(self.points):
            kept = yield from self._bisect(kept, other, "keeps")
            missed = _missed_beyond(self.points, kept, other)
            if missed is not None:
                yield from self._bisect(missed, kept, "misses")

    def _outwards(self) -> Search:
        points = self.points
        while points[max(points)].verdict != "misses" and 2 * max(points) <= MOST_LOAD:
            yield from self.point(2 * max(points))
        while all(p.verdict != "keeps" for p in points.values()) and min(points) / 2 >= LEAST_LOAD:
            yield from self.point(min(points) / 2)

    def _bisect(self, inside: float, outside: float, verdict: str) -> Generator[Probe, Replications, float]:
        """Yield the last value with ``verdict``, from ``inside``, which has it, towards ``outside``."""

        def is_inside(value: float) -> Generator[Probe, Replications, bool]:
            yield from self.point(value)
            return self.points[value].verdict == verdict

        span = self.settings.values[-1] - self.settings.values[0]
        halved = edge(inside, outside, bisection(self.number.unit, span, self.settings.close))
        inside, _ = yield from nested_search(halved, is_inside)
        return inside


def _sign_changes(points: PointsByValue) -> list[tuple[float, float]]:
    """Neighbouring values of which the first is found kept, and the other is not."""
    flags = [(value, points[value].verdict == "keeps") for value in sorted(points)]
    return [(a, b) if points[a].verdict == "keeps" else (b, a) for a, b in sign_changes(flags)]


def _missed_beyond(points: PointsByValue, kept: float, other: float) -> float | None:
    """Return the nearest value found missed, from ``kept`` on towards ``other`` and beyond."""
    missed = [v for v, p in points.items() if p.verdict == "misses" and (v > kept) == (other > kept)]
    return min(missed, key=lambda v: abs(v - kept), default=None)


def knees_of(points: PointsByValue) -> tuple[Knee, ...]:
    """Return the knees that the verdicts show, by ascending value.

    Where all values keep the target, the knee is beyond the last; where none does, before the first.
    """
    knees = tuple(Knee(kept=k, missed=_missed_beyond(points, k, other)) for k, other in _sign_changes(points))
    if knees or not points:
        return knees
    if all(p.verdict == "keeps" for p in points.values()):
        return (Knee(kept=max(points), missed=None),)
    missed = [v for v, p in points.items() if p.verdict == "misses"]
    return (Knee(kept=None, missed=min(missed, default=None)),)


TRAINED = frozenset({"aquatope"})  # trains on times, prices and SLOs alone: once for all loads
FEW = 2  # replications that show whether a run has a steady state, and give an interval
OnShare = Callable[[float], None]


class KneePoints:
    """The runs so far of every policy at every value. Results do not depend on ``pool``."""

    def __init__(
        self,
        scenario: Scenario,
        number: ScenarioNumber,
        settings: OverRequest,
        sources: Sources,
        pool: TaskPool,
    ) -> None:
        self._scenario, self._number, self._settings = scenario, number, settings
        self._sources, self._pool = sources, pool
        self._points = PointCache[tuple[str, float], RunMeasures](_is_overloaded)
        self._options: dict[str, Options] = {
            policy.name: options for policy, options in chosen_policies(scenario, settings.schedulers)
        }
        self._at: dict[float, tuple[Scenario, PlatformRunOptions]] = {}
        self._trained: dict[str, PreparedPolicy] = {}

    def run(self, searches: Sequence[Search], on_share: OnShare = do_nothing) -> None:
        """Drive all searches to their ends; ``on_share`` gets the share of a batch that is done."""
        wanted = [(search, look) for search in searches if (look := next(search, None)) is not None]
        while wanted:
            self._simulate([look for _, look in wanted], on_share)
            going = []
            for search, look in wanted:
                with suppress(StopIteration):
                    seen = self._points.runs((look.policy, look.value))
                    going.append((search, search.send(seen)))
            wanted = going

    def _simulate(self, looks: Sequence[Probe], on_share: OnShare) -> None:
        """Return the missing replications of tested values; the first few show which values need no more."""
        for most in (FEW, max(look.replications for look in looks)):
            wanted = {(look.policy, look.value): min(look.replications, most) for look in looks}
            self._points.extend(wanted, partial(self._runs, on_share))

    def _runs(
        self, on_share: OnShare, missing: Sequence[MissingRuns[tuple[str, float]]]
    ) -> list[Replications]:
        """Return a task a replication; where a policy is trained in every task, one for all of a point."""
        tasks, places = [], []
        for place, of in enumerate(missing):
            policy, value = of.point
            scenario, run = self._scenario_at(value)
            planner = self._planner(policy, scenario)
            each = of.count if policy in TRAINED and planner is None else 1
            for number in range(of.first, of.first + of.count, each):
                own = replace(run, replication=number)
                options = self._options[policy]
                tasks.append(PolicyTask(scenario, policy, options, own, each, self._sources, planner))
                places.append(place)
        seen: list[Replications] = [()] * len(missing)
        for place, done in zip(places, run_tasks(tasks, self._pool, on_share), strict=True):
            seen[place] += done.runs
        return seen

    def _planner(self, policy: str, scenario: Scenario) -> PreparedPolicy | None:
        """Return a planner for all loads, if the policy's training depends on none; it takes seconds."""
        if policy not in TRAINED or self._number.key != LOAD:
            return None
        if policy not in self._trained:
            system = prepare_serverless(scenario, self._sources)
            self._trained[policy] = get_policy(policy).prepare(system, self._options[policy])
        return self._trained[policy]

    def _scenario_at(self, value: float) -> tuple[Scenario, PlatformRunOptions]:
        """Return the scenario at a value, and how long its runs are."""
        if value not in self._at:
            scenario = self._number.with_value(self._scenario, value)
            system = prepare_serverless(scenario, self._sources)
            calls = self._settings.jobs
            run = PlatformRunOptions(
                calls=calls, warmup=warmup_calls(scenario, system, calls, [*self._options.items()])
            )
            self._at[value] = (scenario, run)
        return self._at[value]


VALUES = 0.6  # share of the work that the asked values are
FIRST_PART, STEP_PART = 0.5, 0.15  # a batch at the asked values, a step towards knees: parts of what is left
_NO_SOURCES = Sources()


def policies_over(
    scenario: Scenario,
    settings: OverRequest,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    pool: TaskPool | None = None,
    on_progress: OnSweepProgress[OverReport] = do_nothing,
) -> OverReport:
    """Simulate every policy at every value with the same random numbers, then look for the knees.

    ``workers``: processes; results do not depend on it. ``pool``: what runs them instead, e.g. processes that
    several calls share. ``on_progress``: what it raises (``Cancelled``) ends the work and comes out.

    Raises ``NonaError`` when the scenario is not serverless, or a value or policy is not possible.
    """
    if pool is None:
        with kept_pool(workers) as kept:
            return policies_over(scenario, settings, sources, pool=kept, on_progress=on_progress)
    if scenario.serverless is None:
        raise ScenarioError(
            ["serverless: is missing; add the key 'serverless: {}' (all its parts have defaults)."]
        )
    number = over_number(scenario, settings.number)
    _check(scenario, number, settings)
    begin = time.perf_counter()
    knee_points = KneePoints(scenario, number, settings, sources, pool)
    searches = [PolicySearch(settings, number, policy) for policy in settings.schedulers]

    def report() -> OverReport:
        return OverReport.from_fields(
            settings,
            key=number.key,
            label=number.label,
            unit=number.unit,
            now=number.value_in(scenario),
            policies={search.policy: search.curve() for search in searches},
            setting=OverSetting(
                name=scenario.name, seed=scenario.seed, calls=settings.jobs, replications=settings.most
            ),
            seconds=time.perf_counter() - begin,
        )

    def on_share(text: str, fraction: float) -> None:
        on_progress(fraction, text, report)

    asked, first, steps = settings.values, UnknownCountProgress(FIRST_PART), UnknownCountProgress(STEP_PART)
    knee_points.run(
        [search.point(value) for value in asked for search in searches],
        lambda share: on_share(
            f"{len(asked)} values of {number.label.lower()}", VALUES * first.share_of_whole(share)
        ),
    )
    if settings.edges:
        knee_points.run(
            [search.knees() for search in searches],
            lambda share: on_share(
                "looking for the knees", VALUES + (1 - VALUES) * steps.share_of_whole(share)
            ),
        )
    return report()


class UnknownCountProgress:
    """Progress of a search whose number of batches is unknown: each does ``part`` of what is left.

    >>> search = UnknownCountProgress(0.5)
    >>> [search.share_of_whole(share) for share in (0.0, 1.0, 0.0, 1.0)]
    [0.0, 0.5, 0.5, 0.75]
    """

    def __init__(self, part: float) -> None:
        self._left, self._batches, self._last = 1 - part, 0, 0.0

    def share_of_whole(self, share: float) -> float:
        """Return the share of the whole, where ``share`` of a batch is done.

        Less than before: of the next one.
        """
        self._batches += share < self._last
        self._last = share
        return 1 - float(self._left ** (self._batches + share))
