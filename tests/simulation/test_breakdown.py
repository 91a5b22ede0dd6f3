"""The parts of a completion time: they add up, are what the intervals say, and what theory says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts_from_intervals import recomputed
from simulation_cases import (
    first_fit,
    fixed,
    make_system,
    newest_capped,
    query,
    shortest_queue,
    task_graph,
    uniform,
)
from sizes import examples

from nona.simulation.collected import PARTS
from nona.simulation.records import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Stream, System
from nona.topology import Topology

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
MADE = {
    "uniform": lambda: uniform(8),
    "shortest": shortest_queue,
    "first": first_fit,
    "drawn": lambda: first_fit(drawn=True),
    "capped": lambda: newest_capped(2),
}
NETWORKS = ("fifo", "processor-sharing", "several links")


def several_links() -> Topology:
    """Three servers, the third in a rack of its own; every server has a card in and out."""
    return Topology(
        link_names=("core", "out 0", "out 1", "out 2", "in 0", "in 1", "in 2", "up", "down"),
        link_capacity=np.array([2.0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.2, 1.2]),
        core=0,
        out_link=np.array([1, 2, 3]),
        in_link=np.array([4, 5, 6]),
        up_link=np.array([-1, -1, 7]),
        down_link=np.array([-1, -1, 8]),
        rack=np.array([0, 0, 1]),
    )


@st.composite
def systems(draw: st.DrawFn, shared: bool, network: str) -> System:
    """``shared``: several tasks may read one tensor."""
    grid = draw(st.booleans())
    seconds = st.integers(0, 3).map(float) if grid else st.floats(0.1, 2.0)
    n = draw(st.integers(1, 6))
    compute = [[draw(st.integers(1, 3).map(float) if grid else seconds) for _ in range(n)]]
    tensors = []
    for source in range(n - 1):
        for _ in range(draw(st.integers(0, 3))):
            most = 3 if shared else 1
            targets = draw(st.sets(st.integers(source + 1, n - 1), min_size=1, max_size=most))
            tensors.append((source, sorted(targets), draw(seconds)))
    instants = sorted(draw(st.lists(st.integers(0, 30).map(float), min_size=3, max_size=6)))
    trace = Arrivals("trace", times_s=(*instants, 50.0), scale_to_rate=False)
    busy = not grid and draw(st.booleans())
    several = network == "several links"
    return make_system(
        query(task_graph(compute, tensors), 0.15, 0.0 if grid else 0.5, trace if grid else Arrivals()),
        servers=[0, 1, 2, *draw(st.lists(st.integers(0, 2), max_size=2))],
        latency_s=draw(st.sampled_from([0.0, 1.0])),
        capacity=2.0 if several or not grid else 1.0,
        discipline="fifo" if several else network,
        topology=several_links() if several else None,
        background_compute=Stream(0.4, 0.5, 1.0) if busy else Stream(),
        background_network=Stream(0.3, 0.7, 1.0) if busy else Stream(),
        seed=draw(st.integers(0, 1000)),
    )


def run(system: System, made: Any, jobs: int = 8, **options: Any) -> Records:
    return simulate_run(system, *made, RunOptions(jobs=jobs, warmup=0, timeline_jobs=jobs, **options))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", MADE)
def test_parts_add_up_and_equal_those_of_the_intervals(name: str, network: str) -> None:
    picked = name in ("first", "drawn", "capped")

    @examples(15)
    @given(systems(not picked, network), st.booleans())
    def check(system: System, run_on: bool) -> None:
        records = run(system, MADE[name](), run_on=run_on)
        assert not np.isnan(records.completion_s).any()
        assert records.parts_s.min() >= 0
        np.testing.assert_allclose(
            records.parts_s.sum(axis=1), records.completion_time_s, rtol=1e-9, atol=1e-9
        )
        found = recomputed(system, records, picked)
        np.testing.assert_allclose(records.parts_s, found, **CLOSE)

    check()


@given(systems(True, "fifo"))
@examples(20)
def test_parts_of_picked_jobs_add_up_where_tasks_share_a_tensor(system: System) -> None:
    records = run(system, first_fit(drawn=True))
    assert records.parts_s.min() >= 0
    np.testing.assert_allclose(records.parts_s.sum(axis=1), records.completion_time_s, **CLOSE)


CHAIN = task_graph([2.0, 3.0, 4.0], [(0, [1], 6.0), (1, [2], 10.0)])


@pytest.mark.parametrize("network", NETWORKS)
def test_a_job_alone_neither_waits_nor_is_slowed(network: str) -> None:
    several = network == "several links"
    system = make_system(
        query(CHAIN, 1.0, 0.0, Arrivals("trace", times_s=(5.0, 1000.0), scale_to_rate=False)),
        servers=[0, 1, 2],
        capacity=2.0,
        latency_s=0.25,
        discipline="fifo" if several else network,
        topology=several_links() if several else None,
    )
    slow = (1.5, 1.2) if several else (2.0, 2.0)  # the slowest links between 0 and 1, 1 and 2
    for places, transfer in (([0, 1, 2], 6.0 / slow[0] + 10.0 / slow[1] + 0.5), ([0, 0, 0], 0.0)):
        records = run(system, fixed(places), jobs=1)
        assert records.parts_s[0] == pytest.approx([9.0, transfer, 0.0, 0.0, 0.0])


def test_two_jobs_at_once_wait_for_executor_and_link() -> None:
    """By hand: 2 s on the first executor, 6 s on the link, 1 s on the second; the link is last."""
    pair = task_graph([2.0, 1.0], [(0, [1], 6.0)])
    system = make_system(
        query(pair, 1.0, 0.0, Arrivals("trace", times_s=(0.0, 0.0, 1000.0), scale_to_rate=False)),
        servers=[0, 1],
    )
    records = run(system, fixed([0, 1]), jobs=2)
    assert records.parts_s.tolist() == [[3.0, 6.0, 0.0, 0.0, 0.0], [3.0, 6.0, 4.0, 2.0, 0.0]]


def test_one_queue_splits_into_service_and_wait() -> None:
    """M/D/1: compute is the service, the wait is ρ/(2(1−ρ)) of it (Pollaczek–Khinchine)."""
    system = make_system(query(task_graph([1.0]), 0.5))
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=20_000, warmup=2000))
    mean = dict(zip(PARTS, records.tally.mean_parts_s[0].tolist(), strict=True))
    assert mean["compute"] == pytest.approx(1.0)
    assert (mean["transfer"], mean["link_wait"]) == (0.0, 0.0)
    assert mean["server_wait"] == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(("sources", "parts"), [((2, 1), [3.0, 0, 0, 0, 0]), ((1, 2), [2.0, 0, 0, 0, 1.0])])
def test_of_inputs_made_here_at_one_instant_the_first_is_the_cause(
    sources: tuple[int, int], parts: list[float]
) -> None:
    """Task 1 ends at 2 s after waiting for task 0 on its executor, task 2 without waiting."""
    graph = task_graph([1.0, 1.0, 2.0, 1.0], [(s, [3], 1.0) for s in sources])
    system = make_system(
        query(graph, 1.0, 0.0, Arrivals("trace", times_s=(0.0, 1000.0), scale_to_rate=False)), servers=[0, 0]
    )
    assert run(system, fixed([0, 0, 1, 0]), jobs=1).parts_s[0].tolist() == parts
