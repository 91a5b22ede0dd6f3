"""Known systems of several stations: tandem, Jackson networks, fork-join, the power of choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from nona.contraction.task_graph import TaskGraph
from nona.schedulers.registry import get_scheduler
from nona.simulation.known.bound import bind_to
from nona.simulation.known.parts import (
    Expected,
    KnownSystem,
    RunLength,
    chain,
    exactly,
    one_task_query,
    query_of,
    run_length,
    system_of,
)
from nona.simulation.theory import (
    choices_jct_s,
    fork_join_bounds_s,
    fork_join_two_jct_s,
    jackson_jct_s,
    mm1_jct_s,
    tandem_jct_s,
    traffic_rates,
)

MEAN_S = 0.01


def tandem(load: float) -> KnownSystem:
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


def random_chain(load: float) -> KnownSystem:
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


def routed_network(load: float) -> KnownSystem:
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


def fork_join(branches: int) -> Callable[[float], KnownSystem]:
    """A job of parallel exponential tasks, each on a queue of its own."""

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
