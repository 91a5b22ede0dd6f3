"""How many servers a load needs: simulated counts, beyond the load up to which the target holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nona.planning.least import least
from nona.report.sweeps.report import CurvePoint
from nona.results.sweep import ServersNeeded
from nona.study.sweeps.bench import Bench
from nona.study.sweeps.numbers import LOAD, number_named
from nona.study.sweeps.settings import SweepSettings

SERVERS = "cluster.servers[0].count"
TIMES = 4  # counts up to that many times the present one are tried
MOST_SCHEDULERS = 2


def find_servers(bench: Bench, settings: SweepSettings) -> Iterator[float]:
    """Fill ``bench.needed`` in a sweep of the load, count by count; the share of the work that is done.

    Asked are the schedulers that keep the target up to the highest loads, each at the first swept load
    from 1 on where it misses.
    """
    missed = _missed(bench, settings) if settings.edges and settings.number.key == LOAD else []
    for done, (name, load) in enumerate(missed):
        loaded = bench.scenario_at(load)
        count = number_named(loaded, SERVERS)
        now = int(count.of(loaded))
        most = max(TIMES * now, now + TIMES)
        inner = replace(settings, number=count, values=(float(now),), schedulers=(name,))
        tried = bench.beside(lambda n, base=loaded, of=count: of.set(base, n), inner)  # type: ignore[misc]

        def keeps(servers: int, name: str = name, tried: Bench = tried) -> bool:
            tried.simulate(servers, [name], 0, settings.replications)
            tried.settle(servers)
            return _holds(tried.points[name][servers], settings.target)

        search, servers = least(most, now + 1, low=now), None
        try:
            wanted = next(search)
            while True:
                held = keeps(wanted)
                yield done / len(missed)
                wanted = search.send(held)
        except StopIteration as end:
            servers = end.value
        need = ServersNeeded(scheduler=name, value=load, now=now, servers=servers, most=most)
        bench.needed = (*bench.needed, need)


def _missed(bench: Bench, settings: SweepSettings) -> list[tuple[str, float]]:
    """Scheduler and the load at which it is asked; those that hold longest first."""
    found = []
    for name in settings.schedulers:
        values = [v for v in settings.values if v >= 1.0]
        misses = [v for v in values if not _holds(bench.points[name][v], settings.target)]
        point = bench.points[name][misses[0]] if misses else None
        if point is not None and _hits(point) is not None:
            found.append((name, misses[0]))
    return sorted(found, key=lambda pair: -pair[1])[:MOST_SCHEDULERS]


def _hits(point: CurvePoint) -> float | None:
    return None if point.summary is None or point.summary.hit_rate is None else point.summary.hit_rate.mean


def _holds(point: CurvePoint, target: float) -> bool:
    hits = _hits(point)
    return point.state != "overloaded" and hits is not None and hits >= target
