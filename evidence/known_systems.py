"""Systems whose mean times are known: stations, links, networks, classes; all by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from evidence.agreement import (
    Comparison,
    Effort,
    Expected,
    KnownSystem,
    RunLength,
    compare,
    exactly,
    run_length,
)
from evidence.bulk_queue import bulk_queue, memoryless_batches, unlimited_bound_s
from evidence.by_hand import batched_query, bind_to, chain, one_task_query, query_of, system_of
from evidence.theory import (
    choices_jct_s,
    fork_join_bounds_s,
    fork_join_two_jct_s,
    jackson_jct_s,
    link_wait_s,
    md1_jct_s,
    mg1_jct_s,
    mm1_jct_s,
    mmc_jct_s,
    priority_jct_s,
    sharing_jct_s,
    tandem_jct_s,
    traffic_rates,
)
from nona.cluster.topology import make_topology
from nona.core.arrays import Floats
from nona.core.queueing import fifo_wait_s
from nona.models.contraction.task_graph import TaskGraph
from nona.queries.placement.fixed import place_fixed
from nona.queries.placement.queueing import second_moment
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.system import BackgroundStream, QueryClass, System

MEAN_S = 0.01


def single_queue(scv: float) -> Callable[[float], KnownSystem]:
    """One executor; services with the given squared coefficient of variation."""
    name = {0.0: "M/D/1", 1.0: "M/M/1"}.get(scv, f"M/G/1, scv {scv:g}")

    def build(load: float) -> KnownSystem:
        rate = load / MEAN_S
        m_d_1, m_m_1 = md1_jct_s(rate, MEAN_S), mm1_jct_s(rate, MEAN_S)
        others = {k: v for k, v in (("M/D/1", m_d_1), ("M/M/1", m_m_1)) if k != name}
        jct_s = {0.0: m_d_1, 1.0: m_m_1}.get(scv, mg1_jct_s(rate, MEAN_S, scv))
        return KnownSystem(
            name=name,
            theory="Pollaczek–Khinchine",
            load=load,
            system=system_of([one_task_query("q", rate, MEAN_S, scv)], seed=1),
            scheduler=bind_to([0]),
            expected=(exactly(jct_s, others),),
            compute=load,
            network=0.0,
            length=run_length(load),
        )

    return build


FIXED_S, EACH_S = 1.8874e-3, 0.1438e-3  # of a step: ResNet-50 on a V100 in fp16, as Inoue (2021) fits it
_STEP_S = tuple(FIXED_S + EACH_S * b for b in range(1, 129))


def _memoryless_steps(load: float) -> KnownSystem:
    """Steps of up to four take exponential times, whatever their members."""
    most = 4
    rate, step_s = most * load / MEAN_S, (MEAN_S,) * most
    jct_s, idle = memoryless_batches(rate, most, MEAN_S)
    rivals = {"constant steps": bulk_queue(rate, step_s).time_s}
    query = batched_query("q", rate, step_s, 1.0)
    return _steps(f"M/M[1,{most}]/1", "bulk service", load, query, exactly(jct_s, rivals), 1 - idle)


def _steps_by_size(load: float) -> KnownSystem:
    """Steps of up to four take the constant times of their sizes."""
    step_s = _STEP_S[:4]
    rate = len(step_s) * load / step_s[-1]
    queue = bulk_queue(rate, step_s)
    rivals = {"exponential, as long as the largest": memoryless_batches(rate, len(step_s), step_s[-1])[0]}
    expected = exactly(queue.time_s, rivals)
    query = batched_query("q", rate, step_s)
    return _steps("M/D[1,4]/1, τ + α·b", "Bailey", load, query, expected, queue.busy)


def _large_steps(load: float) -> KnownSystem:
    """Steps may be so large that their limit is not felt; the bound has none."""
    rate = len(_STEP_S) * load / _STEP_S[-1]
    rivals = {"no fixed time": md1_jct_s(rate, EACH_S)}
    expected = Expected(_STEP_S[0], unlimited_bound_s(rate, FIXED_S, EACH_S), rivals=rivals)
    busy = bulk_queue(rate, _STEP_S).busy
    query = batched_query("q", rate, _STEP_S)
    return _steps("M/D[1,128]/1, τ + α·b", "bound of large steps, Inoue", load, query, expected, busy)


def _steps(
    name: str, theory: str, load: float, query: QueryClass, expected: Expected, busy: float
) -> KnownSystem:
    return KnownSystem(
        name=name,
        theory=theory,
        load=load,
        system=system_of([query], seed=13),
        scheduler=bind_to([0]),
        expected=(expected,),
        compute=busy,
        network=0.0,
        length=run_length(load),
    )


def _queue_with_background(load: float) -> KnownSystem:
    """A third of the load is exponential background of the executor, the rest constant queries."""
    background = BackgroundStream(load / 3 / 0.02, 0.02, 1.0)
    rate = load * 2 / 3 / MEAN_S
    wait = fifo_wait_s(load, rate * MEAN_S**2 + background.rate * second_moment(background))
    return KnownSystem(
        name="M/G/1 with background",
        theory="Pollaczek–Khinchine",
        load=load,
        system=system_of([one_task_query("q", rate, MEAN_S)], seed=2, background_compute=background),
        scheduler=bind_to([0]),
        expected=(exactly(wait + MEAN_S, {"queries alone": md1_jct_s(rate, MEAN_S)}),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )


def _several_servers(load: float) -> KnownSystem:
    rate = 4 * load / MEAN_S
    return KnownSystem(
        name="M/M/4, opportunistic",
        theory="Erlang C",
        load=load,
        system=system_of([one_task_query("q", rate, MEAN_S, 1.0)], executors=4, seed=3),
        scheduler=get_scheduler("opportunistic"),
        expected=(exactly(mmc_jct_s(rate, MEAN_S, 4), {"four queues apart": mm1_jct_s(rate / 4, MEAN_S)}),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )


_CLASSES = (("urgent", 0.3, 0.004, 0.0), ("usual", 0.4, 0.01, 1.0), ("late", 0.3, 0.02, 2.0))


def priorities(load: float) -> KnownSystem:
    """Three classes of different services on one executor; the order is not that of the workload."""
    streams = [BackgroundStream(load * share / mean, mean, scv) for _, share, mean, scv in _CLASSES]
    fifo_s = link_wait_s(1.0, streams)
    expected = []
    for number, (row, stream, jct_s) in enumerate(
        zip(_CLASSES, streams, priority_jct_s(streams), strict=True)
    ):
        # At low loads, and in the middle, an order of arrival gives nearly the same.
        rivals = {"in order of arrival": fifo_s + stream.mean} if load > 0.5 and row[0] != "usual" else {}
        expected.append(exactly(jct_s, rivals, row[0], (number + 1) % 3))
    queries = [
        one_task_query(row[0], s.rate, s.mean, s.scv) for row, s in zip(_CLASSES, streams, strict=True)
    ]
    return KnownSystem(
        name="M/G/1 with priorities",
        theory="Cobham",
        load=load,
        system=system_of([queries[2], queries[0], queries[1]], seed=7),
        scheduler=get_scheduler("priority"),
        options={"order": ["urgent", "usual", "late"]},
        expected=tuple(expected),
        compute=load,
        network=0.0,
        length=run_length(load, share=0.4),
    )


def _background_first(load: float) -> KnownSystem:
    """Ready tasks wait in one list until the executor is free, so its background has priority."""
    background = BackgroundStream(load / 2 / 0.02, 0.02, 1.0)
    own = BackgroundStream(load / 2 / MEAN_S, MEAN_S, 0.0)
    _, jct_s = priority_jct_s([background, own])
    rivals = {"in order of arrival": link_wait_s(1.0, [background, own]) + MEAN_S} if load > 0.5 else {}
    return KnownSystem(
        name="background before picked tasks",
        theory="Cobham",
        load=load,
        system=system_of([one_task_query("q", own.rate, MEAN_S)], seed=8, background_compute=background),
        scheduler=get_scheduler("opportunistic"),
        expected=(exactly(jct_s, rivals),),
        compute=load,
        network=0.0,
        length=run_length(load),
    )


CAPACITY = 1e8
_SIZES = {"small": 2e5, "large": 2e6}
_PAIR = bind_to([0, 1], [0, 1])


def _fifo_link(load: float) -> KnownSystem:
    """Small and large messages of constant size, and exponential background, first come first served."""
    streams = _streams(load, BackgroundStream(load / 4 * CAPACITY / 5e5, 5e5, 1.0))
    wait_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(wait_s + s / CAPACITY, {"shared equally": sharing_jct_s(s / CAPACITY, load)}, name, query)
        for query, (name, s) in enumerate(_SIZES.items())
    ]
    return _known("link, first come first served", load, _system(streams), expected)


def _sharing_link(load: float) -> KnownSystem:
    """Return the same with background of very different sizes, shared equally: only the load matters."""
    streams = _streams(load, BackgroundStream(load / 4 * CAPACITY / 5e5, 5e5, 4.0))
    fifo_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(
            sharing_jct_s(s / CAPACITY, load), {"in order of arrival": fifo_s + s / CAPACITY}, name, query
        )
        for query, (name, s) in enumerate(_SIZES.items())
    ]
    system = _system(streams, sharing=True)
    return _known("link, processor sharing", load, system, expected, theory="M/G/1-PS is insensitive")


def _rack_uplink(load: float) -> KnownSystem:
    """Two servers of a rack send to two of another; cards and core are so fast that the uplink decides.

    Small messages come from one server, large ones from the other: they meet at the uplink alone.
    """
    streams = [BackgroundStream(load / 2 * CAPACITY / s, s, 0.0) for s in _SIZES.values()]
    wait_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(
            wait_s + s.mean / CAPACITY,
            {"never meet": link_wait_s(CAPACITY, [s]) + s.mean / CAPACITY},
            name,
            query,
        )
        for query, (name, s) in enumerate(zip(_SIZES, streams, strict=True))
    ]
    fast = 1e4 * CAPACITY
    topology = make_topology(4, fast, nic=fast, rack_size=2, uplink=CAPACITY)
    system = replace(_system(streams, fast, executors=4), topology=topology, seed=12)
    return _known("links, two servers at an uplink", load, system, expected, bind_to([0, 2], [1, 3]))


def _streams(load: float, background: BackgroundStream) -> list[BackgroundStream]:
    """Both sizes with the same number of bytes, then the background, which has a quarter of the load."""
    return [BackgroundStream(0.375 * load * CAPACITY / s, s, 0.0) for s in _SIZES.values()] + [background]


def _known(
    name: str,
    load: float,
    system: System,
    expected: list[Expected],
    scheduler: Scheduler = _PAIR,
    theory: str = "Pollaczek–Khinchine",
) -> KnownSystem:
    return KnownSystem(
        name=name,
        theory=theory,
        load=load,
        system=system,
        scheduler=scheduler,
        expected=tuple(expected),
        compute=0.0,
        network=load,
        length=run_length(load, share=0.5),
    )


def _system(
    streams: list[BackgroundStream], capacity: float = CAPACITY, executors: int = 2, sharing: bool = False
) -> System:
    """Queries take no compute time: their tasks only send and receive. A third stream is background."""
    queries = [
        query_of(chain(name, [0.0, 0.0], s.mean), s.rate) for name, s in zip(_SIZES, streams[:2], strict=True)
    ]
    background = streams[2] if len(streams) > 2 else BackgroundStream()
    return system_of(queries, executors, capacity, seed=6, background_network=background, sharing=sharing)


def _tandem(load: float) -> KnownSystem:
    """Two exponential queues in series, the second faster; the message between them has no bytes."""
    means_s, rate = (MEAN_S, 0.8 * MEAN_S), load / MEAN_S
    return KnownSystem(
        name="tandem of M/M/1",
        theory="Burke",
        load=load,
        system=system_of([query_of(chain("q", means_s), rate, 1.0)], executors=2, seed=4),
        scheduler=bind_to([0, 1]),
        expected=(exactly(tandem_jct_s(rate, means_s), {"first queue alone": mm1_jct_s(rate, MEAN_S)}),),
        compute=0.9 * load,
        network=0.0,
        length=run_length(load),
    )


def _random_chain(load: float) -> KnownSystem:
    """Three exponential tasks, one after the other, each on one of five executors drawn at random."""
    executors, tasks = 5, 3
    rate = load * executors / tasks / MEAN_S
    external = np.full(executors, rate / executors)
    routing = np.full((executors, executors), (1 - 1 / tasks) / executors)
    jct_s = jackson_jct_s(external, routing, [MEAN_S] * executors)
    return KnownSystem(
        name="Jackson network, random chain",
        theory="Jackson; Kelly",
        load=load,
        system=system_of([query_of(chain("q", [MEAN_S] * tasks), rate, 1.0)], executors=executors, seed=9),
        scheduler=get_scheduler("random"),
        run_on=False,
        expected=(exactly(jct_s, {"two tasks": jct_s * (tasks - 1) / tasks}),),
        compute=load,
        network=0.0,
        length=run_length(load, share=0.6),
    )


_STATION_MEANS_S = (0.01, 0.006, 0.004)
_ROUTES = (((0, 1, 2, 1), 0.5), ((2, 0), 0.3), ((1,), 0.2))  # with the share of the jobs


def _routed_network(load: float) -> KnownSystem:
    """Three exponential stations; three classes with routes of their own, one of them with feedback."""
    external, flows = np.zeros(3), np.zeros((3, 3))
    for route, share in _ROUTES:
        external[route[0]] += share
        for here, there in pairwise(route):
            flows[here, there] += share
    visits = external + flows.sum(axis=0)
    routing = flows / visits[:, None]
    rate = load / float(np.max(traffic_rates(external, routing) * _STATION_MEANS_S))
    jct_s = jackson_jct_s(rate * external, routing, _STATION_MEANS_S)
    queries = [
        query_of(chain(f"route {i}", [_STATION_MEANS_S[s] for s in route]), rate * share, 1.0)
        for i, (route, share) in enumerate(_ROUTES)
    ]
    without = jackson_jct_s(rate * external, np.triu(routing), _STATION_MEANS_S)
    return KnownSystem(
        name="Jackson network, routes with feedback",
        theory="Jackson; Kelly",
        load=load,
        system=system_of(queries, executors=3, seed=10),
        scheduler=bind_to(*(route for route, _ in _ROUTES)),
        run_on=False,
        expected=(exactly(jct_s, {"no feedback": without}),),
        compute=float(np.mean(rate * visits * _STATION_MEANS_S)),
        network=0.0,
        length=run_length(load, share=0.8),
    )


def _fork_join(branches: int) -> Callable[[float], KnownSystem]:
    """Return a job of parallel exponential tasks, each on a queue of its own."""

    def build(load: float) -> KnownSystem:
        rate = load / MEAN_S
        tasks = TaskGraph.from_edges("q", [MEAN_S] * branches)
        low_s, high_s = fork_join_bounds_s(rate, MEAN_S, branches)
        fewer = {"one branch": mm1_jct_s(rate, MEAN_S)}
        expected = Expected(low_s, high_s, rivals=fewer)
        if branches == 2:
            independent = {"independent branches": high_s} if load > 0.5 else {}
            expected = exactly(fork_join_two_jct_s(rate, MEAN_S), {**fewer, **independent})
        return KnownSystem(
            name=f"fork-join of {branches}",
            theory="Flatto and Hahn" if branches == 2 else "bounds, Nelson and Tantawi; Baccelli et al.",
            load=load,
            system=system_of([query_of(tasks, rate, 1.0)], executors=branches, seed=5),
            scheduler=bind_to(range(branches)),
            expected=(expected,),
            compute=load,
            network=0.0,
            length=run_length(load),
        )

    return build


def choices(d: int, executors: int = 500) -> Callable[[float], KnownSystem]:
    """Single exponential tasks, each to the shortest of d random queues, on many executors."""

    def build(load: float) -> KnownSystem:
        rate = load / MEAN_S
        per_executor = 20 if load < 0.5 else 30 if load < 0.8 else 50  # services before measuring
        return KnownSystem(
            name=f"shortest of {d}, {executors} executors",
            theory="Mitzenmacher; Vvedenskaya et al.",
            load=load,
            system=system_of([one_task_query("q", rate * executors, MEAN_S, 1.0)], executors, seed=11),
            scheduler=get_scheduler("jsq-d"),
            options={"d": d},
            expected=(
                exactly(
                    choices_jct_s(rate, MEAN_S, d),
                    {f"shortest of {e}": choices_jct_s(rate, MEAN_S, e) for e in _neighbours(d, load)},
                ),
            ),
            compute=load,
            network=0.0,
            length=RunLength(20_000, round(load * executors * per_executor)),
        )

    return build


def _neighbours(d: int, load: float) -> Sequence[int]:
    """Numbers of choices that must show; at low loads all but 1 are nearly alike."""
    return (d - 1, d + 1) if load > 0.8 else (1,)


_COUNTS = np.array([2.0, 3.0])
_NAMES = ("short", "long")
_TIMES = np.array([[0.004, 0.012], [0.02, 0.03]])  # seconds of a query on each kind
_SCV = np.array([1.0, 0.0])
_RATES = np.array([4.0, 1.0])  # relative
_SHARES = np.array([[0.8, 0.2], [0.3, 0.7]])
_APART = 0.2  # relative: a rival nearer than that would not be told apart


@dataclass(frozen=True, slots=True)
class _ByShares:
    """``prepare`` of ``local`` with given shares; a class, so that it can go to another process."""

    shares: tuple[tuple[float, ...], ...]

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        placed = [place_fixed(system, q, "local") for q in system.queries]
        return build_tables(system, placed, shares=np.array(self.shares))


def _two_kinds(load: float) -> KnownSystem:
    """Two quick and three slow executors; the busier kind is loaded to ``load``."""
    rates = _RATES * load / _loads(_RATES, _SHARES).max()
    used, times = _loads(rates, _SHARES), _jct_s(rates, _SHARES)
    alike = _jct_s(rates, np.tile(_COUNTS / _COUNTS.sum(), (2, 1)))
    expected = []
    for j, name in enumerate(_NAMES):
        far = not abs(alike[j] / times[j] - 1) < _APART and math.isfinite(alike[j])
        rivals = {"every executor drawn alike": float(alike[j])} if far else {}
        expected.append(exactly(float(times[j]), rivals, name, j))
    queries = [
        query_of(TaskGraph.from_edges(name, _TIMES[j][:, None]), float(rates[j]), float(_SCV[j]))
        for j, name in enumerate(_NAMES)
    ]
    system = replace(
        system_of(queries, executors=int(_COUNTS.sum()), seed=31),
        executor_class=np.repeat([0, 1], _COUNTS.astype(np.int64)),
        class_names=("quick", "slow"),
    )
    by_shares = _ByShares(tuple(map(tuple, _SHARES.tolist())))
    return KnownSystem(
        name="M/G/1 of two kinds, by shares",
        theory="Pollaczek–Khinchine",
        load=load,
        system=system,
        scheduler=replace(get_scheduler("local"), build=by_shares),
        expected=tuple(expected),
        compute=float(used @ _COUNTS / _COUNTS.sum()),
        network=0.0,
        length=run_length(load, share=0.2),
    )


def _loads(rates: Floats, shares: Floats) -> Floats:
    """(K,) ρ of an executor of each kind."""
    result: Floats = (rates[:, None] * shares * _TIMES).sum(axis=0) / _COUNTS
    return result


def _jct_s(rates: Floats, shares: Floats) -> Floats:
    """(J,) Σ_k s_jk (W_k + p_jk), W_k of an M/G/1 queue at each executor."""
    squares = _TIMES**2 * (1 + _SCV)[:, None]
    moments = (rates[:, None] * shares * squares).sum(axis=0) / _COUNTS
    used = _loads(rates, shares)
    waits = np.array([fifo_wait_s(r, m) for r, m in zip(used.tolist(), moments.tolist(), strict=True)])
    result: Floats = (shares * (waits + _TIMES)).sum(axis=1)
    return result


LOADS = (0.3, 0.6, 0.9)
Build = Callable[[float], KnownSystem]
_BUILDERS: tuple[Build, ...] = (
    single_queue(0.0),
    single_queue(0.5),
    single_queue(1.0),
    single_queue(2.0),
    _memoryless_steps,
    _steps_by_size,
    _large_steps,
    _queue_with_background,
    _several_servers,
    priorities,
    _background_first,
    _two_kinds,
    _fifo_link,
    _sharing_link,
    _rack_uplink,
    _tandem,
    _random_chain,
    _routed_network,
    _fork_join(2),
    _fork_join(4),
    choices(2),
    choices(3),
)
#: Name → the system at a load between 0 and 1.
KNOWN: Mapping[str, Build] = MappingProxyType({build(LOADS[0]).name: build for build in _BUILDERS})


def known_systems(loads: tuple[float, ...] = LOADS) -> Iterator[KnownSystem]:
    """Every known system at every load.

    >>> {s.load for s in known_systems((0.5,))}
    {0.5}
    """
    for build in KNOWN.values():
        for load in loads:
            yield build(load)


@cache
def known_result(name: str, load: float, effort: Effort) -> Comparison:
    """Return the comparison of one system, which depends on these three alone.

    It is made once per process.
    """
    return compare(KNOWN[name](load), effort)
