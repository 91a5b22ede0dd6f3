"""Schedulers that look at queues: least-loaded, least-loaded-d, jsq-d, priority, and those that pick."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import (
    fork_join_chain,
    random_ready,
    random_view,
    ready_rows,
    slides_query,
    system_of,
    two_speeds,
)
from scipy.stats import chi2
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import Decomposition
from nona.errors import PlacementError
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.run import RunOptions, simulate_run
from nona.system import QueryClass, Stream

LEAST = get_scheduler("least-loaded")


def least(system, view, draw=0.5):
    prepared = LEAST.prepare(system, None, {})
    out = np.full(5, -1, dtype=np.int64)
    LEAST.decide(0.0, 0, view, prepared.tables, np.array([draw]), out)
    assert len(set(out.tolist())) == 1
    return int(out[0])


@examples(60)
@given(seed=st.integers(0, 10_000), draw=st.floats(0, 0.999))
def test_nobody_else_would_be_done_earlier(seed, draw):
    system = two_speeds()
    view = random_view(system, np.random.default_rng(seed))
    own_s = system.queries[0].tasks.compute_s.sum(axis=1)[system.executor_class]
    done_s = view.backlog_s + own_s
    assert done_s[least(system, view, draw)] == done_s.min()


def test_ties_go_to_the_shortest_queue_and_are_drawn_evenly():
    system = system_of([fork_join_chain("a", [3], 1)], range(6))
    view = random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.array([1, 0, 0, 2, 0, 0.0]), queue_length=np.array([0, 1, 0, 0, 0, 1]))
    drawn = [least(system, view, (i + 0.5) / 100) for i in range(100)]
    assert np.bincount(drawn, minlength=6).tolist() == [0, 0, 50, 0, 50, 0]


def test_executors_without_room_for_the_model_are_left_out():
    system = two_speeds(slow_memory=1e6)
    view = random_view(system, np.random.default_rng(0))._replace(backlog_s=np.array([5.0, 0, 0, 6.0]))
    assert least(system, view) == 0
    with pytest.raises(PlacementError, match="must fit one executor"):
        LEAST.prepare(replace(system, class_memory_bytes=np.array([1e6, 1e6])), None, {})


def test_on_one_executor_it_is_the_queue_of_theory():
    """With one executor and no background: M/G/1, here M/D/1."""
    query = fork_join_chain("a", [2], 1, rate=20.0)
    system = replace(system_of([query], [0]), background_compute=Stream(), background_network=Stream())
    own_s = float(query.tasks.compute_s.sum())
    wait_s = 20.0 * own_s**2 / (2 * (1 - 20.0 * own_s))  # Pollaczek and Khinchine
    runs = [
        simulate_run(system, LEAST, LEAST.prepare(system, None, {}), RunOptions(jobs=8000, replication=r))
        for r in range(6)
    ]
    means = np.array([r.completion_time_s.mean() for r in runs])
    assert means.mean() == pytest.approx(own_s + wait_s, abs=4 * means.std(ddof=1) / np.sqrt(6))


DRAWN, JSQ = get_scheduler("least-loaded-d"), get_scheduler("jsq-d")
CLASSES = (0, 1, 1, 0, 1, 0)


def best_drawn(system, view, u, d):
    prepared = DRAWN.prepare(system, None, {"d": d})
    assert prepared.uniforms_per_job == d
    out = np.full(5, -1, dtype=np.int64)
    DRAWN.decide(0.0, 0, view, prepared.tables, u, out)
    assert len(set(out.tolist())) == 1
    return int(out[0])


@examples(80)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_the_best_of_those_drawn(seed, d):
    system = two_speeds(CLASSES)
    rng = np.random.default_rng(seed)
    view, u = random_view(system, rng), rng.random(d)
    own_s = system.queries[0].tasks.compute_s.sum(axis=1)[system.executor_class]
    done_s = view.backlog_s + own_s
    drawn = [int(x * 6) for x in u]
    assert best_drawn(system, view, u, d) == min(drawn, key=lambda e: done_s[e])


def test_equals_go_to_the_shorter_queue_and_then_to_the_first_drawn():
    system = system_of([fork_join_chain("a", [3], 1)], range(4))
    view = random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.zeros(4), queue_length=np.array([2, 1, 1, 3]))
    assert best_drawn(system, view, np.array([0.1, 0.4]), 2) == 1
    assert best_drawn(system, view, np.array([0.6, 0.3, 0.0]), 3) == 2


def test_only_executors_with_room_for_the_model_are_drawn():
    system = two_speeds(CLASSES, slow_memory=1e6)
    view = random_view(system, np.random.default_rng(0))
    drawn = {best_drawn(system, view, np.array([(i + 0.5) / 60]), 1) for i in range(60)}
    assert drawn == {0, 3, 5}


def test_with_equal_services_it_is_the_shortest_of_the_queues_drawn():
    """The least backlog is the shortest queue then; ``jsq-d`` gets the same draws."""
    query = QueryClass("one", TaskGraph.from_edges("one", [1.0], []), Decomposition((0,), ()), 24.0)
    system = replace(system_of([query], range(30)), background_compute=Stream(), background_network=Stream())
    runs = []
    for name in ("least-loaded-d", "jsq-d"):
        scheduler = get_scheduler(name)
        prepared = scheduler.prepare(system, None, {"d": 2})
        runs.append(simulate_run(system, scheduler, prepared, RunOptions(jobs=4000, warmup=500)))
    assert runs[0].completion_s.tobytes() == runs[1].completion_s.tobytes()
    chance = get_scheduler("random")
    drawn = simulate_run(system, chance, chance.prepare(system, None, {}), RunOptions(jobs=4000, warmup=500))
    assert runs[0].completion_time_s.mean() < 0.8 * drawn.completion_time_s.mean()


SIX = system_of([fork_join_chain("a", [3], 1), fork_join_chain("one", [])], range(6))


def joined(query, view, u, options):
    prepared = JSQ.prepare(SIX, None, options)
    out = np.full(5, -1, dtype=np.int64)
    JSQ.decide(0.0, query, view, prepared.tables, u, out)
    return out[: len(SIX.queries[query].tasks)].tolist()


@examples(80)
@given(d=st.integers(1, 5), query=st.integers(0, 1), seed=st.integers(0, 10_000))
def test_each_task_joins_the_first_of_the_shortest_queues_drawn(d, query, seed):
    rng = np.random.default_rng(seed)
    view, u = random_view(SIX, rng, 3), rng.random(5 * d)
    length = view.queue_length.astype(int).tolist()
    before = view.queue_length.copy()
    expected = []
    for i in range(len(SIX.queries[query].tasks)):
        drawn = [int(x * 6) for x in u[i * d : (i + 1) * d]]
        expected.append(min(drawn, key=lambda e: length[e]))
        length[expected[-1]] += 1
    assert joined(query, view, u, {"d": d}) == expected
    assert (view.queue_length == before).all()


def test_two_draws_unless_told_and_one_draw_is_random():
    view, u = random_view(SIX, np.random.default_rng(0)), np.random.default_rng(1).random(10)
    assert joined(0, view, u, {}) == joined(0, view, u, {"d": 2})
    assert JSQ.prepare(SIX, None, {}).uniforms_per_job == 10
    chance = get_scheduler("random")
    out = np.zeros(5, dtype=np.int64)
    chance.decide(0.0, 0, view, chance.prepare(SIX, None, {}).tables, u, out)
    assert joined(0, view, u, {"d": 1}) == out.tolist()


PRIORITY = get_scheduler("priority")
FOUR = system_of([fork_join_chain(n, [2], i) for i, n in enumerate("abcd")], range(5))


def ranks(options):
    return PRIORITY.prepare(FOUR, None, options).tables.rank.tolist()


def test_the_order_is_that_of_the_workload_or_as_listed():
    assert ranks({}) == [0, 1, 2, 3]
    assert ranks({"order": []}) == [0, 1, 2, 3]
    assert ranks({"order": ["d", "b"]}) == [2, 1, 3, 0]
    assert ranks({"order": ("d", "c", "b", "a")}) == [3, 2, 1, 0]


@examples(80)
@given(order=st.permutations(list("abcd")), seed=st.integers(0, 10_000))
def test_the_most_urgent_class_then_the_oldest_job_then_the_first_to_be_ready(order, seed):
    rng = np.random.default_rng(seed)
    prepared = PRIORITY.prepare(FOUR, None, {"order": order})
    view, ready = random_view(FOUR, rng, 2), random_ready(FOUR, rng)
    out = np.full(2, -1, dtype=np.int64)
    u = rng.random(1)
    said = PRIORITY.decide(0.0, view, ready, prepared.tables, u, out)
    free = np.flatnonzero(view.queue_length == 0)
    assert said == bool(ready.n and len(free))
    if said:
        urgency = [
            (order.index("abcd"[q]), j, i)
            for i, (q, j) in enumerate(zip(ready.query, ready.job, strict=True))
        ]
        assert out[0] == min(urgency)[2]
        home = ready.home[out[0]]
        assert out[1] == (home if home in free else free[int(u[0] * len(free))])


def test_urgency_pays_in_a_run():
    """Two classes alike, in either order: the urgent one is quicker, and by order alone."""
    base = replace(FOUR, background_compute=Stream(), background_network=Stream(), capacity=1e12)
    alike = [replace(fork_join_chain("x", [2], 1, rate=130.0), name=n) for n in "ab"]
    system = replace(base, queries=tuple(alike))
    for order in ("ab", "ba"):
        prepared = PRIORITY.prepare(system, None, {"order": list(order)})
        run = simulate_run(system, PRIORITY, prepared, RunOptions(jobs=4000, warmup=500))
        jct = run.completion_s - run.arrival_s
        urgent, other = (jct[run.query == "ab".index(n)].mean() for n in order)
        assert urgent < 0.9 * other


SYSTEM = system_of([slides_query()], range(5))
PICKERS = [n for n in scheduler_names() if get_scheduler(n).kind == "pick"]


def ready_list(rows, open_jobs):
    """Rows of (job, executors held, home)."""
    columns = dict(zip(("job", "job_running", "home"), zip(*rows, strict=True), strict=False))
    return ready_rows(len(rows), open_jobs, **columns, places=[-1] * 4)


def pick(name, queue_length, rows, open_jobs, u=0.0):
    scheduler = get_scheduler(name)
    prepared = scheduler.prepare(SYSTEM, None, {"d": 5} if name == "sparrow" else {})  # it looks at all five
    view = random_view(SYSTEM, np.random.default_rng(0))._replace(queue_length=np.array(queue_length))
    out = np.full(2, -1, dtype=np.int64)
    said = scheduler.decide(0.0, view, ready_list(rows, open_jobs), prepared.tables, np.array([u]), out)
    return tuple(out.tolist()) if said else None


@pytest.mark.parametrize("name", PICKERS)
def test_nothing_ready_or_nothing_free_leaves_all_as_it_is(name):
    assert pick(name, [0] * 5, [], 0) is None
    assert pick(name, [1] * 5, [(0, 0, -1)], 1) is None
    assert pick(name, [1, 1, 1, 0, 2], [(0, 0, -1)], 1) == (0, 3)


@pytest.mark.parametrize("name", [n for n in PICKERS if n != "sparrow"])  # its probes have an order
def test_free_executors_are_drawn_uniformly(name):
    rng = np.random.default_rng(1)
    counts = np.zeros(5)
    for _ in range(3000):
        counts[pick(name, [0, 3, 0, 0, 1], [(0, 0, -1)], 1, rng.random())[1]] += 1
    assert counts[[1, 4]].sum() == 0
    among = counts[[0, 2, 3]]
    assert ((among - 1000) ** 2 / 1000).sum() < chi2.ppf(0.999, 2)


def test_opportunistic_serves_in_order_of_readiness():
    assert pick("opportunistic", [0, 0, 0, 0, 0], [(7, 4, 2), (1, 0, 3)], 2, 0.999) == (0, 4)


def test_spark_fifo_serves_the_oldest_job_and_prefers_its_executor():
    rows = [(7, 0, 0), (2, 0, 3), (2, 0, 1)]
    assert pick("spark-fifo", [0] * 5, rows, 3) == (1, 3)
    assert pick("spark-fifo", [0, 0, 0, 1, 1], rows, 3, 0.999) == (1, 2)


def test_spark_fair_serves_the_freed_executors_own_job_first():
    rows = [(1, 0, -1), (5, 9, 2)]
    assert pick("spark-fair", [1, 1, 0, 1, 1], rows, 2) == (1, 2)


def test_spark_fair_caps_jobs_at_their_share():
    # five executors: two open jobs may hold ⌈5/2⌉ = 3, five may hold 1, nine may hold 1
    rows = [(1, 3, -1), (4, 2, -1)]
    assert pick("spark-fair", [0] * 5, rows, 2)[0] == 1
    assert pick("spark-fair", [0] * 5, [(1, 2, -1), (4, 0, -1)], 2)[0] == 0
    assert pick("spark-fair", [0] * 5, [(1, 1, -1), (4, 0, -1)], 5)[0] == 1
    assert pick("spark-fair", [0] * 5, [(1, 1, -1), (4, 1, -1)], 9) is None


def test_spark_fair_never_goes_beyond_the_cap_except_for_a_freed_executor():
    scheduler = get_scheduler("spark-fair")
    prepared = scheduler.prepare(SYSTEM, None, {})
    rng = np.random.default_rng(6)
    capped = 0
    for _ in range(500):
        view, ready = random_view(SYSTEM, rng, 2), random_ready(SYSTEM, rng)
        out = np.zeros(2, dtype=np.int64)
        if scheduler.decide(0.0, view, ready, prepared.tables, rng.random(1), out):
            i, e = out
            cap = -(-SYSTEM.executors // max(ready.open_jobs, 1))
            assert ready.home[i] == e or ready.job_running[i] < cap
        elif ready.n and (view.queue_length == 0).any():
            capped += 1
    assert capped > 0
