"""The scheduler ``jsq-d``: the shortest of the queues drawn, the job's own tasks included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_view, system_of
from sizes import examples

from nona.errors import SimulationError
from nona.schedulers.registry import get_scheduler

JSQ = get_scheduler("jsq-d")
SYSTEM = system_of([fork_join_chain("a", [3], 1), fork_join_chain("one", [])], range(6))


def bound(query, view, u, options):
    prepared = JSQ.prepare(SYSTEM, None, options)
    out = np.full(5, -1, dtype=np.int64)
    JSQ.decide(0.0, query, view, prepared.tables, u, out)
    return out[: len(SYSTEM.queries[query].tasks)].tolist()


@examples(80)
@given(d=st.integers(1, 5), query=st.integers(0, 1), seed=st.integers(0, 10_000))
def test_each_task_joins_the_first_of_the_shortest_queues_drawn(d, query, seed):
    rng = np.random.default_rng(seed)
    view, u = random_view(SYSTEM, rng, 3), rng.random(5 * d)
    length = view.queue_length.astype(int).tolist()
    before = view.queue_length.copy()
    expected = []
    for i in range(len(SYSTEM.queries[query].tasks)):
        drawn = [int(x * 6) for x in u[i * d : (i + 1) * d]]
        expected.append(min(drawn, key=lambda e: length[e]))
        length[expected[-1]] += 1
    assert bound(query, view, u, {"d": d}) == expected
    assert (view.queue_length == before).all()


def test_two_draws_unless_told_and_one_draw_is_random():
    view, u = random_view(SYSTEM, np.random.default_rng(0)), np.random.default_rng(1).random(10)
    assert bound(0, view, u, {}) == bound(0, view, u, {"d": 2})
    assert JSQ.prepare(SYSTEM, None, {}).uniforms_per_job == 10
    chance = get_scheduler("random")
    out = np.zeros(5, dtype=np.int64)
    chance.decide(0.0, 0, view, chance.prepare(SYSTEM, None, {}).tables, u, out)
    assert bound(0, view, u, {"d": 1}) == out.tolist()


@pytest.mark.parametrize("d", [0, -1, 2.0, "2", True, 65, None])
def test_impossible_numbers_of_draws_are_refused(d):
    with pytest.raises(SimulationError, match=r"d=.* must be a whole number from 1 to 64"):
        JSQ.prepare(SYSTEM, None, {"d": d})
