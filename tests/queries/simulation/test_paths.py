"""Several links: conservation on every link, what is known of them, and what the placement predicts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation_cases import SCHEDULERS, by_class, fixed, make_system, query, task_graph, uniform
from sizes import examples, first
from test_run import busy_system

from evidence.theory import link_wait_s
from nona.cluster.topology import NONE, Topology, make_topology
from nona.core.errors import HardwareError
from nona.core.statistics import mean_interval
from nona.models.decomposition import decompose
from nona.queries.placement import prediction, queueing
from nona.queries.placement.fixed import spread_placement
from nona.queries.placement.model import value_at
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import BackgroundStream, QueryClass
from nona.scenario.arrivals import Arrivals


def outcome(records):
    arrays = (records.arrival_s, records.completion_s, records.executor_busy_s, records.link_busy_s)
    return (
        *(a.tobytes() for a in arrays), records.window_s, records.timeline, records.state, records.checks,
        records.utilization_network,
    )  # fmt: skip


@pytest.mark.parametrize("make", [lambda: uniform(4), *SCHEDULERS.values()])
def test_a_path_of_one_link_equals_no_topology_bit_for_bit(make):
    one = busy_system(discipline="fifo")
    several = replace(one, topology=make_topology(one.servers, one.capacity))
    options = RunOptions(jobs=400, warmup=50, timeline_jobs=3)
    found = [simulate_run(system, *make(), options) for system in (one, several)]
    assert outcome(found[0]) == outcome(found[1])
    assert [r.link_names for r in found] == [("link",), ("core",)]


@examples(60)
@given(
    st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0),
    st.booleans(), st.floats(0.0, 2.0),
)  # fmt: skip
def test_an_isolated_message_takes_size_over_the_smallest_capacity_and_latency(
    size, nic, uplink, core, racks, latency
):
    pair = task_graph([0.25, 0.25], [(0, [1], size)])
    once = Arrivals("trace", times_s=(0.0, 1e4), scale_to_rate=False)
    rack = (2, uplink) if racks else (None, None)
    system = make_system(
        query(pair, arrivals=once),
        servers=[0, 1, 2],
        capacity=core,
        latency_s=latency,
        topology=make_topology(3, core, nic, *rack),
    )
    records = simulate_run(system, *fixed([0, 2]), RunOptions(jobs=1, warmup=0, timeline_jobs=1))
    slowest = min(nic, core, uplink) if racks else min(nic, core)
    assert records.completion_time_s[0] == pytest.approx(0.5 + size / slowest + latency)
    assert system.isolated_s(size, 0, 2) == pytest.approx(size / slowest + latency)
    (message,) = records.timeline.messages
    assert (message.request_s, message.start_s) == (0.25, 0.25)
    assert message.end_s == pytest.approx(0.25 + size / slowest)
    assert message.delivered_s == message.end_s + latency


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"discipline": "processor-sharing"}, "is for a single link; use fifo"),
        ({"servers": [0, 1]}, "has 1 servers, its executors 2"),
        ({"capacity": 2.0}, "must be equal"),
    ],
)
def test_a_topology_must_fit_the_system(changes, problem):
    with pytest.raises(HardwareError, match=problem):
        make_system(query(task_graph([1.0])), topology=make_topology(1, 1.0, nic=1.0), **changes)


def test_overload_of_one_card_is_seen_and_named_but_none_by_luck_among_many():
    pair = task_graph([1e-3, 1e-3], [(0, [1], 1.0)])
    for load, state in ((0.9, "stable"), (1.1, "overloaded")):
        system = make_system(
            query(pair, load), servers=[0, 1, 2], capacity=50.0, topology=make_topology(3, 50.0, nic=1.0)
        )
        records = simulate_run(system, *fixed([0, 2]), RunOptions(jobs=1000))
        assert records.state == state, records.state_reason
        assert ("link 'server 0 out'" in records.state_reason) == (state == "overloaded")
    # Uniform placement at a load of 0.9 on each of 40 cards: the busiest was given more by chance.
    rate = 0.9 * 20 / (19 / 20)
    system = make_system(
        query(pair, rate), servers=range(20), capacity=1e3, topology=make_topology(20, 1e3, nic=1.0)
    )
    records = simulate_run(system, *uniform(2), RunOptions(jobs=1500))
    assert "load offered" not in records.state_reason


SIZES = (0.3, 1.7)


def sender(rho, **changes):
    """Server 0 sends messages of two sizes to server 1, which load a link of 1 byte/s by ``rho``."""
    queries = [
        query(task_graph([0.0, 0.0], [(0, [1], size)]), rho / 2 / size, name=f"q{size}") for size in SIZES
    ]
    return make_system(*queries, servers=[0, 1], **changes)


@pytest.mark.parametrize("rho", [0.5, 0.9])
@pytest.mark.parametrize(("core", "nic"), [(1.0, 1.0), (1.5, 1.0), (40.0, 1.0), (1.0, 3.0)])
def test_along_one_path_the_slowest_link_alone_decides(core, nic, rho):
    """Job by job: what leaves a link is never closer together than the next one of its speed can take."""
    single = sender(rho)
    path = sender(rho, capacity=core, topology=make_topology(2, core, nic=nic))
    options = RunOptions(jobs=2000)
    times = [simulate_run(s, *fixed([0, 1]), options).completion_time_s for s in (single, path)]
    np.testing.assert_allclose(times[1], times[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("rho", "jobs", "widest"), [(0.3, 4_000, 0.06), (0.7, 9_000, 0.12)])
def test_cards_under_a_core_of_low_load_are_mg1_each(rho, jobs, widest):
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
    wait = queueing.fifo_wait_s(rho, sum(r * s**2 for r, s in zip(rates, SIZES, strict=True)))
    sizes = [RunOptions(jobs=jobs, warmup=500, replication=r) for r in range(15)]
    done = [simulate_run(system, *policy, size) for size in sizes]
    assert {r.state for r in done} == {"stable"}
    busy = [float(r.link_busy_s[1:4].mean()) / (r.window_s[1] - r.window_s[0]) for r in done]
    found = mean_interval([float(r.completion_time_s.mean()) for r in done], 0.999)
    assert found.half_width < widest * found.mean
    assert found.covers(wait + rho / sum(rates)), (found, wait)
    assert mean_interval(busy, 0.999).covers(rho)


def test_background_of_the_link_on_the_way_delays_as_in_mg1():
    """Two servers in one rack; they have cards for what comes in alone, under exponential background."""
    only_in = Topology(
        ("core", "in 0", "in 1"), np.ones(3), 0,
        out_link=np.full(2, NONE), up_link=np.full(2, NONE), down_link=np.full(2, NONE),
        in_link=np.array([1, 2]), rack=np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    rate, size, background = 0.02, 0.5, BackgroundStream(0.6, 1.0, 1.0)
    system = make_system(
        query(task_graph([0.0, 0.0], [(0, [1], size)]), rate),
        servers=[0, 1], topology=only_in, background_network=background,
    )  # fmt: skip
    expected = link_wait_s(1.0, [background, BackgroundStream(rate, size, 0.0)]) + size
    runs = (simulate_run(system, *fixed([0, 1]), RunOptions(jobs=1000, replication=r)) for r in range(15))
    found = mean_interval([float(r.completion_time_s.mean()) for r in runs], 0.999)
    assert found.half_width < 0.1 * found.mean
    assert found.covers(expected), (found, expected)


KINDS = {"server out": " out", "rack up": " up", "core": "core", "rack down": " down", "server in": " in"}


def forks(rho, *, servers=16, core, nic, uplink, background=0.0):
    """Servers without work that send one tensor to three others, so that only links rule; busiest at ρ."""
    graph = task_graph([0.0] * 4, [(0, [1, 2, 3], 1.0)])
    query = QueryClass("fork", graph, decompose(graph.dag), 1.0)
    system = make_system(
        query,
        servers=range(servers),
        capacity=core,
        topology=make_topology(servers, core, nic=nic, rack_size=4, uplink=uplink),
        background_network=BackgroundStream(background * core / 0.5, 0.5, 1.0),
    )
    model, x = spread(system)
    load = model.traffic(x).load
    rate = min((rho - r.background_utilization) / (r.each * r.slower * load) for r in model.roles)
    return replace(system, queries=(replace(query, rate=rate),))


def spread(system):
    return prediction.as_model(system, spread_placement(system).queries)


def runs(system, jobs, replications):
    policy = get_scheduler("spread")
    prepared = policy.prepare(system, None, {})
    found = [
        simulate_run(system, policy, prepared, RunOptions(jobs=jobs, replication=r, timeline_jobs=jobs))
        for r in range(replications)
    ]
    assert all(r.state == "stable" for r in found)
    return found


def busy(found, kind):
    names = [k for k, name in enumerate(found[0].link_names) if name.endswith(KINDS[kind])]
    return float(np.mean([r.link_busy_s[names] / (r.window_s[1] - r.window_s[0]) for r in found]))


def predicted_s(model, waits):
    (candidates,) = model.candidates[0]
    return float(candidates.messages.through_s.mean()) + sum(w.share * w.wait_s for w in waits)


@pytest.mark.parametrize(
    ("speeds", "background"),
    first(
        2,
        [
            ({"core": 8.0, "nic": 1.0, "uplink": 3.0}, 0.2),
            ({"core": 1e4, "nic": 1.0, "uplink": 1e4}, 0.0),  # the cards rule
            ({"core": 4.0, "nic": 100.0, "uplink": 100.0}, 0.0),  # the core rules, batches arrive whole
            ({"core": 400.0, "nic": 1.0, "uplink": 2.0}, 0.0),  # the uplinks rule
            ({"core": 8.0, "nic": 1.0, "uplink": 3.0}, 0.0),  # all together
        ],
    ),
)
def test_messages_take_as_long_as_predicted_at_half_load(speeds, background):
    system = forks(0.5, background=background, **speeds)
    model, x = spread(system)
    waits = prediction.prediction_of(model, value_at(model, x)).links
    assert max(w.utilization for w in waits) == pytest.approx(0.5)
    found = runs(system, 5000, 4)
    for w in waits:
        assert busy(found, w.kind) == pytest.approx(w.utilization, rel=0.04, abs=2e-3)
    # mean seconds of a message from request until all of it is through, for each replication
    times = np.array([np.mean([m.end_s - m.request_s for m in r.timeline.messages]) for r in found])
    expected = predicted_s(model, waits)
    assert times.std(ddof=1) / 2 < 0.02 * times.mean()
    assert expected == pytest.approx(times.mean(), rel=0.06)
    least = float(model.candidates[0][0].messages.through_s.mean())
    assert expected - least == pytest.approx(times.mean() - least, rel=0.15)
