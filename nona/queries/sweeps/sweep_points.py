"""The points of a sweep: its settings, runs at a value, and how many servers a load needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Self, TypedDict

import numpy as np

from nona.core.count_search import run_search, smallest_count
from nona.core.document import UNKNOWN, Estimate
from nona.core.errors import PlacementError, ScenarioError
from nona.core.experiments import ProcessPool, do_nothing
from nona.core.points import MissingRuns, PointCache
from nona.core.statistics import paired_ratio
from nona.queries.placement.result import Placement
from nona.queries.results import Resources, SchedulerResult
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.records import Records, State
from nona.queries.simulation.replications import ReplicationProgress, run_replications
from nona.queries.simulation.run import RunOptions
from nona.queries.simulation.summary import MeasuredJobs, summarize
from nona.queries.sweeps.numbers import LOAD, number_named
from nona.queries.sweeps.report import MOST_VALUES
from nona.queries.sweeps.results import (
    FormulaPoint,
    GridRequest,
    ServersNeeded,
    SweepReport,
    SweepRequest,
    SweptCurve,
    SweptEdge,
    SweptPoint,
)
from nona.queries.sweeps.values import sign_changes
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placements import place, predictions
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.simulation import beyond_capacity, chosen_schedulers, judged
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

REFERENCE = "nona"  # what the others are compared with, where it is there; else the first
DONE = "done"
MOST_CELLS = 900


def check_request(settings: SweepRequest) -> None:
    """Raise :class:`~nona.core.errors.ScenarioError` for what no sweep can be asked, of whatever family."""
    if not 1 <= len(settings.values) <= MOST_VALUES:
        raise ScenarioError([f"Sweep: {len(settings.values)} values; give 1 to {MOST_VALUES}."])
    if not 0 < settings.target < 1:
        raise ScenarioError([f"Sweep: target {settings.target:g} must lie between 0 and 1; give 99 %."])


def check_settings(scenario: Scenario, settings: SweepRequest) -> None:
    """Raise :class:`~nona.core.errors.ScenarioError` if a value is not allowed, or a scheduler not known."""
    check_request(settings)
    if not settings.schedulers:
        raise ScenarioError(["Sweep: no scheduler is chosen; choose at least one."])
    if len(set(settings.schedulers)) < len(settings.schedulers):
        raise ScenarioError(["Sweep: a scheduler is given twice; give each once."])
    for name in settings.schedulers:
        get_scheduler(name)
    for value in settings.values:
        swept_scenario(scenario, settings, value)


def check_grid(scenario: Scenario, settings: GridRequest) -> None:
    """Raise :class:`~nona.core.errors.ScenarioError` for two numbers that cannot be swept together."""
    if settings.second == settings.sweep.number:
        raise ScenarioError([f"Sweep: {settings.second} is given twice; choose two numbers."])
    cells = len(settings.values) * len(settings.sweep.values)
    if not 1 <= cells <= MOST_CELLS:
        raise ScenarioError([f"Sweep: {cells} pairs of values; give 1 to {MOST_CELLS}."])
    second = number_named(scenario, settings.second)
    for value in settings.values:
        check_settings(second.with_value(scenario, value), settings.sweep)


def swept_scenario(scenario: Scenario, settings: SweepRequest, value: float) -> Scenario:
    """Return the scenario at one value of the sweep, with the sweep's schedulers and sizes."""
    own = {s.name: s for s in scenario.schedulers}
    chosen = tuple(own.get(n, NamedSpec(name=n)) for n in settings.schedulers)
    simulation = scenario.simulation.model_copy(
        update={"jobs": settings.jobs, "replications": settings.replications, "precision": None}
    )
    there = number_named(scenario, settings.number).with_value(scenario, value)
    return there.model_copy(update={"schedulers": chosen, "simulation": simulation})


class SweepRunOptions(TypedDict, total=False):
    """How a sweep is run: the engine, processes (results do not depend on them), what was solved before.

    ``check`` is called now and then; what it raises (``Cancelled``) ends the work and comes out.
    """

    engine: str
    workers: int
    cache: PreparationCache | None
    check: Callable[[], None]


