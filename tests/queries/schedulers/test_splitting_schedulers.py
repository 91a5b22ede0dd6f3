"""FlexFlow and nona-live: a query whole or split, against trying all, the simulator and least-loaded."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import bound, fork_join_chain, quiet, random_placement, run_of, slides_query, system_of
from sizes import examples

from nona.cluster.topology import make_topology
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import decompose
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables
from nona.queries.schedulers.flexflow import RandomWalk, best_placement, isolated_query, searched
from nona.queries.schedulers.nona_live import (
    find_slots,
    grown,
    idle_view,
    make_slots,
    make_walk,
    split_cost_s,
)
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import BackgroundStream, QueryClass
from nona.scenario.arrivals import Arrivals

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


def lone(query, servers, **changes):
    return replace(quiet(system_of([query], servers)), latency_s=1e-4, **changes)


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

    fixed = Scheduler(
        name="fixed",
        kind="bind",
        network_view=NetworkView.N0,
        decide=decide,
        build=lambda *_: SchedulerTables((), 1),
        **dict.fromkeys(("summary", "source", "adaptation"), ""),
    )
    run = simulate_run(system, fixed, SchedulerTables((), 1), RunOptions(jobs=3, warmup=1, engine="simpy"))
    return float(run.completion_time_s[-1])


@pytest.mark.parametrize("servers", [(0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2)])
@pytest.mark.parametrize("cards", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_placement_is_what_the_simulator_says(servers, cards, seed):
    query, rng = drawn_query(6, seed), np.random.default_rng(seed)
    topology = make_topology(max(servers) + 1, 1e9, nic=5e8) if cards else None
    system = lone(query, servers, topology=topology)
    cost = isolated_query(system, query, 0, servers)
    close = 0.25 if cards else 1e-9  # messages that meet at several links may be served in another order
    for _ in range(6):
        places = tuple(rng.integers(0, 6, 6).tolist())
        assert cost.completion_s(places) == pytest.approx(jct_s(system, places), rel=close)


@pytest.mark.parametrize(("tasks", "seed"), [(2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (7, 5), (7, 6), (8, 7)])
def test_the_search_equals_trying_every_placement(tasks, seed):
    query = drawn_query(tasks, seed)
    system = lone(query, tuple(range(tasks)))
    cost = isolated_query(system, query, 0, range(tasks))
    least_s = min(cost.completion_s(places) for places in partitions(tasks))
    found = searched(system, query, 0, RandomWalk(12_000, 0.05))
    assert cost.completion_s(found) == pytest.approx(least_s, rel=1e-12)


def test_a_walk_that_never_accepts_what_is_slower_is_stuck_where_this_one_is_not():
    # the first step of the way that pays is slower: only both moves together are faster
    times = {(0, 0): 10.0, (1, 0): 11.0, (0, 1): 11.0, (1, 1): 5.0}
    found = [
        best_placement(lambda p: times[tuple(p)], 2, 2, RandomWalk(300, alpha), np.random.default_rng(1))
        for alpha in (1000.0, 0.05)
    ]
    assert found == [(0, 0), (1, 1)]


def test_no_placement_is_worse_than_one_executor_and_equal_seeds_agree():
    for seed in range(6):
        query = drawn_query(7, seed)
        system = lone(query, (0, 0, 1, 2, 2))
        cost = isolated_query(system, query, 0, system.executor_server.tolist())
        found = searched(system, query, 0, RandomWalk(200, 0.05))
        assert cost.completion_s(found) <= cost.completion_s((0,) * 7)
        assert found == searched(system, query, 0, RandomWalk(200, 0.05))


def test_the_placement_starts_at_every_executor_alike_and_keeps_its_shape():
    query = drawn_query(6, 3)
    system = lone(query, (0, 0, 1, 1, 2, 2, 3, 3))
    tables = FLEX.prepare(system, None, {}).tables._replace(place=np.array([0, 1, 2, 0, 3, 4]))
    firsts = []
    for i in range(80):
        out = bound(FLEX, system, tables, idle_view(system), [(i + 0.5) / 80])
        servers = system.executor_server[out]
        firsts.append(int(out[0]))
        assert ((servers - servers[0]) % 4).tolist() == [0, 0, 1, 0, 1, 2]
        assert out[0] == out[3]
        assert len(set(out.tolist())) == 5
    assert np.bincount(firsts).tolist() == [10] * 8


def test_models_of_one_task_use_every_executor_of_a_server():
    query = drawn_query(1, 0)
    system = lone(replace(query, rate=6 / float(query.tasks.compute_s.sum())), (0,) * 8)
    system = replace(system, queries=(replace(system.queries[0], arrivals=Arrivals()),))
    run = run_of(system, "flexflow", jobs=600, warmup=50)
    assert (run.executor_busy_s > 0).all()


LIVE = get_scheduler("nona-live")


def decided(system, view, placement, options=None, query=0, u=(0.5, 0.0)):
    tables = LIVE.prepare(system, placement, options or {}).tables
    return bound(LIVE, system, tables, view, u, query).tolist()


@pytest.mark.parametrize("placed", [local_placement, spread_placement])
def test_the_estimate_of_a_job_that_is_alone_is_its_time(placed):
    system = quiet(system_of([replace(slides_query(), rate=1e-9)], range(3)))
    t = LIVE.prepare(system, placed(system), {}).tables
    s, w = make_slots(t.most_slots), make_walk(t)
    job = find_slots(0, idle_view(system), t, s, 0.0)
    assert split_cost_s(job, w, s, t) == pytest.approx(14e-3)


def test_a_long_queue_at_the_link_keeps_the_query_whole_unless_the_link_is_not_read():
    system = quiet(system_of([slides_query()], range(3)))
    plan, full = local_placement(system), idle_view(system)._replace(link_queue_bytes=1e8)  # 100 ms
    assert len(set(decided(system, full, plan))) == 1
    assert len(set(decided(system, full, plan, {"link": "none"}))) == 2


def test_busy_executors_keep_the_query_whole_on_the_least_loaded():
    system = quiet(system_of([slides_query()], range(3)))
    view = idle_view(system)._replace(backlog_s=np.array([0.5, 0.0, 0.7]), queue_length=np.array([1, 0, 1]))
    assert decided(system, view, spread_placement(system)) == [1, 1, 1, 1]


def test_executors_of_one_server_need_no_link():
    """Two executors on the first server: both interior tasks run side by side, 2 + 10 + 2 ms."""
    system = replace(quiet(system_of([slides_query()], (0, 0))), capacity=1.0)
    out = decided(system, idle_view(system), local_placement(system))
    assert out[1] != out[2]


def test_a_quota_bounds_what_is_sent_where_the_link_is_not_read():
    query = replace(slides_query(), rate=5000.0)
    system = quiet(system_of([query], range(200)))
    plan = local_placement(system)
    share = LIVE.prepare(system, plan, {"link": "none"}).tables.quota[0]
    assert share * 5000 * 2e6 == pytest.approx(0.8 * system.capacity)  # 1 MB there and 1 MB back
    assert len(set(decided(system, idle_view(system), plan, {"link": "none"}, u=(0.5, share + 1e-6)))) == 1
    assert len(set(decided(system, idle_view(system), plan, {"link": "none"}, u=(0.5, share - 1e-6)))) == 2


def test_several_links_count_as_the_slowest_on_the_way():
    system = quiet(system_of([slides_query()], range(4)))
    racks = make_topology(4, 1e9, nic=1e9, rack_size=2, uplink=1e5)
    system = replace(system, topology=racks)
    out = decided(system, idle_view(system), local_placement(system), u=(0.0, 0.0))
    assert out == [0, 0, 1, 0]  # the neighbour in the rack


@given(work=st.floats(0, 1e3, allow_subnormal=False), wait=st.floats(0, 1e3, allow_subnormal=False))
def test_newcomers_make_wait_neither_more_than_their_work_nor_than_the_limit(work, wait):
    assert 0 <= grown(work, wait) <= min(work, wait) * (1 + 1e-12) + 1e-300  # below that numbers lose digits


@st.composite
def small_systems(draw):
    """One or two forks and joins on 3 to 8 executors, 20 to 80 % busy, links from idle to nearly full."""
    seed = draw(st.integers(0, 1000))
    shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3)
    queries = [
        fork_join_chain(n, draw(shapes), seed + i) for i, n in enumerate("ab"[: draw(st.integers(1, 2))])
    ]
    servers = draw(st.lists(st.integers(0, 5), min_size=3, max_size=8))
    numbers = {s: i for i, s in enumerate(sorted(set(servers)))}
    system = system_of(queries, [numbers[s] for s in servers], seed)
    used, capacity = draw(st.sampled_from([0.0, 0.3, 0.6, 0.85])), draw(st.sampled_from([1e8, 1e9, 1e10]))
    load = draw(st.sampled_from([0.2, 0.5, 0.8]))
    work_s = sum(float(q.tasks.compute_s.sum()) for q in queries)
    rate = (load - 0.05) * system.executors / work_s
    return replace(
        system,
        capacity=capacity,
        background_network=BackgroundStream(used * capacity / 1e6, 1e6, 1.0),
        queries=tuple(replace(q, rate=rate) for q in queries),
    )


@pytest.mark.verify
@examples(12)
@given(system=small_systems(), plan=st.sampled_from(["local", "random"]))
def test_it_is_not_slower_than_least_loaded(system, plan):
    placement = local_placement(system) if plan == "local" else random_placement(system, 3)
    live, least = (
        np.array([run_of(system, *of, jobs=1500, replication=r).completion_time_s.mean() for r in range(5)])
        for of in (("nona-live", placement), ("least-loaded",))
    )
    excess = live - least
    half = 2.78 * excess.std(ddof=1) / math.sqrt(len(excess))  # 95 % of Student's t, 4 degrees of freedom
    assert excess.mean() <= half + 0.01 * least.mean()
