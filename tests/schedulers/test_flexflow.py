"""The scheduler ``flexflow``: its cost is the simulator's, its search finds what trying all finds."""

from dataclasses import replace

import numpy as np
import pytest
from scheduler_cases import slides_query, system_of

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import decompose
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.flexflow import Walk, alone, best_placement, searched
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, QueryClass, Stream
from nona.topology import make_topology

FLEX = get_scheduler("flexflow")
EVERY_MINUTE = Arrivals(process="deterministic")


def drawn_query(tasks, seed):
    """A random DAG with times of 1 to 9 ms and messages of 0 to 6 ms at 1 GB/s, some of them shared."""
    rng = np.random.default_rng(seed)
    edges = [
        (i, j, float(rng.integers(0, 7)) * 1e6) for j in range(tasks) for i in range(j) if rng.random() < 0.4
    ]
    graph = TaskGraph.from_edges(f"drawn{seed}", (rng.integers(1, 10, tasks) * 1e-3).tolist(), edges)
    return QueryClass(graph.name, graph, decompose(graph.dag), 1 / 60, arrivals=EVERY_MINUTE)


def quiet(query, servers, **changes):
    system = system_of([query], servers)
    return replace(
        system, background_compute=Stream(), background_network=Stream(), latency_s=1e-4, **changes
    )


def partitions(n):
    """Every partition of n tasks, each part numbered by its first task."""

    def grow(labels, parts):
        if len(labels) == n:
            yield labels
            return
        for part in range(parts + 1):
            yield from grow((*labels, part), max(parts, part + 1))

    yield from grow((), 0)


def jct_s(system, places):
    """Of one query alone in the simulator, its tasks bound to ``places``."""

    def decide(now, query, view, tables, u, out):
        out[:] = places

    fixed = Scheduler("fixed", "bind", NetworkView.N0, "", "", "", decide, lambda *_: Prepared((), 1))
    run = simulate_run(system, fixed, Prepared((), 1), RunOptions(jobs=3, warmup=1, engine="simpy"))
    return float(run.completion_time_s[-1])


@pytest.mark.parametrize("servers", [(0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2)])
@pytest.mark.parametrize("cards", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_placement_is_what_the_simulator_says(servers, cards, seed):
    query = drawn_query(6, seed)
    count = max(servers) + 1
    topology = make_topology(count, 1e9, nic=5e8) if cards else None
    system = quiet(query, servers, topology=topology)
    cost = alone(system, query, 0, servers)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        places = tuple(rng.integers(0, 6, 6).tolist())
        expected = jct_s(system, places)
        if cards:  # messages that meet at several links may be served in another order
            assert cost.completion_s(places) == pytest.approx(expected, rel=0.25)
        else:
            assert cost.completion_s(places) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("tasks", "seed"), [(2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (7, 5), (7, 6), (8, 7)])
def test_the_search_equals_trying_every_placement(tasks, seed):
    query = drawn_query(tasks, seed)
    system = quiet(query, tuple(range(tasks)))
    cost = alone(system, query, 0, range(tasks))
    least_s = min(cost.completion_s(places) for places in partitions(tasks))
    found = searched(system, query, 0, Walk(12_000, 0.05))
    assert cost.completion_s(found) == pytest.approx(least_s, rel=1e-12)


def test_a_walk_that_never_accepts_what_is_slower_is_stuck_where_this_one_is_not():
    # the first step of the way that pays is slower: only both moves together are faster
    times = {(0, 0): 10.0, (1, 0): 11.0, (0, 1): 11.0, (1, 1): 5.0}
    found = [
        best_placement(lambda p: times[tuple(p)], 2, 2, Walk(300, alpha), np.random.default_rng(1))
        for alpha in (1000.0, 0.05)
    ]
    assert found == [(0, 0), (1, 1)]


def test_no_placement_is_worse_than_one_executor_and_equal_seeds_agree():
    for seed in range(6):
        query = drawn_query(7, seed)
        system = quiet(query, (0, 0, 1, 2, 2))
        cost = alone(system, query, 0, system.executor_server.tolist())
        found = searched(system, query, 0, Walk(200, 0.05))
        assert cost.completion_s(found) <= cost.completion_s((0,) * 7)
        assert found == searched(system, query, 0, Walk(200, 0.05))


def test_the_placement_starts_at_every_executor_alike_and_keeps_its_shape():
    query = drawn_query(6, 3)
    system = quiet(query, (0, 0, 1, 1, 2, 2, 3, 3))
    tables = FLEX.prepare(system, None, {}).tables._replace(place=np.array([0, 1, 2, 0, 3, 4]))
    firsts = []
    for i in range(80):
        out = np.full(6, -1, dtype=np.int64)
        view = type("V", (), {"executor_class": system.executor_class})
        FLEX.decide(0.0, 0, view, tables, np.array([(i + 0.5) / 80]), out)
        servers = system.executor_server[out]
        firsts.append(int(out[0]))
        assert ((servers - servers[0]) % 4).tolist() == [0, 0, 1, 0, 1, 2]
        assert out[0] == out[3]
        assert len(set(out.tolist())) == 5
    assert np.bincount(firsts).tolist() == [10] * 8


def test_models_of_one_task_use_every_executor_of_a_server():
    query = drawn_query(1, 0)
    system = quiet(replace(query, rate=6 / float(query.tasks.compute_s.sum())), (0,) * 8)
    system = replace(system, queries=(replace(system.queries[0], arrivals=Arrivals()),))
    run = simulate_run(system, FLEX, FLEX.prepare(system, None, {}), RunOptions(jobs=600, warmup=50))
    assert (run.executor_busy_s > 0).all()


def test_only_executors_with_room_are_used():
    query = replace(slides_query(), weight_bytes=2e6)
    times = np.vstack([query.tasks.compute_s, 3 * query.tasks.compute_s])
    query = replace(query, tasks=replace(query.tasks, compute_s=times))
    system = replace(
        quiet(query, (0, 1, 2, 3)),
        executor_class=np.array([0, 1, 0, 1]),
        class_names=("large", "small"),
        class_memory_bytes=np.array([1e9, 1e6]),
    )
    prepared = FLEX.prepare(system, None, {})
    run = simulate_run(system, FLEX, prepared, RunOptions(jobs=30, warmup=2, timeline_jobs=30))
    assert {task.executor for task in run.timeline.tasks} == {0, 2}