class SweepPoints:
    """One sweep's work in progress.

    ``points``: scheduler → value → point, without what compares it. ``formula``: scheduler → value →
    predicted mean JCT (s), ``None`` without a steady state. Records are kept only until a value is settled;
    placements are solved once per value.
    """

    def __init__(
        self,
        at: Callable[[float], Scenario],
        settings: SweepRequest,
        sources: Sources,
        *,
        engine: str = "auto",
        workers: int = 1,
        cache: PreparationCache | None = None,
        check: Callable[[], None] = do_nothing,
    ) -> None:
        self.points: dict[str, dict[float, SweptPoint]] = {n: {} for n in settings.schedulers}
        self.formula: dict[str, dict[float, float | None]] = {}
        self.needed: tuple[ServersNeeded, ...] = ()
        self.at, self.settings, self._sources, self._check = at, settings, sources, check
        first = at(settings.values[0])
        self.number = number_named(first, settings.number)
        self._cache = cache or PreparationCache()
        self._options = RunOptions(jobs=settings.jobs, warmup=_warmup(first), engine=engine)
        self._workers, self._exit = workers, ExitStack()
        self._pool: ProcessPool | None = None
        self._begin = time.perf_counter()
        self._placements: dict[float, Placement | str] = {}
        self._runs = PointCache[tuple[str, float], Records](lambda run: run.state == "overloaded")
        self._engines: set[str] = set()
        self._slo_s = _shared_slo(first)

    def __enter__(self) -> Self:
        if self._workers > 1:
            self._pool = self._exit.enter_context(ProcessPool(self._workers))
        return self

    def __exit__(self, *error: object) -> None:
        self._exit.close()

    def report(self, stage: str) -> SweepReport:
        """Return the present results."""
        names = list(self.points)
        reference = REFERENCE if REFERENCE in names else names[0]
        return SweepReport.from_fields(
            self.settings,
            key=self.number.key,
            label=self.number.label,
            unit=self.number.unit,
            slo_s=self._slo_s,
            reference=reference,
            engine=", ".join(sorted(self._engines)),
            stage=stage,
            complete=stage == DONE,
            seconds=time.perf_counter() - self._begin,
            schedulers={name: self._curve(name, self.points[reference]) for name in names},
            needed=self.needed,
        )

    def _curve(self, name: str, beside: Mapping[float, SweptPoint]) -> SweptCurve:
        points, predicted = self.points[name], self.formula.get(name, {})
        return SweptCurve(
            points=tuple(_compared(points[v], predicted, beside.get(v)) for v in sorted(points)),
            edges=_edges(self.steady(name)),
            formula=tuple(FormulaPoint(value=v, jct_s=predicted[v]) for v in sorted(predicted)) or None,
            formula_edges=_edges(self.predictable(name)),
        )

    def for_number(self, at: Callable[[float], Scenario], settings: SweepRequest) -> SweepPoints:
        """Return the points of a sweep of another number, in the same processes."""
        engine = self._options.engine
        other = SweepPoints(at, settings, self._sources, engine=engine, cache=self._cache, check=self._check)
        other._pool = self._pool
        return other

    def is_stable(self, name: str, value: float) -> bool:
        """Return whether ``name`` had a steady state at ``value`` in the runs so far."""
        return self.points[name][value].steady

    def steady(self, name: str) -> dict[float, bool]:
        """Value → whether ``name`` had a steady state there, ascending."""
        return {value: self.is_stable(name, value) for value in sorted(self.points[name])}

    def predictable(self, name: str) -> dict[float, bool]:
        """Value → whether the formula has a steady state there, ascending."""
        predicted = self.formula.get(name, {})
        return {value: predicted[value] is not None for value in sorted(predicted)}

    def stable_means(self, name: str) -> list[tuple[float, float]]:
        """Value and mean JCT (s) where there is a steady state, ascending."""
        points = self.points[name]
        return [(v, mean) for v in sorted(points) if (mean := points[v].jct_s.mean)]

    def simulate(self, value: float, names: Sequence[str], replications: int) -> None:
        """Have so many replications in all; the first look includes the formula's result."""
        self._check()
        prepared = self._prepared(value, names)
        placed = [n for n in names if get_scheduler(n).needs_placement]
        placement = self._placement(value, prepared) if placed else None
        if not all(self._runs.runs((n, value)) for n in names):
            self._predict(prepared, value, placement)
        if isinstance(placement, str):
            for name in placed:
                self.points[name][value] = _point(value, "overloaded", placement)
            prepared = self._prepared(value, [n for n in names if n not in placed])
            placement = None
        wanted = {(s.name, value): replications for s in prepared.schedulers}
        self._runs.extend(wanted, partial(self._simulated, prepared, placement))
        for name, _ in wanted:
            self._add_point(name, value, prepared)

    def measure(self, value: float, name: str) -> bool:
        """All replications of one scheduler at a value between; the first that is overloaded ends it."""
        self.simulate(value, [name], 1)
        self.replicate(value, [name])
        return self.is_stable(name, value)

    def replicate(self, value: float, names: Sequence[str]) -> None:
        """Run the replications after the first of those that are stable there."""
        stable = [n for n in names if self.is_stable(n, value)]
        if self.settings.replications > 1 and stable:
            self.simulate(value, stable, self.settings.replications)
        self.settle(value)

    def settle(self, value: float) -> None:
        """Release the records of ``value``, at which no more runs follow."""
        self._runs.forget((name, value) for name in self.points)

    def predict(self, value: float, name: str) -> bool:
        """Return whether the formula has a steady state for ``name`` at ``value``."""
        if value not in self.formula.get(name, {}):
            prepared = self._prepared(value, [name])
            placed = get_scheduler(name).needs_placement
            self._predict(prepared, value, self._placement(value, prepared) if placed else None)
        return self.formula[name][value] is not None

    def _predict(self, prepared: PreparedSystem, value: float, placement: Placement | str | None) -> None:
        solved = None if isinstance(placement, str) else placement
        for name, jct_s in predictions(prepared, solved).items():
            self.formula.setdefault(name, {})[value] = jct_s
        if isinstance(placement, str) and any(s.name == "nona" for s in prepared.schedulers):
            self.formula.setdefault("nona", {})[value] = None

    def _prepared(self, value: float, names: Sequence[str]) -> PreparedSystem:
        scenario = self.at(value)
        chosen = tuple(s for s in scenario.schedulers if s.name in names)
        prepared = prepare(scenario, self._sources, self._cache)
        return replace(prepared, scenario=scenario.model_copy(update={"schedulers": chosen}))

    def _placement(self, value: float, prepared: PreparedSystem) -> Placement | str:
        """Return the placement, or in words why there is none."""
        if value not in self._placements:
            try:
                self._placements[value] = place(prepared, cache=self._cache)
            except PlacementError as error:
                self._placements[value] = str(error)
        return self._placements[value]

    def _simulated(
        self,
        prepared: PreparedSystem,
        placement: Placement | None,
        missing: Sequence[MissingRuns[tuple[str, float]]],
    ) -> list[tuple[Records, ...]]:
        """Return the missing replications of schedulers at one value."""

        def on_progress(progress: ReplicationProgress) -> None:
            self._check()

        runs: dict[str, tuple[Records, ...]] = {}
        for first, count in dict.fromkeys((m.first, m.count) for m in missing):
            names = [m.point[0] for m in missing if m.first == first]
            chosen = chosen_schedulers(prepared, placement, names, self._cache)
            options = replace(self._options, replication=first)
            runs |= run_replications(prepared.system, chosen, options, count, 1, on_progress, self._pool)
        named = ((name, runs[name]) for name in (m.point[0] for m in missing))
        return [judged(of, beyond_capacity(prepared.system, name, placement)) for name, of in named]

    def _add_point(self, name: str, value: float, prepared: PreparedSystem) -> None:
        runs = self._runs.runs((name, value))
        slo_s = [q.slo_s for q in prepared.system.queries]
        summary = summarize(runs, slo_s, prepared.scenario.labels)
        self._engines.add(summary.engine)
        result, of = summary.result, MeasuredJobs(runs, slo_s)
        point = _point(value, result.state, result.state_reason, tuple(of.mean_jcts()), result)
        hits = tuple(of.hit_rates()) if any(s is not None for s in slo_s) else ()
        self.points[name][value] = point.model_copy(update={"hits": hits})


