"""Schedulers that look at queues: least-loaded, least-loaded-d, jsq-d, priority, and those that pick."""

from dataclasses import replace

import numpy as np
import pytest
import scheduler_cases as cases
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from sizes import examples, first

from nona.core.errors import PlacementError
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.system import QueryClass

LEAST = get_scheduler("least-loaded")


def least(system, view, draw=0.5):
    out = cases.bound(LEAST, system, LEAST.prepare(system, None, {}).tables, view, [draw])
    assert len(set(out.tolist())) == 1
    return int(out[0])


@examples(60)
@given(seed=st.integers(0, 10_000), draw=st.floats(0, 0.999))
def test_nobody_else_would_be_done_earlier(seed, draw):
    system = cases.two_speeds()
    view = cases.random_view(system, np.random.default_rng(seed))
    own_s = system.queries[0].tasks.compute_s.sum(axis=1)[system.executor_class]
    done_s = view.backlog_s + own_s
    assert done_s[least(system, view, draw)] == done_s.min()


def test_ties_go_to_the_shortest_queue_and_are_drawn_evenly():
    system = cases.system_of([cases.fork_join_chain("a", [3], 1)], range(6))
    view = cases.random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.array([1, 0, 0, 2, 0, 0.0]), queue_length=np.array([0, 1, 0, 0, 0, 1]))
    drawn = [least(system, view, (i + 0.5) / 100) for i in range(100)]
    assert np.bincount(drawn, minlength=6).tolist() == [0, 0, 50, 0, 50, 0]


def test_a_model_that_fits_nowhere_is_refused():
    system = cases.two_speeds(slow_memory=1e6)
    with pytest.raises(PlacementError, match="must fit one executor"):
        LEAST.prepare(replace(system, class_memory_bytes=np.array([1e6, 1e6])), None, {})


def test_on_one_executor_it_is_the_queue_of_theory():
    """M/G/1, here M/D/1."""
    query = cases.fork_join_chain("a", [2], 1, rate=20.0)
    own_s = float(query.tasks.compute_s.sum())
    wait_s = 20.0 * own_s**2 / (2 * (1 - 20.0 * own_s))  # Pollaczek and Khinchine
    system = cases.quiet(cases.system_of([query], [0]))
    runs = [cases.run_of(system, "least-loaded", jobs=8000, replication=r) for r in range(6)]
    means = np.array([r.completion_time_s.mean() for r in runs])
    assert means.mean() == pytest.approx(own_s + wait_s, abs=4 * means.std(ddof=1) / np.sqrt(6))


DRAWN, JSQ = get_scheduler("least-loaded-d"), get_scheduler("jsq-d")
CLASSES = (0, 1, 1, 0, 1, 0)


def best_drawn(system, view, u, d):
    prepared = DRAWN.prepare(system, None, {"d": d})
    assert prepared.uniforms_per_job == d
    out = cases.bound(DRAWN, system, prepared.tables, view, u)
    assert len(set(out.tolist())) == 1
    return int(out[0])


@examples(80)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 6))
def test_the_best_of_those_drawn(seed, d):
    system = cases.two_speeds(CLASSES)
    rng = np.random.default_rng(seed)
    view, u = cases.random_view(system, rng), rng.random(d)
    own_s = system.queries[0].tasks.compute_s.sum(axis=1)[system.executor_class]
    done_s = view.backlog_s + own_s
    drawn = [int(x * 6) for x in u]
    assert best_drawn(system, view, u, d) == min(drawn, key=lambda e: done_s[e])


def test_equals_go_to_the_shorter_queue_and_then_to_the_first_drawn():
    system = cases.system_of([cases.fork_join_chain("a", [3], 1)], range(4))
    view = cases.random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.zeros(4), queue_length=np.array([2, 1, 1, 3]))
    assert best_drawn(system, view, np.array([0.1, 0.4]), 2) == 1
    assert best_drawn(system, view, np.array([0.6, 0.3, 0.0]), 3) == 2


