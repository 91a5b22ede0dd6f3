"""The shipped study: ESG and four others in the three settings of the slides.

Times are the clock's, so they differ from machine to machine and from run to run; what the simulation
charges is the number of paths looked at times a constant.

Every policy of a setting gets the same calls and noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidence.policy_results import (
    Cell,
    CutoffPoint,
    CutoffStudy,
    MeasuredSearches,
    ServerlessStudy,
    SharedOutcome,
    SharingStudy,
    StudySetting,
)
from evidence.provenance import OnProgress, check_least, origin, rounded_result
from nona.core.experiments import do_nothing, kept_pool
from nona.core.options import Options
from nona.queries.sweeps.numbers import LOAD, with_value
from nona.queries.workflows.shipped import choice
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.base import BatchPlan, Place, PreparedPolicy, WaitingQueue
from nona.serverless.policies.esg.explain import explain
from nona.serverless.policies.esg.policy import esg_planner
from nona.serverless.policies.registry import get_policy, policy_names
from nona.serverless.results import OverReport, OverRequest, Spread
from nona.serverless.system import ServerlessSystem
from nona.serverless.workflows.comparisons import ways_for
from nona.serverless.workflows.knees import policies_over
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import oracle_outcome, with_sharing
from nona.serverless.workflows.tasks import PolicyTask, TaskPool, TaskResult, run_tasks

EVERY_SEARCH: Options = {"slack_resolution": 0.0}  # nothing is looked up


class TimedPlanner:
    """A planner that records the time and the steps of each answer of another planner."""

    def __init__(self, planner: PreparedPolicy) -> None:
        self._planner, self.place = planner, None
        self.seconds: list[float] = []
        self.steps: list[int] = []

    place: Place | None

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Return the other's answer."""
        begin = time.perf_counter()
        plan = self._planner.plan(ask)
        self.seconds.append(time.perf_counter() - begin)
        self.steps.append(plan.steps)
        return plan


def measured_searches(scenario: Scenario, calls: int) -> MeasuredSearches:
    """Seconds and paths of ESG's searches over the requests of a run of ``calls``."""
    system = prepare_serverless(scenario)
    esg = get_policy("esg")
    timed = TimedPlanner(esg.prepare(system, EVERY_SEARCH))
    simulate_serverless(
        system, replace(esg, build=lambda *_: timed), EVERY_SEARCH, PlatformRunOptions(calls=calls, warmup=50)
    )
    kept = [s for s, steps in zip(timed.seconds[50:], timed.steps[50:], strict=True) if steps]
    steps = [s for s in timed.steps[50:] if s]
    return MeasuredSearches(
        searches=len(kept),
        measured_s=_quantiles(kept),
        steps=_quantiles(steps),
        full_paths=_full_paths(system),
    )


def _full_paths(system: ServerlessSystem) -> int:
    """All paths of the first group of the application with most stages."""
    longest = max(range(len(system.applications)), key=lambda a: system.applications[a].stages)
    ask = WaitingQueue(longest, 0, int(system.space.batch.max()), system.applications[longest].slo_s)
    return explain(esg_planner(system, {}), ask, 0).every


def _quantiles(values: Sequence[float]) -> Spread:
    """Mean, 5th to 99th percentile; ``None`` where there are no values.

    >>> _quantiles([1.0, 3.0]).mean, _quantiles([]).p50
    (2.0, None)
    """
    if not len(values):
        return Spread(mean=None, p5=None, p25=None, p50=None, p75=None, p95=None, p99=None)
    percentiles = np.percentile(np.asarray(values, dtype=float), [5.0, 25.0, 50.0, 75.0, 95.0, 99.0])
    p5, p25, p50, p75, p95, p99 = percentiles.tolist()
    return Spread(mean=float(np.mean(values)), p5=p5, p25=p25, p50=p50, p75=p75, p95=p95, p99=p99)


