"""The worked example of the Nona slides: one job alone, with contention on the link."""

from __future__ import annotations

import pytest
from simulation_cases import fixed, make_system, query, task_graph

from nona.simulation.records import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals

MS = 1e-3
GRAPH = task_graph(
    [2 * MS, 10 * MS, 8 * MS, 2 * MS],
    [(0, [1], 9 * MS), (0, [2], 1 * MS), (1, [3], 9 * MS), (2, [3], 1 * MS)],
)


def run(places: list[int], discipline: str = "fifo", latency_s: float = 0.0) -> Records:
    system = make_system(query(GRAPH, 1e-6), servers=[0, 1, 2, 3], discipline=discipline, latency_s=latency_s)
    return simulate_run(system, *fixed(places), RunOptions(jobs=1, warmup=0, timeline_jobs=1))


@pytest.mark.parametrize(
    ("places", "expected_ms"),
    [([0, 0, 0, 0], 22), ([0, 1, 2, 0], 32), ([0, 0, 1, 0], 14)],
    ids=["local", "spread", "network-aware"],
)
def test_times_of_the_slides(places: list[int], expected_ms: float) -> None:
    assert run(places).completion_time_s == pytest.approx([expected_ms * MS], abs=1e-9)


def test_shared_link_by_hand() -> None:
    """1→2 and 1→3 share: 1→3 is there at 4, 1→2 at 12; 3→4 ends at 13, 2→4 has the link from 22 to 31."""
    assert run([0, 1, 2, 0], "processor-sharing").completion_time_s == pytest.approx([33 * MS], abs=1e-9)


def test_latency_comes_after_service_and_does_not_hold_the_link() -> None:
    """Both messages leave one after the other as before; each is 5 ms later: 12 + … on both hops."""
    records = run([0, 1, 2, 0], latency_s=5 * MS)
    assert records.completion_time_s == pytest.approx([42 * MS], abs=1e-9)
    assert records.timeline is not None
    first, second = records.timeline.messages[:2]
    assert second.start_s == first.end_s
    assert first.delivered_s == pytest.approx(first.end_s + 5 * MS)


def test_timeline_holds_every_interval() -> None:
    timeline = run([0, 1, 2, 0]).timeline
    assert timeline is not None
    begin = timeline.tasks[0].ready_s
    spans = {
        t.task: (round((t.start_s - begin) / MS, 6), round((t.end_s - begin) / MS, 6)) for t in timeline.tasks
    }
    assert spans == {0: (0, 2), 1: (11, 21), 2: (12, 20), 3: (30, 32)}
    assert [(m.source, m.destination) for m in timeline.messages] == [(0, 1), (0, 2), (2, 0), (1, 0)]


def test_another_executor_of_the_same_server_needs_no_message() -> None:
    system = make_system(query(GRAPH, 1e-6), servers=[0, 0, 0])
    records = simulate_run(system, *fixed([0, 1, 2, 0]), RunOptions(jobs=1, warmup=0, timeline_jobs=1))
    assert records.completion_time_s == pytest.approx([14 * MS], abs=1e-9)
    assert records.timeline is not None
    assert records.timeline.messages == ()


def test_one_tensor_goes_once_to_a_server() -> None:
    graph = task_graph([1.0, 1.0, 1.0, 1.0], [(0, [1, 2, 3], 5.0)])
    system = make_system(query(graph, 1e-6), servers=[0, 1, 1, 2])
    records = simulate_run(system, *fixed([0, 1, 2, 3]), RunOptions(jobs=1, warmup=0, timeline_jobs=1))
    assert records.timeline is not None
    assert [m.destination for m in records.timeline.messages] == [1, 2]
    assert records.completion_time_s == pytest.approx([1 + 5 + 5 + 1])


@pytest.mark.parametrize(("run_on", "expected"), [(True, [6.0, 7.0]), (False, [7.0, 4.0])])
def test_run_on(run_on: bool, expected: list[float]) -> None:
    """A chain of 3 + 3 s meets a task of 1 s: with run-on that task waits for the whole chain."""
    once = Arrivals("trace", times_s=(0.0, 1e6), scale_to_rate=False)
    chain = query(task_graph([3.0, 3.0], [(0, [1], 1.0)]), arrivals=once, name="chain")
    single = query(task_graph([1.0]), arrivals=once, name="single")
    options = RunOptions(jobs=2, warmup=0, run_on=run_on)
    records = simulate_run(make_system(chain, single), *fixed([0, 0]), options)
    assert records.completion_s == pytest.approx(expected)