def _point(
    value: float,
    state: State,
    reason: str,
    means_s: tuple[float, ...] = (),
    result: SchedulerResult | None = None,
) -> SweptPoint:
    """Without a ``result`` the scheduler cannot run: it samples from a placement, and there is none."""
    jct_s = UNKNOWN if result is None or state == "overloaded" else Estimate.from_fields(result.jct_s)
    return SweptPoint(
        value=value,
        state=state,
        state_reason=reason,
        replications=len(means_s),
        jct_s=jct_s,
        means_s=means_s,
        slo_hit_rate=result.slo_hit_rate if result else UNKNOWN,
        utilization=result.utilization if result else Resources(compute=None, network=None),
        predicted_s=None,
        error=None,
        ratio=UNKNOWN,
        has_formula=False,
    )


def _compared(
    point: SweptPoint, formula: Mapping[float, float | None], beside: SweptPoint | None
) -> SweptPoint:
    predicted_s, mean_s = formula.get(point.value), point.jct_s.mean
    return SweptPoint.from_fields(
        point,
        predicted_s=predicted_s,
        error=predicted_s / mean_s - 1 if predicted_s is not None and mean_s else None,
        ratio=_ratio(point, beside),
        has_formula=point.value in formula,
    )


def _ratio(point: SweptPoint, beside: SweptPoint | None) -> Estimate:
    """Paired over the replications that both have; none if one of the two has no steady state."""
    if beside is None or not (point.steady and beside.steady):
        return UNKNOWN
    both = min(len(point.means_s), len(beside.means_s))
    a, b = (np.array(means_s[:both], dtype=float) for means_s in (point.means_s, beside.means_s))
    return paired_ratio(a, b).estimate


