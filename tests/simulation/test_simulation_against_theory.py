"""The simulation against queueing theory.

The confidence level is 99.9 %, so with right code about one case in a thousand would fail, and the
seeds are fixed. Each case also states how narrow its interval must be: one that is too wide to
tell neighbouring theories apart would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from theory_systems import bind_to, one_task_query, query_of, system_of, task_graph

from nona.placement.queueing import fifo_wait_s, second_moment
from nona.schedulers.base import Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.intervals import mean_interval
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.theory import (
    fork_join_bounds_s,
    fork_join_two_jct_s,
    link_wait_s,
    mg1_jct_s,
    mmc_jct_s,
    tandem_jct_s,
)
from nona.system import Stream, System

LEVEL = 0.999
REPLICATIONS = 20
JOBS = {0.3: 2_000, 0.6: 4_000, 0.9: 12_000}
WARMUP = {0.3: 100, 0.6: 300, 0.9: 1_500}
WIDEST = {0.3: 0.06, 0.6: 0.10, 0.9: 0.25}  # half-width of the interval / mean


class Case(NamedTuple):
    """A system with the mean JCT, or bounds of it, and the loads that theory gives it."""

    system: System
    scheduler: Scheduler
    low_s: float
    high_s: float
    compute: float
    network: float


def single_queue(scv: float) -> Callable[[float], Case]:
    def build(rho: float) -> Case:
        system = system_of([one_task_query("q", rho / 0.01, 0.01, scv)], seed=1)
        expected = mg1_jct_s(rho / 0.01, 0.01, scv)
        return Case(system, bind_to((0,)), expected, expected, rho, 0.0)

    return build


def single_queue_with_background(rho: float) -> Case:
    # a third of the load is exponential background, the rest deterministic queries
    background = Stream(rho / 3 / 0.02, 0.02, 1.0)
    rate = rho * 2 / 3 / 0.01
    system = system_of([one_task_query("q", rate, 0.01)], seed=2, background_compute=background)
    wait = fifo_wait_s(rho, rate * 0.01**2 + background.rate * second_moment(background))
    return Case(system, bind_to((0,)), wait + 0.01, wait + 0.01, rho, 0.0)


def several_servers(rho: float) -> Case:
    system = system_of([one_task_query("q", 4 * rho / 0.01, 0.01, 1.0)], executors=4, seed=3)
    expected = mmc_jct_s(4 * rho / 0.01, 0.01, 4)
    return Case(system, get_scheduler("opportunistic"), expected, expected, rho, 0.0)


def tandem(rho: float) -> Case:
    # the second queue is faster; the message between them has no bytes
    tasks = task_graph("q", [0.01, 0.008], [(0, 1, 0.0)])
    system = system_of([query_of(tasks, rho / 0.01, 1.0)], executors=2, seed=4)
    expected = tandem_jct_s(rho / 0.01, [0.01, 0.008])
    return Case(system, bind_to((0, 1)), expected, expected, 0.9 * rho, 0.0)


def fork_join(branches: int) -> Callable[[float], Case]:
    def build(rho: float) -> Case:
        tasks = task_graph("q", [0.01] * branches)
        system = system_of([query_of(tasks, rho / 0.01, 1.0)], executors=branches, seed=5)
        low, high = fork_join_bounds_s(rho / 0.01, 0.01, branches)
        if branches == 2:
            low = high = fork_join_two_jct_s(rho / 0.01, 0.01)
        return Case(system, bind_to(range(branches)), low, high, rho, 0.0)

    return build


def link(rho: float) -> Case:
    # two classes that take no compute time, with small and large tensors, and background messages
    sizes, capacity = (2e5, 2e6), 1e8
    background = Stream(rho / 4 * capacity / 5e5, 5e5, 1.0)
    rates = [0.375 * rho * capacity / s for s in sizes]
    queries = [
        query_of(task_graph(f"q{i}", [0.0, 0.0], [(0, 1, s)]), r)
        for i, (s, r) in enumerate(zip(sizes, rates, strict=True))
    ]
    system = system_of(queries, executors=2, capacity=capacity, seed=6, background_network=background)
    streams = [Stream(r, s, 0.0) for r, s in zip(rates, sizes, strict=True)]
    own = sum(r * s for r, s in zip(rates, sizes, strict=True)) / sum(rates) / capacity
    expected = link_wait_s(capacity, [*streams, background]) + own
    return Case(system, bind_to((0, 1)), expected, expected, 0.0, rho)


CASES: dict[str, Callable[[float], Case]] = {
    "M/D/1": single_queue(0.0),
    "M/G/1 with scv 0.5": single_queue(0.5),
    "M/M/1": single_queue(1.0),
    "M/G/1 with scv 2": single_queue(2.0),
    "M/G/1 with background": single_queue_with_background,
    "M/M/4, opportunistic": several_servers,
    "tandem of M/M/1": tandem,
    "fork-join of 2": fork_join(2),
    "fork-join of 4": fork_join(4),
    "link as M/G/1": link,
}


def simulate(case, rho):
    """Mean JCT, executors' and link's utilisation of every replication."""
    prepared = case.scheduler.prepare(case.system, None, {})
    rows = []
    for r in range(REPLICATIONS):
        options = RunOptions(jobs=JOBS[rho], warmup=WARMUP[rho], replication=r)
        run = simulate_run(case.system, case.scheduler, prepared, options)
        assert run.state == "stable", run.state_reason
        assert all(c.ok for c in run.checks), run.checks
        jct = run.completion_s - run.arrival_s
        rows.append((float(jct.mean()), run.utilization_compute, run.utilization_network))
    return zip(*rows, strict=True)


@pytest.mark.parametrize("rho", JOBS)
@pytest.mark.parametrize("name", CASES)
def test_simulated_means_agree_with_theory(name, rho):
    case = CASES[name](rho)
    jct, compute, network = (mean_interval(v, LEVEL) for v in simulate(case, rho))
    assert jct.half_width < WIDEST[rho] * jct.mean
    if case.low_s == case.high_s:
        assert jct.covers(case.low_s), (jct, case.low_s)
    else:
        assert jct.high >= case.low_s, (jct, case.low_s)
        assert jct.low <= case.high_s, (jct, case.high_s)
    assert compute.covers(case.compute), (compute, case.compute)
    assert network.covers(case.network), (network, case.network)


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_the_wrong_theory_is_told_apart(rho):
    case = CASES["M/D/1"](rho)
    jct, _, _ = (mean_interval(v, LEVEL) for v in simulate(case, rho))
    rate = rho / 0.01
    for wrong in (mg1_jct_s(rate, 0.01, 1.0), mg1_jct_s(rate, 0.01, 0.5), mmc_jct_s(2 * rate, 0.01, 2)):
        assert not jct.covers(wrong)
