"""Several links: against a second simulator, by conservation on every link, and in isolation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawn_systems import linked
from hypothesis import assume, given
from hypothesis import strategies as st
from reference_paths import PathReference, links_between
from simulation_cases import fixed, make_system, query, task_graph, uniform
from sizes import examples
from test_reference_equality import JOBS, SCHEDULERS
from test_run import busy_system

from nona.errors import HardwareError
from nona.simulation.records import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, System
from nona.topology import make_topology


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("grid", [False, True], ids=["drawn", "grid"])
def test_links_equal_the_reference_bit_for_bit(name: str, grid: bool) -> None:
    @examples(40)
    @given(linked(grid), st.booleans())
    def check(system: System, run_on: bool) -> None:
        made, prepared = SCHEDULERS[name]()
        records = simulate_run(system, made, prepared, RunOptions(jobs=JOBS, warmup=0, run_on=run_on))
        assume(records.arrived < 300)  # the reference counts all anew at each event: slow where jobs pile up
        reference = PathReference(system, made, prepared, run_on)
        np.testing.assert_array_equal(records.completion_s, reference.run(JOBS, records.arrived))
        assert [c.name for c in records.checks if not c.ok] == []
        start, stop = records.window_s
        for link, served in enumerate(reference.served):
            busy = sum(max(0.0, min(e, stop) - max(s, start)) for s, e in served)
            assert records.link_busy_s[link] == pytest.approx(busy, abs=1e-6)

    check()


def outcome(records: Records) -> tuple[object, ...]:
    arrays = (records.arrival_s, records.completion_s, records.executor_busy_s, records.link_busy_s)
    return (
        *(a.tobytes() for a in arrays), records.window_s, records.timeline, records.state, records.checks,
        records.utilization_network,
    )  # fmt: skip


@pytest.mark.parametrize("make", [lambda: uniform(4), *SCHEDULERS.values()])
def test_a_path_of_one_link_equals_no_topology_bit_for_bit(make: object) -> None:
    one = busy_system(discipline="fifo")
    several = replace(one, topology=make_topology(one.servers, one.capacity))
    options = RunOptions(jobs=400, warmup=50, timeline_jobs=3)
    found = [simulate_run(system, *make(), options) for system in (one, several)]  # type: ignore[operator]
    assert outcome(found[0]) == outcome(found[1])
    assert [r.link_names for r in found] == [("link",), ("core",)]


@examples(60)
@given(
    st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0),
    st.booleans(), st.floats(0.0, 2.0),
)  # fmt: skip
def test_an_isolated_message_takes_size_over_the_smallest_capacity_and_latency(
    size: float, nic: float, uplink: float, core: float, racks: bool, latency: float
) -> None:
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
    assert records.timeline is not None
    (message,) = records.timeline.messages
    assert (message.request_s, message.start_s) == (0.25, 0.25)
    assert message.end_s == pytest.approx(0.25 + size / slowest)
    assert message.delivered_s == message.end_s + latency


def test_nothing_between_servers_of_one_rack_crosses_the_core() -> None:
    pair = task_graph([0.1, 0.1], [(0, [1], 3.0)])
    topology = make_topology(4, 1.0, nic=2.0, rack_size=2, uplink=1.0)
    system = make_system(query(pair, 0.2), servers=[0, 1, 2, 3], topology=topology)
    options = RunOptions(jobs=200)
    within = simulate_run(system, *fixed([2, 3]), options)
    used = {n for n, s in zip(within.link_names, within.link_busy_s, strict=True) if s > 0}
    assert used == {"server 2 out", "server 3 in"}
    between = simulate_run(system, *fixed([1, 2]), options)
    used = {n for n, s in zip(between.link_names, between.link_busy_s, strict=True) if s > 0}
    assert used == {"server 1 out", "rack 0 up", "core", "rack 1 down", "server 2 in"}
    assert between.utilization_network == pytest.approx(
        max(between.link_busy_s) / (between.window_s[1] - between.window_s[0])
    )


def test_work_on_every_link_is_the_bytes_that_crossed_it() -> None:
    """From the traced messages, path by path; no background, and all jobs are complete."""
    system = busy_system(discipline="fifo")
    topology = make_topology(system.servers, system.capacity, system.capacity / 2)
    quiet = replace(
        system, topology=topology, background_network=replace(system.background_network, rate=0.0)
    )
    records = simulate_run(quiet, *uniform(4), RunOptions(jobs=300, warmup=0, timeline_jobs=300))
    start, stop = records.window_s
    expected = np.zeros(topology.links)
    assert records.timeline is not None
    for m in records.timeline.messages:
        size = quiet.queries[m.query].tasks.tensor_bytes[m.tensor]
        if m.delivered_s <= stop:
            for link in links_between(topology, m.source, m.destination):
                expected[link] += size / topology.link_capacity[link]
    length = stop - start
    assert expected.min() > 0
    np.testing.assert_allclose(records.link_busy_s, expected, atol=0.02 * length)
    assert (records.link_busy_s <= length).all()


def test_background_loads_every_link_alike_and_independently() -> None:
    single = task_graph([0.01])
    topology = make_topology(3, 100.0, nic=10.0, rack_size=2, uplink=20.0)
    base = make_system(query(single, 5.0), servers=[0, 1, 2], capacity=100.0, topology=topology)
    system = replace(base, background_network=replace(base.background_network, rate=60.0, mean=0.5, scv=1.0))
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=4000))
    share = records.link_busy_s / (records.window_s[1] - records.window_s[0])
    assert len(set(share.tolist())) == topology.links
    np.testing.assert_allclose(share, 0.3, atol=0.03)


def test_processor_sharing_is_for_a_single_link() -> None:
    with pytest.raises(HardwareError, match="is for a single link; use fifo"):
        make_system(
            query(task_graph([1.0])), discipline="processor-sharing", topology=make_topology(1, 1.0, nic=1.0)
        )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"servers": [0, 1]}, "has 1 servers, its executors 2"), ({"capacity": 2.0}, "must be equal")],
)
def test_a_topology_must_fit_the_system(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(HardwareError, match=problem):
        make_system(query(task_graph([1.0])), topology=make_topology(1, 1.0), **changes)


def test_overload_of_one_card_is_seen_and_named() -> None:
    pair = task_graph([1e-3, 1e-3], [(0, [1], 1.0)])
    for load, state in ((0.9, "stable"), (1.1, "overloaded")):
        system = make_system(
            query(pair, load), servers=[0, 1, 2], capacity=50.0, topology=make_topology(3, 50.0, nic=1.0)
        )
        records = simulate_run(system, *fixed([0, 2]), RunOptions(jobs=1000))
        assert records.state == state, records.state_reason
        assert ("link 'server 0 out'" in records.state_reason) == (state == "overloaded")


def test_a_busy_card_among_many_is_not_called_overloaded_by_luck() -> None:
    """Uniform placement at a load of 0.9 on each of 40 cards: the busiest was given more by chance."""
    pair = task_graph([1e-3, 1e-3], [(0, [1], 1.0)])
    rate = 0.9 * 20 / (19 / 20)
    system = make_system(
        query(pair, rate), servers=range(20), capacity=1e3, topology=make_topology(20, 1e3, nic=1.0)
    )
    records = simulate_run(system, *uniform(2), RunOptions(jobs=1500))
    assert "load offered" not in records.state_reason
