"""Schedulers that say so decide the same on lists as on arrays, alone and in whole runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scheduler_cases import fork_join_chain, random_placement, random_view, slides_query, system_of

from nona.schedulers.base import as_lists
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.run import RunOptions, simulate_run

SYSTEM = system_of([fork_join_chain("a", [3, 0, 4], 1, rate=40.0), slides_query()], (0, 0, 1, 1, 2))
TAKERS = [n for n in scheduler_names() if get_scheduler(n).takes_lists]


def prepared_for(scheduler):
    placement = random_placement(SYSTEM, 4) if scheduler.needs_placement else None
    return scheduler.prepare(SYSTEM, placement, {})


def test_those_that_sample_tables_take_lists():
    assert {"nona", "nona-d2", "local", "spread", "expert", "random"} <= set(TAKERS)


@pytest.mark.parametrize("name", TAKERS)
def test_lists_and_arrays_give_the_same_decisions(name):
    scheduler = get_scheduler(name)
    prepared = prepared_for(scheduler)
    lists = as_lists(prepared.tables)
    rng = np.random.default_rng(0)
    for query in (0, 1) * 20:
        view, u = random_view(SYSTEM, rng), rng.random(prepared.uniforms_per_job)
        tasks = len(SYSTEM.queries[query].tasks)
        array, plain = np.full(tasks, -1, dtype=np.int64), [-1] * tasks
        scheduler.decide(0.0, query, view, prepared.tables, u, array)
        scheduler.decide(0.0, query, view, lists, u.tolist(), plain)
        assert plain == array.tolist()


@pytest.mark.parametrize("name", TAKERS)
def test_runs_are_the_same_with_either(name):
    scheduler = get_scheduler(name)
    prepared = prepared_for(scheduler)
    options = RunOptions(jobs=300, warmup=20)
    lists = simulate_run(SYSTEM, scheduler, prepared, options)
    arrays = simulate_run(SYSTEM, replace(scheduler, takes_lists=False), prepared, options)
    assert lists.completion_s.tobytes() == arrays.completion_s.tobytes()
