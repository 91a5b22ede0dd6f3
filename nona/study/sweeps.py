"""Sweeps of one number or two: which values come next, and curves that refine.

Pure functions; values are ascending.

One replication of every scheduler at values far apart and then between them; the other replications;
bisection towards each scheduler's edges of stability; more values where a curve bends; in a sweep of the
load, the servers that it needs. Every
scheduler, at every value, sees the same random numbers: arrivals, services and background are drawn from
streams with names of their own, and only scaled by the swept number.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace

from nona.planning.least import driven
from nona.report.sweep_grids import GridCurves
from nona.report.sweeps import Curves, by_ratio, formula_flags, stable_flags, turns
from nona.results.sweeps import GridRequest, SweepRequest
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler
from nona.sources.lookup import Sources
from nona.study import sweep_bench
from nona.study.cache import StudyCache
from nona.study.sweep_numbers import number_named

NEAR = 0.01  # of the larger of two values
NEAR_SPAN = 0.002  # of all values' span: a bracket that starts at 0 ends too
Edge = Generator[float, bool, tuple[float, float]]
BEND = 0.1  # of the natural logarithm: 10 % off the straight line between the neighbours


def spread_order(count: int) -> list[int]:
    """The indices 0 … count − 1, each far from those before: the ends, the middle, the quarters, …

    >>> spread_order(5), spread_order(1)
    ([0, 4, 2, 1, 3], [0])
    """
    order = [0, count - 1] if count > 1 else [0] * count
    gaps = [(0, count - 1)]
    while gaps:
        halves = []
        for low, high in gaps:
            middle = (low + high) // 2
            if low < middle:
                order.append(middle)
                halves += [(low, middle), (middle, high)]
            elif high - low > 1:
                halves.append((middle, high))
        gaps = halves
    return order


def middle(low: float, high: float, unit: str) -> float:
    """A value between two: the mean, the geometric one where ratios count; whole for counts.

    >>> middle(3, 8, "count"), middle(1.0, 4.0, "bandwidth"), middle(0.5, 0.6, "fraction")
    (5.0, 2.0, 0.55)
    """
    if unit == "count":
        return float((int(low) + int(high)) // 2)
    value = math.sqrt(low * high) if by_ratio(unit) and low > 0 else (low + high) / 2
    return float(f"{value:.6g}")


def near_enough(low: float, high: float, unit: str, span: float, near: float = NEAR) -> bool:
    """Return whether two values locate an edge to the share ``near`` (1 %), so that none between is needed.

    ``span`` is the distance from the sweep's first value to its last.

    >>> near_enough(0.5, 0.504, "fraction", 0.9), near_enough(4, 6, "count", 79)
    (True, False)
    """
    if unit == "count" and high - low <= 1:
        return True
    if not low < middle(low, high, unit) < high:
        return True
    return high - low <= max(near * max(abs(low), abs(high)), NEAR_SPAN * span)


def edge(low: float, high: float, unit: str, span: float, near: float = NEAR) -> Edge:
    """Bisect towards the edge between two values that differ: the one search behind edges and knees.

    Yields the value that it wants judged next, is sent whether that is like ``low``, and returns the two
    ends of what is left (:func:`near_enough`).

    >>> from nona.planning.least import driven
    >>> driven(edge(1.0, 2.0, "factor", 1.0, 0.05), lambda v: v <= 1.4)
    (1.375, 1.4375)
    """
    while not near_enough(low, high, unit, span, near):
        new = middle(low, high, unit)
        if (yield new):
            low = new
        else:
            high = new
    return low, high


def bends(points: Sequence[tuple[float, float]], unit: str, span: float, most: int) -> list[float]:
    """Up to ``most`` values in the intervals next to the points where the logarithm bends most.

    ``points`` are (value, positive mean). A point bends by its distance from the straight line between
    its neighbours; below :data:`BEND` it needs no company.

    >>> bends([(0.0, 1.0), (0.4, 1.0), (0.8, 8.0)], "fraction", 0.8, 2)
    [0.6, 0.2]
    >>> bends([(0.0, 1.0), (0.4, 2.0), (0.8, 4.0)], "fraction", 0.8, 2)
    []
    """
    bent = []
    for (a, x), (b, y), (c, z) in zip(points, points[1:], points[2:], strict=False):
        line = math.log(x) + (math.log(z) - math.log(x)) * (b - a) / (c - a)
        size = abs(math.log(y) - line)
        if size > BEND:  # the longer or steeper side first
            sides = sorted([(a, b, abs(math.log(y / x))), (b, c, abs(math.log(z / y)))], key=lambda s: -s[2])
            bent.append((size, sides))
    values: list[float] = []
    for _, sides in sorted(bent, key=lambda entry: -entry[0]):
        for low, high, _ in sides:
            new = middle(low, high, unit)
            if not near_enough(low, high, unit, span) and new not in values:
                values.append(new)
    return values[:most]


FIRST = 5  # values of the first wave
BENDS = 3  # values more per scheduler, at most
# How far the work is when each stage begins, measured on the shipped scenario of five models.
STAGES = ("coarse", "replications", "edges", "bends", "servers")
BEGIN = {"coarse": 0.0, "replications": 0.45, "edges": 0.8, "bends": 0.9, "servers": 0.95, "done": 1.0}


def curves(
    scenario: Scenario,
    settings: SweepRequest,
    sources: Sources | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Curves]:
    """Sweep, and report the results after every step; the last report has ``fraction`` 1.

    ``workers``: processes; results do not depend on it. ``check``: called now and then; what it raises
    (``Cancelled``) ends the work and comes out.

    Raises ``NonaError`` for settings that cannot be swept, before any work is done, and for a scenario that
    cannot run.
    """
    sweep_bench.check_settings(scenario, settings)

    def at(value: float) -> Scenario:
        return sweep_bench.swept_scenario(scenario, settings, value)

    with sweep_bench.Bench(at, settings, sources or Sources(), engine, workers, cache, check) as bench:
        for stage in STAGES:
            begin, end = BEGIN[stage], BEGIN[(*STAGES, "done")[STAGES.index(stage) + 1]]
            for share in _WORK[stage](bench, settings):
                yield bench.told(stage, begin + (end - begin) * min(share, 0.999))
        yield bench.told("done", 1.0)


def _coarse(bench: sweep_bench.Bench, settings: SweepRequest) -> Iterator[float]:
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


def _replications(bench: sweep_bench.Bench, settings: SweepRequest) -> Iterator[float]:
    for done, i in enumerate(spread_order(len(settings.values)), 1):
        value = settings.values[i]
        stable = [n for n in settings.schedulers if bench.is_stable(n, value)]
        if settings.replications > 1 and stable:
            bench.simulate(value, stable, first=1, count=settings.replications - 1)
        bench.settle(value)
        yield done / len(settings.values)


def _edges(bench: sweep_bench.Bench, settings: SweepRequest) -> Iterator[float]:
    names = settings.schedulers if settings.edges else ()
    for done, name in enumerate(names):
        yield from (done / len(names) for _ in _edges_of(bench, settings, name))
        _formula_edges(bench, settings, name)
        yield (done + 1) / len(names)


def _edges_of(bench: sweep_bench.Bench, settings: SweepRequest, name: str) -> Iterator[None]:
    for low, high in turns(stable_flags(bench.points[name])):
        below = bench.is_stable(name, low)
        search = edge(low, high, bench.number.unit, _span(settings))
        new = next(search, None)
        while new is not None:
            like = bench.measure(new, name) == below
            yield
            new = _next(search, like)


def _next(search: Edge, like: bool) -> float | None:
    try:
        return search.send(like)
    except StopIteration:
        return None


def _formula_edges(bench: sweep_bench.Bench, settings: SweepRequest, name: str) -> None:
    for low, high in turns(formula_flags(bench.formula.get(name, {}))):
        below = bench.formula[name][low] is not None

        def like(value: float, below: bool = below) -> bool:
            return (bench.predict(value, name) is not None) == below

        driven(edge(low, high, bench.number.unit, _span(settings)), like)


def _bends(bench: sweep_bench.Bench, settings: SweepRequest) -> Iterator[float]:
    names = settings.schedulers if settings.edges else ()
    for done, name in enumerate(names):
        left = BENDS
        while left > 0 and (new := _next_bend(bench, settings, name)) is not None:
            bench.measure(new, name)
            left -= 1
            yield done / len(names)


def _next_bend(bench: sweep_bench.Bench, settings: SweepRequest, name: str) -> float | None:
    means = bench.stable_means(name)
    values = bends(means, bench.number.unit, _span(settings), 1)
    return next((v for v in values if v not in bench.points[name]), None)


def _span(settings: SweepRequest) -> float:
    return settings.values[-1] - settings.values[0]


_WORK: dict[str, Callable[[sweep_bench.Bench, SweepRequest], Iterator[float]]] = {
    "coarse": _coarse,
    "replications": _replications,
    "edges": _edges,
    "bends": _bends,
    "servers": sweep_bench.find_servers,
}


def grid(
    scenario: Scenario,
    settings: GridRequest,
    sources: Sources | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[GridCurves]:
    """Sweep two numbers, and report after every step; the last report has ``fraction`` 1.

    Rows far apart come first. Each is a sweep of the first number as :func:`nona.study.sweeps.curves`
    makes it, at its values alone, with the same random numbers; parameters and errors are the same.
    """
    sweep_bench.check_grid(scenario, settings)
    begin, shared = time.perf_counter(), cache or StudyCache()
    row_settings = settings.sweep.model_copy(update={"edges": False})
    second = number_named(scenario, settings.second)
    grid_curves = GridCurves(second.key, second.label, second.unit, settings.values, {}, "", 0.0, 0.0)
    order = spread_order(len(settings.values))
    for done, i in enumerate(order):
        value = settings.values[i]
        row = second.set(scenario, value)
        for row_curves in curves(
            row, row_settings, sources, engine=engine, workers=workers, cache=shared, check=check
        ):
            grid_curves = replace(
                grid_curves,
                rows={**grid_curves.rows, value: row_curves},
                stage=f"{done + 1} of {len(order)} rows",
                fraction=min((done + row_curves.fraction) / len(order), 1.0),
                seconds=time.perf_counter() - begin,
            )
            yield grid_curves