def test_with_equal_services_it_is_the_shortest_of_the_queues_drawn():
    """The least backlog is the shortest queue then; ``jsq-d`` gets the same draws."""
    query = QueryClass("one", TaskGraph.from_edges("one", [1.0], []), Decomposition((0,), ()), 24.0)
    system, size = cases.quiet(cases.system_of([query], range(30))), {"jobs": 4000, "warmup": 500}
    least, shortest = (cases.run_of(system, n, options={"d": 2}, **size) for n in ("least-loaded-d", "jsq-d"))
    assert least.completion_s.tobytes() == shortest.completion_s.tobytes()
    assert (
        least.completion_time_s.mean() < 0.8 * cases.run_of(system, "random", **size).completion_time_s.mean()
    )


SIX = cases.system_of([cases.fork_join_chain("a", [3], 1), cases.fork_join_chain("one", [])], range(6))


def joined(query, view, u, options):
    return cases.bound(JSQ, SIX, JSQ.prepare(SIX, None, options).tables, view, u, query).tolist()


@examples(80)
@given(d=st.integers(1, 5), query=st.integers(0, 1), seed=st.integers(0, 10_000))
def test_each_task_joins_the_first_of_the_shortest_queues_drawn(d, query, seed):
    rng = np.random.default_rng(seed)
    view, u = cases.random_view(SIX, rng, 3), rng.random(5 * d)
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
    view, u = cases.random_view(SIX, np.random.default_rng(0)), np.random.default_rng(1).random(10)
    assert joined(0, view, u, {}) == joined(0, view, u, {"d": 2})
    assert JSQ.prepare(SIX, None, {}).uniforms_per_job == 10
    chance = get_scheduler("random")
    drawn = cases.bound(chance, SIX, chance.prepare(SIX, None, {}).tables, view, u)
    assert joined(0, view, u, {"d": 1}) == drawn.tolist()


PRIORITY = get_scheduler("priority")
FOUR = cases.system_of([cases.fork_join_chain(n, [2], i) for i, n in enumerate("abcd")], range(5))


def test_the_order_is_that_of_the_workload_or_as_listed():
    for options, ranks in (
        ({}, [0, 1, 2, 3]),
        ({"order": []}, [0, 1, 2, 3]),
        ({"order": ("d", "b")}, [2, 1, 3, 0]),
    ):
        assert PRIORITY.prepare(FOUR, None, options).tables.rank.tolist() == ranks


@examples(80)
@given(order=st.permutations(list("abcd")), seed=st.integers(0, 10_000))
def test_the_most_urgent_class_then_the_oldest_job_then_the_first_to_be_ready(order, seed):
    rng = np.random.default_rng(seed)
    prepared = PRIORITY.prepare(FOUR, None, {"order": order})
    view, ready = cases.random_view(FOUR, rng, 2), cases.random_ready(FOUR, rng)
    u = rng.random(1)
    out = cases.picked(PRIORITY, prepared.tables, view, ready, u)
    free = np.flatnonzero(view.queue_length == 0)
    assert (out is not None) == bool(ready.n and len(free))
    if out:
        urgency = [
            (order.index("abcd"[q]), j, i)
            for i, (q, j) in enumerate(zip(ready.query, ready.job, strict=True))
        ]
        assert out[0] == min(urgency)[2]
        home = ready.home[out[0]]
        assert out[1] == (home if home in free else free[int(u[0] * len(free))])


def test_urgency_pays_in_a_run():
    """Two classes alike, in either order: the urgent one is quicker, and by order alone."""
    alike = [replace(cases.fork_join_chain("x", [2], 1, rate=130.0), name=n) for n in "ab"]
    system = replace(cases.quiet(FOUR), capacity=1e12, queries=tuple(alike))
    for order in ("ab", "ba"):
        run = cases.run_of(system, "priority", options={"order": list(order)}, jobs=4000, warmup=500)
        urgent, other = (run.completion_time_s[run.query == "ab".index(n)].mean() for n in order)
        assert urgent < 0.9 * other


SYSTEM = cases.system_of([cases.slides_query()], range(5))


