"""The curve of every scheduler over a swept number, refined step by step.

One replication of every scheduler at values far apart and then between them; the other replications;
bisection towards each scheduler's edges of stability; more values where a curve bends; in a sweep of the
load, the servers that it needs. Every
scheduler, at every value, sees the same random numbers: arrivals, services and background are drawn from
streams with names of their own, and only scaled by the swept number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nona.planning.least import driven
from nona.report.sweeps.report import Curves, formula_flags, stable_flags, turns
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.sweeps.bench import Bench
from nona.study.sweeps.needed import find_servers
from nona.study.sweeps.next_values import Edge, bends, edge, spread_order
from nona.study.sweeps.settings import SweepSettings, check_settings, swept_scenario

FIRST = 5  # values of the first wave
BENDS = 3  # values more per scheduler, at most
# How far the work is when each stage begins, measured on the shipped scenario of five models.
STAGES = ("coarse", "replications", "edges", "bends", "servers")
BEGIN = {"coarse": 0.0, "replications": 0.45, "edges": 0.8, "bends": 0.9, "servers": 0.95, "done": 1.0}


def curves(
    scenario: Scenario,
    settings: SweepSettings,
    sources: Sources | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Curves]:
    """Sweep, and report the results after every step; the last report has ``fraction`` 1.

    Parameters
    ----------
    workers
        Processes; results do not depend on it.
    check
        Called now and then; what it raises (``Cancelled``) ends the work and comes out.

    Raises
    ------
    NonaError
        For settings that cannot be swept, before any work is done, and for a scenario that cannot run.
    """
    check_settings(scenario, settings)

    def at(value: float) -> Scenario:
        return swept_scenario(scenario, settings, value)

    with Bench(at, settings, sources or Sources(), engine, workers, cache, check) as bench:
        for stage in STAGES:
            begin, end = BEGIN[stage], BEGIN[(*STAGES, "done")[STAGES.index(stage) + 1]]
            for share in _WORK[stage](bench, settings):
                yield bench.told(stage, begin + (end - begin) * min(share, 0.999))
        yield bench.told("done", 1.0)


def _coarse(bench: Bench, settings: SweepSettings) -> Iterator[float]:
    """A few values far apart at first, so that all curves are there early; then those between.

    Within each wave schedulers that need no placement go before those that wait for it to be solved.
    """
    placed = [n for n in settings.schedulers if get_scheduler(n).needs_placement]
    groups = [g for g in ([n for n in settings.schedulers if n not in placed], placed) if g]
    order = spread_order(len(settings.values))
    waves = [order[:FIRST], order[FIRST:]]
    steps = [(group, i) for wave in waves for group in groups for i in wave]
    for done, (group, i) in enumerate(steps, 1):
        bench.simulate(settings.values[i], group, first=0, count=1)
        yield done / len(steps)


def _replications(bench: Bench, settings: SweepSettings) -> Iterator[float]:
    for done, i in enumerate(spread_order(len(settings.values)), 1):
        value = settings.values[i]
        stable = [n for n in settings.schedulers if bench.is_stable(n, value)]
        if settings.replications > 1 and stable:
            bench.simulate(value, stable, first=1, count=settings.replications - 1)
        bench.settle(value)
        yield done / len(settings.values)


def _edges(bench: Bench, settings: SweepSettings) -> Iterator[float]:
    names = settings.schedulers if settings.edges else ()
    for done, name in enumerate(names):
        yield from (done / len(names) for _ in _edges_of(bench, settings, name))
        _formula_edges(bench, settings, name)
        yield (done + 1) / len(names)


def _edges_of(bench: Bench, settings: SweepSettings, name: str) -> Iterator[None]:
    for low, high in turns(stable_flags(bench.points[name])):
        below = bench.is_stable(name, low)
        search = edge(low, high, settings.number.unit, _span(settings))
        new = next(search, None)
        while new is not None:
            like = bench.measure(new, name) == below
            yield
            new = _next(search, like)


def _next(search: Edge, like: bool) -> float | None:
    """What a search asks for next; ``None`` at its end."""
    try:
        return search.send(like)
    except StopIteration:
        return None


def _formula_edges(bench: Bench, settings: SweepSettings, name: str) -> None:
    for low, high in turns(formula_flags(bench.formula.get(name, {}))):
        below = bench.formula[name][low] is not None

        def like(value: float, below: bool = below) -> bool:
            return (bench.predict(value, name) is not None) == below

        driven(edge(low, high, settings.number.unit, _span(settings)), like)


def _bends(bench: Bench, settings: SweepSettings) -> Iterator[float]:
    names = settings.schedulers if settings.edges else ()
    for done, name in enumerate(names):
        left = BENDS
        while left > 0 and (new := _next_bend(bench, settings, name)) is not None:
            bench.measure(new, name)
            left -= 1
            yield done / len(names)


def _next_bend(bench: Bench, settings: SweepSettings, name: str) -> float | None:
    means = bench.stable_means(name)
    found = bends(means, settings.number.unit, _span(settings), 1)
    return next((v for v in found if v not in bench.points[name]), None)


def _span(settings: SweepSettings) -> float:
    return settings.values[-1] - settings.values[0]


_WORK: dict[str, Callable[[Bench, SweepSettings], Iterator[float]]] = {
    "coarse": _coarse,
    "replications": _replications,
    "edges": _edges,
    "bends": _bends,
    "servers": find_servers,
}
