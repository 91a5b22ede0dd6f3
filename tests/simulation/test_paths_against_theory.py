"""Several links against what is known of them: tandems, cards as M/G/1, many to one, oversubscribed racks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulation_cases import by_class, fixed, make_system, query, task_graph

from nona.placement.queueing import fifo_wait_s
from nona.simulation.intervals import mean_interval
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.theory import link_wait_s
from nona.system import Arrivals, Stream, System
from nona.topology import NONE, Topology, make_topology

SIZES = (0.3, 1.7)
ONCE = Arrivals("trace", times_s=(0.0, 1e6), scale_to_rate=False)


def sender(rho: float, **changes: object) -> System:
    """Server 0 sends messages of two sizes to server 1, which load a link of 1 byte/s by ``rho``."""
    queries = [
        query(task_graph([0.0, 0.0], [(0, [1], size)]), rho / 2 / size, name=f"q{size}") for size in SIZES
    ]
    return make_system(*queries, servers=[0, 1], **changes)


@pytest.mark.parametrize("core", [1.0, 1.5, 40.0])
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_one_card_feeding_links_that_are_not_slower_adds_no_wait(core: float, rho: float) -> None:
    """Job by job: what leaves a link is never closer together than the next one can take."""
    single = sender(rho)
    path = sender(rho, capacity=core, topology=make_topology(2, core, nic=1.0))
    options = RunOptions(jobs=2000)
    times = [simulate_run(s, *fixed([0, 1]), options).completion_time_s for s in (single, path)]
    np.testing.assert_allclose(times[1], times[0], rtol=1e-9, atol=1e-9)


def test_a_slower_core_behind_a_card_is_the_bottleneck() -> None:
    """The card is free again whenever the core is, so the core alone decides, job by job."""
    single = sender(0.8)
    path = sender(0.8, topology=make_topology(2, 1.0, nic=3.0))
    options = RunOptions(jobs=2000)
    times = [simulate_run(s, *fixed([0, 1]), options).completion_time_s for s in (single, path)]
    np.testing.assert_allclose(times[1], times[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("rho", "jobs", "widest"), [(0.3, 4_000, 0.06), (0.7, 9_000, 0.12)])
def test_cards_under_a_core_of_low_load_are_mg1_each(rho: float, jobs: int, widest: float) -> None:
    """Three servers send to three others; each card is a queue of its own, the core is hardly used."""
    queries = [
        query(task_graph([0.0, 0.0], [(0, [1], size)]), rho / 2 / size, name=f"q{pair}-{size}")
        for pair in range(3)
        for size in SIZES
    ]
    topology = make_topology(6, 1e4, nic=1.0)
    system = make_system(*queries, servers=range(6), capacity=1e4, topology=topology)
    policy = by_class([[k // 2, 3 + k // 2] for k in range(6)])
    rates = [q.rate for q in queries[:2]]
    wait = fifo_wait_s(rho, sum(r * s**2 for r, s in zip(rates, SIZES, strict=True)))
    means, busy = [], []
    for r in range(15):
        run = simulate_run(system, *policy, RunOptions(jobs=jobs, warmup=500, replication=r))
        assert run.state == "stable", run.state_reason
        means.append(float(run.completion_time_s.mean()))
        busy.append(float(run.link_busy_s[1:4].mean()) / (run.window_s[1] - run.window_s[0]))
    found = mean_interval(means, 0.999)
    assert found.half_width < widest * found.mean
    assert found.covers(wait + rho / sum(rates)), (found, wait)
    assert mean_interval(busy, 0.999).covers(rho)


def crossing_time(sources: int, sinks: int, topology: Topology, capacity: float) -> float:
    """Seconds until all messages of 1 byte, sent at once from ``sources`` to ``sinks``, are there."""
    pairs = max(sources, sinks)
    tensors = [(i, [pairs + i], 1.0) for i in range(pairs)]
    graph = task_graph([0.0] * 2 * pairs, tensors)
    servers = range(sources + sinks)
    places = [i % sources for i in range(pairs)] + [sources + i % sinks for i in range(pairs)]
    system = make_system(query(graph, arrivals=ONCE), servers=servers, capacity=capacity, topology=topology)
    run = simulate_run(system, *fixed(places), RunOptions(jobs=1, warmup=0))
    return float(run.completion_time_s[0])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_many_to_one_and_one_to_many_take_their_turns_at_one_card(n: int) -> None:
    topology = make_topology(n + 1, 1e6, nic=0.5)
    assert crossing_time(n, 1, topology, 1e6) == pytest.approx(2.0 * n)
    assert crossing_time(1, n, topology, 1e6) == pytest.approx(2.0 * n)


@pytest.mark.parametrize("n", [2, 5])
def test_pairs_of_servers_do_not_meet_but_at_what_they_share(n: int) -> None:
    free = make_topology(2 * n, 1e9, nic=0.5)
    assert crossing_time(n, n, free, 1e9) == pytest.approx(2.0, rel=1e-6)
    uplink = make_topology(2 * n, 1e9, nic=0.5, rack_size=n, uplink=2.0)
    # they start half a second after one another, and then each goes at the speed of its card
    assert crossing_time(n, n, uplink, 1e9) == pytest.approx(0.5 * (n - 1) + 2.0, rel=1e-6)
    narrow = make_topology(2 * n, 1e9, nic=0.5, rack_size=n, uplink=0.1)
    assert crossing_time(n, n, narrow, 1e9) == pytest.approx(10.0 * n, rel=1e-6)


def test_two_directions_of_a_card_do_not_disturb_each_other() -> None:
    pair = task_graph([0.0, 0.0], [(0, [1], 1.0)])
    topology = make_topology(2, 1e9, nic=1.0)
    alone = make_system(query(pair, 0.7, name="there"), servers=[0, 1], capacity=1e9, topology=topology)
    both = replace(alone, queries=(*alone.queries, query(pair, 0.7, name="back")))
    policy = by_class([[0, 1], [1, 0]])
    one = simulate_run(alone, *policy, RunOptions(jobs=500, warmup=0))
    two = simulate_run(both, *policy, RunOptions(jobs=1500, warmup=0))
    mine = two.completion_time_s[two.query == 0][:500]
    assert len(mine) == 500
    np.testing.assert_allclose(mine, one.completion_time_s, rtol=1e-6, atol=1e-6)


def test_background_of_the_link_on_the_way_delays_as_in_mg1() -> None:
    """Two servers in one rack; they have cards for what comes in alone, under exponential background."""
    only_in = Topology(
        ("core", "in 0", "in 1"), np.ones(3), 0,
        out_link=np.full(2, NONE), up_link=np.full(2, NONE), down_link=np.full(2, NONE),
        in_link=np.array([1, 2]), rack=np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    rate, size, background = 0.02, 0.5, Stream(0.6, 1.0, 1.0)
    system = make_system(
        query(task_graph([0.0, 0.0], [(0, [1], size)]), rate),
        servers=[0, 1], topology=only_in, background_network=background,
    )  # fmt: skip
    expected = link_wait_s(1.0, [background, Stream(rate, size, 0.0)]) + size
    found = mean_interval(
        [
            float(simulate_run(system, *fixed([0, 1]), RunOptions(jobs=1000, replication=r))
                  .completion_time_s.mean())
            for r in range(15)
        ],
        0.999,
    )  # fmt: skip
    assert found.half_width < 0.1 * found.mean
    assert found.covers(expected), (found, expected)
