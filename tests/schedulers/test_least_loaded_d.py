"""The scheduler ``least-loaded-d``: the whole query to the best of the executors drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_view, system_of, two_speeds
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import Decomposition
from nona.errors import SimulationError
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import QueryClass, Stream

DRAWN = get_scheduler("least-loaded-d")
CLASSES = (0, 1, 1, 0, 1, 0)


def bound(system, view, u, d):
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
    assert bound(system, view, u, d) == min(drawn, key=lambda e: done_s[e])


def test_equals_go_to_the_shorter_queue_and_then_to_the_first_drawn():
    system = system_of([fork_join_chain("a", [3], 1)], range(4))
    view = random_view(system, np.random.default_rng(0))
    view = view._replace(backlog_s=np.zeros(4), queue_length=np.array([2, 1, 1, 3]))
    assert bound(system, view, np.array([0.1, 0.4]), 2) == 1
    assert bound(system, view, np.array([0.6, 0.3, 0.0]), 3) == 2


def test_only_executors_with_room_for_the_model_are_drawn():
    system = two_speeds(CLASSES, slow_memory=1e6)
    view = random_view(system, np.random.default_rng(0))
    drawn = {bound(system, view, np.array([(i + 0.5) / 60]), 1) for i in range(60)}
    assert drawn == {0, 3, 5}


@pytest.mark.parametrize("d", [0, -1, 2.0, "2", True, 65, None])
def test_impossible_numbers_of_draws_are_refused(d):
    with pytest.raises(SimulationError, match=r"d=.* must be a whole number from 1 to 64"):
        DRAWN.prepare(two_speeds(CLASSES), None, {"d": d})


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


def test_with_one_draw_the_queues_do_not_matter():
    system = two_speeds(CLASSES)
    rng = np.random.default_rng(5)
    for u in rng.random(20):
        places = {bound(system, random_view(system, rng), np.array([u]), 1) for _ in range(5)}
        assert places == {int(u * 6)}
