"""The schedulers that pick a ready task: order, caps, and where the task goes."""

from __future__ import annotations

import numpy as np
import pytest
from scheduler_cases import random_ready, random_view, slides_query, system_of
from scipy.stats import chi2

from nona.schedulers.base import Ready
from nona.schedulers.registry import get_scheduler, scheduler_names

SYSTEM = system_of([slides_query()], range(5))
PICKERS = [n for n in scheduler_names() if get_scheduler(n).kind == "pick"]


def ready_list(rows, open_jobs, draw=0.0):
    """Rows of (job, executors held, home)."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    n = len(columns)
    zeros = np.zeros(n, dtype=np.int64)
    numbers = (columns[:, 0], zeros, zeros, np.zeros(n), columns[:, 1], columns[:, 2], open_jobs)
    return Ready(n, *numbers, zeros, zeros + 1, np.full(n, draw), zeros, np.full(4, -1))


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
