"""The scheduler ``priority``: the order of classes, where it comes from, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_ready, random_view, system_of
from sizes import examples

from nona.errors import SimulationError
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Stream

PRIORITY = get_scheduler("priority")
SYSTEM = system_of([fork_join_chain(n, [2], i) for i, n in enumerate("abcd")], range(5))


def ranks(options):
    return PRIORITY.prepare(SYSTEM, None, options).tables.rank.tolist()


def test_the_order_is_that_of_the_workload_or_as_listed():
    assert ranks({}) == [0, 1, 2, 3]
    assert ranks({"order": []}) == [0, 1, 2, 3]
    assert ranks({"order": ["d", "b"]}) == [2, 1, 3, 0]
    assert ranks({"order": ("d", "c", "b", "a")}) == [3, 2, 1, 0]


@pytest.mark.parametrize("order", ["a", ["a", "a"], ["x"], 3, [["a"]], [None]])
def test_orders_that_are_not_lists_of_models_are_refused(order):
    with pytest.raises(SimulationError, match="must list names of the workload"):
        PRIORITY.prepare(SYSTEM, None, {"order": order})


@examples(80)
@given(order=st.permutations(list("abcd")), seed=st.integers(0, 10_000))
def test_the_most_urgent_class_then_the_oldest_job_then_the_first_to_be_ready(order, seed):
    rng = np.random.default_rng(seed)
    prepared = PRIORITY.prepare(SYSTEM, None, {"order": order})
    view, ready = random_view(SYSTEM, rng, 2), random_ready(SYSTEM, rng)
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
    base = replace(SYSTEM, background_compute=Stream(), background_network=Stream(), capacity=1e12)
    alike = [replace(fork_join_chain("x", [2], 1, rate=130.0), name=n) for n in "ab"]
    system = replace(base, queries=tuple(alike))
    for order in ("ab", "ba"):
        prepared = PRIORITY.prepare(system, None, {"order": list(order)})
        run = simulate_run(system, PRIORITY, prepared, RunOptions(jobs=4000, warmup=500))
        jct = run.completion_s - run.arrival_s
        urgent, other = (jct[run.query == "ab".index(n)].mean() for n in order)
        assert urgent < 0.9 * other
