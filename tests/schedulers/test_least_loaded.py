"""The scheduler ``least-loaded``: the executor that is done with the whole query first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_view, system_of, two_speeds
from sizes import examples

from nona.errors import PlacementError
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Stream

LEAST = get_scheduler("least-loaded")


def bound(system, view, draw=0.5):
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
    assert done_s[bound(system, view, draw)] == done_s.min()


def test_ties_go_to_the_shortest_queue_and_are_drawn_evenly():
    system = system_of([fork_join_chain("a", [3], 1)], range(6))
    view = random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.array([1, 0, 0, 2, 0, 0.0]), queue_length=np.array([0, 1, 0, 0, 0, 1]))
    drawn = [bound(system, view, (i + 0.5) / 100) for i in range(100)]
    assert np.bincount(drawn, minlength=6).tolist() == [0, 0, 50, 0, 50, 0]


def test_executors_without_room_for_the_model_are_left_out():
    system = two_speeds(slow_memory=1e6)
    view = random_view(system, np.random.default_rng(0))._replace(backlog_s=np.array([5.0, 0, 0, 6.0]))
    assert bound(system, view) == 0
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