def _edges(steady: Mapping[float, bool]) -> tuple[SweptEdge, ...]:
    return tuple(
        SweptEdge(stable=a, overloaded=b) if steady[a] else SweptEdge(stable=b, overloaded=a)
        for a, b in sign_changes(list(steady.items()))
    )


def _warmup(scenario: Scenario) -> int | None:
    """Return the scenario's number of warm-up jobs; in place of a search, the automatic one."""
    return scenario.simulation.warmup if isinstance(scenario.simulation.warmup, int) else None


def _shared_slo(scenario: Scenario) -> float | None:
    limits = {row.slo for row in scenario.workload}
    return limits.pop() if len(limits) == 1 else None


SERVERS = "cluster.servers[0].count"
TIMES = 4  # counts up to that many times the present one are tried
MOST_SCHEDULERS = 2


def find_servers(sweep_points: SweepPoints, on_share: Callable[[float], None]) -> None:
    """Fill ``sweep_points.needed`` in a sweep of the load, count by count.

    Asked are the schedulers that keep the target up to the highest loads, each at the first swept load
    from 1 on where it misses.
    """
    settings = sweep_points.settings
    missed = _missed(sweep_points) if settings.edges and settings.number == LOAD else []
    for done, (name, load) in enumerate(missed):
        sweep_points.needed = (
            *sweep_points.needed,
            _needed(sweep_points, name, load, partial(on_share, done / len(missed))),
        )


def _needed(sweep_points: SweepPoints, name: str, load: float, on_share: Callable[[], None]) -> ServersNeeded:
    loaded = sweep_points.at(load)
    count = number_named(loaded, SERVERS)
    now = int(count.value_in(loaded))
    most = max(TIMES * now, now + TIMES)
    asked = {"number": count.key, "values": (float(now),), "schedulers": (name,)}
    tried = sweep_points.for_number(
        lambda servers: count.with_value(loaded, servers), sweep_points.settings.model_copy(update=asked)
    )

    def keeps(servers: int) -> bool:
        tried.simulate(servers, [name], tried.settings.replications)
        tried.settle(servers)
        on_share()
        return (tried.points[name][servers].kept or 0.0) >= tried.settings.target

    servers = run_search(smallest_count(most, now + 1, low=now), keeps)
    return ServersNeeded(scheduler=name, value=load, now=now, servers=servers, most=most)


def _missed(sweep_points: SweepPoints) -> list[tuple[str, float]]:
    """Scheduler and the load at which it is asked; those that hold longest first."""
    missed = []
    for name, points in sweep_points.points.items():
        values = [v for v in sweep_points.settings.values if v >= 1.0]
        first = next((v for v in values if (points[v].kept or 0.0) < sweep_points.settings.target), None)
        if first is not None and points[first].slo_hit_rate.mean is not None:
            missed.append((name, first))
    return sorted(missed, key=lambda pair: -pair[1])[:MOST_SCHEDULERS]
