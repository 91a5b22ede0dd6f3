"""The bench of a sweep: its settings, runs at a value, and how many servers a load needs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from nona.errors import PlacementError, ScenarioError
from nona.experiments import ProcessPool
from nona.placement.result import Placement
from nona.planning.least import least
from nona.report.sweeps import MOST_VALUES, CurvePoint, Curves
from nona.results.sweeps import GridRequest, ServersNeeded, SweepRequest
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.records import Records
from nona.simulation.replications import ReplicationProgress, run_replications
from nona.simulation.run import RunOptions
from nona.simulation.summary import Measured, summarize
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.preparation import Study, prepare
from nona.study.simulation import beyond_capacity, chosen_schedulers, judged, place, predictions
from nona.study.sweep_numbers import LOAD, number_named

MOST_CELLS = 900


def check_settings(scenario: Scenario, settings: SweepRequest) -> None:
    """Raise :class:`~nona.errors.ScenarioError` if a value is not allowed, or a scheduler not known."""
    if not 1 <= len(settings.values) <= MOST_VALUES:
        raise ScenarioError([f"Sweep: {len(settings.values)} values; give 1 to {MOST_VALUES}."])
    if not 0 < settings.target < 1:
        raise ScenarioError([f"Sweep: target {settings.target:g} must lie between 0 and 1; give 99 %."])
    if not settings.schedulers:
        raise ScenarioError(["Sweep: no scheduler is chosen; choose at least one."])
    if len(set(settings.schedulers)) < len(settings.schedulers):
        raise ScenarioError(["Sweep: a scheduler is given twice; give each once."])
    for name in settings.schedulers:
        get_scheduler(name)
    for value in settings.values:
        swept_scenario(scenario, settings, value)


def check_grid(scenario: Scenario, settings: GridRequest) -> None:
    """Raise :class:`~nona.errors.ScenarioError` for two numbers that cannot be swept together."""
    if settings.second == settings.sweep.number:
        raise ScenarioError([f"Sweep: {settings.second} is given twice; choose two numbers."])
    cells = len(settings.values) * len(settings.sweep.values)
    if not 1 <= cells <= MOST_CELLS:
        raise ScenarioError([f"Sweep: {cells} pairs of values; give 1 to {MOST_CELLS}."])
    second = number_named(scenario, settings.second)
    for value in settings.values:
        check_settings(second.set(scenario, value), settings.sweep)


def swept_scenario(scenario: Scenario, settings: SweepRequest, value: float) -> Scenario:
    """The scenario at one value of the sweep, with the sweep's schedulers and sizes."""
    own = {s.name: s for s in scenario.schedulers}
    chosen = tuple(own.get(n, NamedSpec(name=n)) for n in settings.schedulers)
    simulation = scenario.simulation.model_copy(
        update={"jobs": settings.jobs, "replications": settings.replications, "precision": None}
    )
    there = number_named(scenario, settings.number).set(scenario, value)
    return there.model_copy(update={"schedulers": chosen, "simulation": simulation})


Chosen = tuple[Scheduler, Prepared]