SETTINGS = ("strict_light", "moderate_normal", "relaxed_heavy")
POLICIES = tuple(name for name in policy_names() if name != "fixed")
CUTOFFS_S = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SHARED = "mig_or_mps"  # the scenario under all ways of sharing
DIGITS, SMALL_DIGITS = 5, 4
_SPANS = {
    "searches": 0.02,
    "settings": 0.06,
    "cutoff": 0.03,
    "sharing": 0.03,
    "load": 0.86,
}
# Factors on each setting's load: the same calls per second in all three, and more where knees are.
VALUES: Mapping[str, tuple[float, ...]] = {
    "strict_light": (1.0, 2.0, 3.0, 4.0, 4.5, 5.0),
    "moderate_normal": (0.5, 1.0, 1.5, 2.0, 2.25, 2.5),
    "relaxed_heavy": (0.25, 0.5, 0.75, 1.0, 1.125, 1.25),
}
USUAL_VALUES = (0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class StudySettings:
    """Size of the study.

    ``calls`` and ``replications`` of the three settings, the cut-off and the sharing; ``small`` calls of
    each run over load, whose replications are at least ``2 * few``. ``seed``: the scenarios' where it is
    ``None``. ``loads``: factors in place of the usual ones.
    """

    calls: int = choice(1500, "calls measured per run", least=1)
    replications: int = choice(4, "independent runs of each point", least=1)
    small: int = choice(400, "calls per run over load", least=1)
    few: int = choice(2, "independent runs over load", least=1)
    seed: int | None = choice(None, "overrides the scenarios' seeds")
    settings: tuple[str, ...] = SETTINGS
    cutoffs_s: tuple[float, ...] = CUTOFFS_S
    loads: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_least(self)


OnShare = Callable[[float], None]


def serverless_study(
    settings: StudySettings | None = None,
    *,
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> ServerlessStudy:
    """Run the study."""
    chosen = settings or StudySettings()
    with kept_pool(workers) as pool:
        data = rounded_result(_study(chosen, pool, on_progress), DIGITS)
    on_progress(1.0, "done")
    return data


def _study(chosen: StudySettings, pool: TaskPool, on_progress: OnProgress) -> ServerlessStudy:
    begin = time.perf_counter()

    def of(name: str) -> OnShare:
        """Return the callback that hears the progress of one part."""
        parts = list(_SPANS)
        start = sum(_SPANS[before] for before in parts[: parts.index(name)])
        return lambda share: on_progress(start + 0.999 * share * _SPANS[name], name)

    scenarios = {name: setting(name, chosen.seed) for name in chosen.settings}
    asked = OverRequest(
        number=LOAD,
        values=chosen.loads or (),
        schedulers=POLICIES,
        jobs=chosen.small,
        replications=2 * chosen.few,
        most=4 * chosen.few,
        close=0.08,
    )
    return ServerlessStudy(
        **origin("serverless", chosen),
        seed=setting(chosen.settings[0], chosen.seed).seed,
        calls=chosen.calls,
        replications=chosen.replications,
        searches=_searches(chosen, of("searches")),
        settings=_settings(chosen, pool, of("settings")),
        cutoff=_cutoff(chosen, pool, of("cutoff")),
        sharing=_sharing(chosen, pool, of("sharing")),
        curves=_curves(scenarios, asked, pool, of("load")),
        seconds=time.perf_counter() - begin,
    )


def setting(name: str, seed: int | None = None) -> Scenario:
    """Return the shipped scenario, with another seed if one is given."""
    scenario = load_scenario(scenario_path(name))
    return scenario if seed is None else with_value(scenario, "seed", seed)


def _searches(chosen: StudySettings, on_share: OnShare) -> dict[str, MeasuredSearches]:
    searches = {}
    for done, name in enumerate(chosen.settings, 1):
        searches[name] = measured_searches(setting(name, chosen.seed), chosen.small)
        on_share(done / len(chosen.settings))
    return searches


def _settings(chosen: StudySettings, pool: TaskPool, on_share: OnShare) -> dict[str, StudySetting]:
    scenarios = {name: setting(name, chosen.seed) for name in chosen.settings}
    tasks = [
        PolicyTask(scenario, policy, {}, PlatformRunOptions(calls=chosen.calls), chosen.replications)
        for scenario in scenarios.values()
        for policy in POLICIES
    ]
    done = iter(run_tasks(tasks, pool, on_share))
    return {name: _setting(chosen, s, {p: next(done) for p in POLICIES}) for name, s in scenarios.items()}


def _setting(chosen: StudySettings, scenario: Scenario, done: Mapping[str, TaskResult]) -> StudySetting:
    system = prepare_serverless(scenario)
    slo_s = [app.slo_s for app in system.applications]
    return StudySetting(
        scenario=scenario.name,
        policies={p: d.summary for p, d in done.items()},
        oracle=oracle_outcome(system, PlatformRunOptions(calls=chosen.calls), chosen.replications),
        cells={p: _cell(d, slo_s) for p, d in done.items()},
    )


def _cutoff(chosen: StudySettings, pool: TaskPool, on_share: OnShare) -> CutoffStudy:
    name = chosen.settings[0]
    scenario = setting(name, chosen.seed)
    tasks = [
        PolicyTask(
            scenario, "orion", {"cutoff_s": c}, PlatformRunOptions(calls=chosen.calls), chosen.replications
        )
        for c in chosen.cutoffs_s
    ]
    done = run_tasks(tasks, pool, on_share)
    points = tuple(
        CutoffPoint.from_fields(d.summary, cutoff_s=c) for c, d in zip(chosen.cutoffs_s, done, strict=True)
    )
    return CutoffStudy(setting=name, points=points)


def _sharing(chosen: StudySettings, pool: TaskPool, on_share: OnShare) -> SharingStudy:
    scenario = setting(SHARED, chosen.seed)
    policies = POLICIES[:3]
    tasks = [
        PolicyTask(
            with_sharing(scenario, mode), policy, {}, PlatformRunOptions(calls=chosen.calls), chosen.few
        )
        for mode in ways_for()
        for policy in policies
    ]
    done = iter(run_tasks(tasks, pool, on_share))
    modes = {
        mode: {p: SharedOutcome.from_fields(next(done).summary) for p in policies} for mode in ways_for()
    }
    return SharingStudy(scenario=scenario.name, modes=modes)


def _cell(done: TaskResult, slo_s: Sequence[float]) -> Cell:
    """Return the numbers of a task, with the SLOs of the applications."""
    summary = done.summary
    applications = list(zip(summary.applications.values(), slo_s, strict=True))
    means = [(_of_slo(a.latency_s.mean, s), a.calls) for a, s in applications]
    missed = summary.configuration_miss_rate
    return Cell(
        hits=tuple(r.all.hit_rate for r in done.runs),
        costs=tuple(r.all.cost_per_call for r in done.runs),
        miss=None if missed is None else missed.mean,
        search_s=summary.search_s.mean,
        fill=tuple(_of_slo(a.latency_s.p50, s) for a, s in applications),
        mean_fill=sum(m * n for m, n in means) / sum(n for _, n in means),
        state=summary.state,
    )


def _of_slo(latency_s: float | None, slo_s: float) -> float:
    return math.nan if latency_s is None else latency_s / slo_s


def _curves(
    scenarios: Mapping[str, Scenario], asked: OverRequest, pool: TaskPool, on_share: OnShare
) -> dict[str, OverReport]:
    """Every policy over load in every setting; over :data:`VALUES` and beyond, unless loads are asked for."""
    curves = {}
    for n, (name, scenario) in enumerate(scenarios.items()):

        def part(share: float, text: str, report: object, n: int = n) -> None:
            on_share((n + share) / len(scenarios))

        values = VALUES.get(name, USUAL_VALUES)
        own = asked if asked.values else asked.model_copy(update={"values": values, "extend": True})
        curves[name] = policies_over(scenario, own, pool=pool, on_progress=part)
    return curves