def pick(name, queue_length, rows, open_jobs, u=0.0):
    """What is picked of rows of (job, executors held, home)."""
    scheduler = get_scheduler(name)
    prepared = scheduler.prepare(SYSTEM, None, {"d": 5} if name == "sparrow" else {})  # it looks at all five
    view = cases.random_view(SYSTEM, np.random.default_rng(0))._replace(queue_length=np.array(queue_length))
    columns = dict(zip(("job", "job_running", "home"), zip(*rows, strict=True), strict=False))
    ready = cases.ready_rows(len(rows), open_jobs, **columns, places=[-1] * 4)
    return cases.picked(scheduler, prepared.tables, view, ready, [u])


PICKERS = [n for n in scheduler_names() if get_scheduler(n).kind == "pick"]


@pytest.mark.parametrize("name", PICKERS)
def test_nothing_ready_or_nothing_free_leaves_all_as_it_is(name):
    assert pick(name, [0] * 5, [], 0) is None
    assert pick(name, [1] * 5, [(0, 0, -1)], 1) is None
    assert pick(name, [1, 1, 1, 0, 2], [(0, 0, -1)], 1) == (0, 3)


@pytest.mark.parametrize("name", first(3, [n for n in PICKERS if n != "sparrow"]))  # its probes have an order
def test_free_executors_are_drawn_uniformly(name):
    rng = np.random.default_rng(1)
    counts = np.zeros(5)
    for _ in range(3000):
        counts[pick(name, [0, 3, 0, 0, 1], [(0, 0, -1)], 1, rng.random())[1]] += 1
    assert counts[[1, 4]].sum() == 0
    among = counts[[0, 2, 3]]
    assert ((among - 1000) ** 2 / 1000).sum() < chi2.ppf(0.999, 2)


OLDEST = [(7, 0, 0), (2, 0, 3), (2, 0, 1)]


@pytest.mark.parametrize(
    ("name", "queues", "rows", "open_jobs", "u", "chosen"),
    [
        ("opportunistic", [0] * 5, [(7, 4, 2), (1, 0, 3)], 2, 0.999, (0, 4)),  # in order of readiness
        ("spark-fifo", [0] * 5, OLDEST, 3, 0.0, (1, 3)),  # the oldest job, at home where that is free
        ("spark-fifo", [0, 0, 0, 1, 1], OLDEST, 3, 0.999, (1, 2)),
        ("spark-fair", [1, 1, 0, 1, 1], [(1, 0, -1), (5, 9, 2)], 2, 0.0, (1, 2)),  # the freed executor's own
        # five executors: two open jobs may hold ⌈5/2⌉ = 3, five may hold 1, nine may hold 1
        ("spark-fair", [0] * 5, [(1, 3, -1), (4, 2, -1)], 2, 0.0, (1, 0)),
        ("spark-fair", [0] * 5, [(1, 2, -1), (4, 0, -1)], 2, 0.0, (0, 0)),
        ("spark-fair", [0] * 5, [(1, 1, -1), (4, 0, -1)], 5, 0.0, (1, 0)),
        ("spark-fair", [0] * 5, [(1, 1, -1), (4, 1, -1)], 9, 0.0, None),
    ],
)
def test_picks_by_hand(name, queues, rows, open_jobs, u, chosen):
    assert pick(name, queues, rows, open_jobs, u) == chosen


def test_spark_fair_never_goes_beyond_the_cap_except_for_a_freed_executor():
    scheduler = get_scheduler("spark-fair")
    prepared = scheduler.prepare(SYSTEM, None, {})
    rng = np.random.default_rng(6)
    capped = 0
    for _ in range(500):
        view, ready = cases.random_view(SYSTEM, rng, 2), cases.random_ready(SYSTEM, rng)
        if out := cases.picked(scheduler, prepared.tables, view, ready, rng.random(1)):
            i, e = out
            cap = -(-SYSTEM.executors // max(ready.open_jobs, 1))
            assert ready.home[i] == e or ready.job_running[i] < cap
        elif ready.n and (view.queue_length == 0).any():
            capped += 1
    assert capped > 0