class Bench:
    """One sweep's work in progress.

    ``points``, ``formula`` and ``needed`` are those of :class:`~nona.report.sweeps.Curves`. Records
    are kept only until a value is settled; placements are solved once per value.
    """

    def __init__(
        self,
        at: Callable[[float], Scenario],
        settings: SweepRequest,
        sources: Sources,
        engine: str,
        workers: int,
        cache: StudyCache | None,
        check: Callable[[], None],
    ) -> None:
        self.points: dict[str, dict[float, CurvePoint]] = {n: {} for n in settings.schedulers}
        self.formula: dict[str, dict[float, float | None]] = {}
        self.needed: tuple[ServersNeeded, ...] = ()
        self._at, self._settings, self._sources, self._check = at, settings, sources, check
        self.number = number_named(at(settings.values[0]), settings.number)
        self._cache = cache or StudyCache()
        self._options = RunOptions(jobs=settings.jobs, warmup=_warmup(at(settings.values[0])), engine=engine)
        self._workers, self._exit = workers, ExitStack()
        self._pool: ProcessPool | None = None
        self._begin = time.perf_counter()
        self._placements: dict[float, Placement | str] = {}
        self._records: dict[tuple[str, float], tuple[Records, ...]] = {}
        self._slo_s: float | None = _shared_slo(at(settings.values[0]))

    def __enter__(self) -> Self:
        if self._workers > 1:
            self._pool = self._exit.enter_context(ProcessPool(self._workers))
        return self

    def __exit__(self, *error: object) -> None:
        self._exit.close()

    def told(self, stage: str, fraction: float) -> Curves:
        """The present results."""
        s = self._settings
        return Curves(
            key=self.number.key,
            label=self.number.label,
            unit=self.number.unit,
            values=s.values,
            points={name: dict(by_value) for name, by_value in self.points.items()},
            formula={name: dict(by_value) for name, by_value in self.formula.items()},
            jobs=s.jobs,
            replications=s.replications,
            slo_s=self._slo_s,
            stage=stage,
            fraction=fraction,
            seconds=time.perf_counter() - self._begin,
            target=s.target,
            needed=self.needed,
        )

    def scenario_at(self, value: float) -> Scenario:
        return self._at(value)

    def beside(self, at: Callable[[float], Scenario], settings: SweepRequest) -> Bench:
        """A bench for another number, in the same processes."""
        engine = self._options.engine
        other = Bench(at, settings, self._sources, engine, 1, self._cache, self._check)
        other._pool = self._pool
        return other

    def is_stable(self, name: str, value: float) -> bool:
        """Return whether ``name`` had a steady state at ``value`` in the runs so far."""
        return self.points[name][value].state != "overloaded"

    def stable_means(self, name: str) -> list[tuple[float, float]]:
        """Value and mean JCT (s) where there is a steady state, ascending."""
        points = self.points[name]
        pairs = [(v, _mean(points[v])) for v in sorted(points) if self.is_stable(name, v)]
        return [(v, mean) for v, mean in pairs if mean > 0]

    def simulate(self, value: float, names: Sequence[str], first: int, count: int) -> None:
        """``count`` replications from ``first`` on; the first includes the formula's result."""
        self._check()
        study = self._study(value, names)
        placed = [n for n in names if get_scheduler(n).needs_placement]
        placement = self._placement(value, study) if placed else None
        if first == 0:
            self._predict(study, value, placement)
        if isinstance(placement, str):
            for name in placed:
                self.points[name][value] = CurvePoint("overloaded", placement, (), None)
            study = self._study(value, [n for n in names if n not in placed])
            placement = None
        if study.scenario.schedulers:
            runs = self._run(chosen_schedulers(study, placement, cache=self._cache), study, first, count)
            for name, records in runs.items():
                self._take(name, value, study, records)

    def measure(self, value: float, name: str) -> bool:
        """All replications of one scheduler at a value between; the first that is overloaded ends it."""
        self.simulate(value, [name], 0, 1)
        if self._settings.replications > 1 and self.is_stable(name, value):
            self.simulate(value, [name], 1, self._settings.replications - 1)
        self.settle(value)
        return self.is_stable(name, value)

    def settle(self, value: float) -> None:
        """Release the records of ``value``, at which no more runs follow."""
        self._records = {key: kept for key, kept in self._records.items() if key[1] != value}

    def predict(self, value: float, name: str) -> float | None:
        """The formula's result for ``name`` at ``value``; without a placement nona has no steady state."""
        if value not in self.formula.get(name, {}):
            study = self._study(value, [name])
            placed = get_scheduler(name).needs_placement
            self._predict(study, value, self._placement(value, study) if placed else None)
        return self.formula[name][value]

    def _predict(self, study: Study, value: float, placement: Placement | str | None) -> None:
        solved = None if isinstance(placement, str) else placement
        for name, jct_s in predictions(study, solved).items():
            self.formula.setdefault(name, {})[value] = jct_s
        if isinstance(placement, str) and any(s.name == "nona" for s in study.scenario.schedulers):
            self.formula.setdefault("nona", {})[value] = None

    def _study(self, value: float, names: Sequence[str]) -> Study:
        scenario = self._at(value)
        chosen = tuple(s for s in scenario.schedulers if s.name in names)
        study = prepare(scenario, self._sources, self._cache)
        return replace(study, scenario=scenario.model_copy(update={"schedulers": chosen}))

    def _placement(self, value: float, study: Study) -> Placement | str:
        """The placement, or in words why there is none."""
        if value not in self._placements:
            try:
                self._placements[value] = place(study, cache=self._cache)
            except PlacementError as error:
                self._placements[value] = str(error)
        return self._placements[value]

    def _run(
        self, chosen: Sequence[Chosen], study: Study, first: int, count: int
    ) -> dict[str, tuple[Records, ...]]:
        def on_progress(progress: ReplicationProgress) -> None:
            self._check()

        options = replace(self._options, replication=first)
        return run_replications(study.system, chosen, options, count, 1, on_progress, self._pool)

    def _take(self, name: str, value: float, study: Study, records: tuple[Records, ...]) -> None:
        placement = self._placements.get(value)
        solved = None if isinstance(placement, str) else placement
        beyond = beyond_capacity(study.system, name, solved)
        runs = self._records.get((name, value), ()) + judged(records, beyond)
        self._records[name, value] = runs
        slo_s = [q.slo_s for q in study.system.queries]
        summary = summarize(runs, slo_s, study.scenario.labels)
        means = tuple(Measured(runs, slo_s).mean_jcts())
        result = summary.result
        self.points[name][value] = CurvePoint(
            result.state, result.state_reason, means, result, summary.engine
        )


def _mean(point: CurvePoint) -> float:
    mean = point.result.jct_s.mean if point.result else 0.0
    return math.nan if mean is None else mean


def _warmup(scenario: Scenario) -> int | None:
    """The scenario's own number of jobs; a warm-up that would be looked for is the automatic one here."""
    return scenario.simulation.warmup if isinstance(scenario.simulation.warmup, int) else None


def _shared_slo(scenario: Scenario) -> float | None:
    limits = {row.slo for row in scenario.workload}
    return limits.pop() if len(limits) == 1 else None


SERVERS = "cluster.servers[0].count"
TIMES = 4  # counts up to that many times the present one are tried
MOST_SCHEDULERS = 2


def find_servers(bench: Bench, settings: SweepRequest) -> Iterator[float]:
    """Fill ``bench.needed`` in a sweep of the load, count by count; the share of the work that is done.

    Asked are the schedulers that keep the target up to the highest loads, each at the first swept load
    from 1 on where it misses.
    """
    missed = _missed(bench, settings) if settings.edges and settings.number == LOAD else []
    for done, (name, load) in enumerate(missed):
        loaded = bench.scenario_at(load)
        count = number_named(loaded, SERVERS)
        now = int(count.of(loaded))
        most = max(TIMES * now, now + TIMES)
        inner = settings.model_copy(
            update={"number": count.key, "values": (float(now),), "schedulers": (name,)}
        )
        tried = bench.beside(lambda n, base=loaded, of=count: of.set(base, n), inner)  # type: ignore[misc]

        def keeps(servers: int, name: str = name, tried: Bench = tried) -> bool:
            tried.simulate(servers, [name], 0, settings.replications)
            tried.settle(servers)
            return _holds(tried.points[name][servers], settings.target)

        search, servers = least(most, now + 1, low=now), None
        try:
            wanted = next(search)
            while True:
                enough = keeps(wanted)
                yield done / len(missed)
                wanted = search.send(enough)
        except StopIteration as end:
            servers = end.value
        need = ServersNeeded(scheduler=name, value=load, now=now, servers=servers, most=most)
        bench.needed = (*bench.needed, need)


def _missed(bench: Bench, settings: SweepRequest) -> list[tuple[str, float]]:
    """Scheduler and the load at which it is asked; those that hold longest first."""
    missed = []
    for name in settings.schedulers:
        values = [v for v in settings.values if v >= 1.0]
        misses = [v for v in values if not _holds(bench.points[name][v], settings.target)]
        point = bench.points[name][misses[0]] if misses else None
        if point is not None and _hits(point) is not None:
            missed.append((name, misses[0]))
    return sorted(missed, key=lambda pair: -pair[1])[:MOST_SCHEDULERS]


def _hits(point: CurvePoint) -> float | None:
    return None if point.result is None else point.result.slo_hit_rate.mean


def _holds(point: CurvePoint, target: float) -> bool:
    hits = _hits(point)
    return point.state != "overloaded" and hits is not None and hits >= target
