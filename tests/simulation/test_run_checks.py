"""The checks of a run hold where they should, and fail on a run that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulation_cases import first_fit, make_system, query, shortest_queue, task_graph, uniform

from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records import RawRun, run_checks
from nona.simulation.reference.engine import SimPyRun
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.sizes import RunSize
from nona.system import Stream, System

GRAPH = task_graph([2e-3, 5e-3, 4e-3, 2e-3], [(0, [1, 2], 2e5), (1, [3], 1e5), (2, [3], 1e5)])
NAMES = ["conservation", "work of executors", "work of link", "Little's law", "causality"]


def system(discipline: str = "fifo", rate: float = 250.0) -> System:
    return make_system(
        query(GRAPH, rate, 1.0),
        servers=[0, 0, 1, 2, 2, 3],
        capacity=4e8,
        latency_s=2e-5,
        discipline=discipline,
        background_compute=Stream(20.0, 5e-3, 2.0),
        background_network=Stream(100.0, 5e5, 1.0),
    )


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(
    "make", [lambda: uniform(4), shortest_queue, first_fit], ids=["bind", "queues", "pick"]
)
@pytest.mark.parametrize("rate", [250.0, 900.0], ids=["stable", "overloaded"])
def test_all_checks_hold(discipline: str, make: object, rate: float) -> None:
    records = simulate_run(system(discipline, rate), *make(), RunOptions(jobs=2000))  # type: ignore[operator]
    assert [c.name for c in records.checks] == NAMES
    assert [c.name for c in records.checks if not c.ok] == []
    assert records.executor_busy_s.max() <= (records.window_s[1] - records.window_s[0]) * (1 + 1e-9)


def raw_run(discipline: str = "fifo") -> tuple[System, RawRun]:
    made: Scheduler
    prepared: Prepared
    made, prepared = uniform(4)
    size = RunSize(10, 100, 0, True, 0, 1000, 100.0)
    made_system = system(discipline)
    return made_system, SimPyRun(made_system, made, prepared, size, None).run()


def failing(made_system: System, raw: RawRun) -> list[str]:
    return [c.name for c in run_checks(made_system, raw) if not c.ok]


def test_a_lost_job_is_noticed() -> None:
    made_system, raw = raw_run()
    assert failing(made_system, raw) == []
    of = raw.collected
    lost = replace(raw, collected=replace(of, completed=of.completed - 1, filled=of.filled - 1))
    assert failing(made_system, lost) == ["conservation"]
    twice = replace(raw, collected=replace(of, filled=of.filled - 1))
    assert failing(made_system, twice) == ["conservation"]


def test_a_completion_before_its_arrival_is_noticed() -> None:
    made_system, raw = raw_run()
    early = replace(raw, collected=replace(raw.collected, early=1))
    assert failing(made_system, early) == ["conservation"]


def test_work_that_vanishes_is_noticed() -> None:
    made_system, raw = raw_run()
    less = raw.executor_work_s - np.array([1e-3, 0, 0, 0, 0, 0])
    assert failing(made_system, replace(raw, executor_work_s=less)) == ["work of executors"]
    assert failing(made_system, replace(raw, link_work_s=raw.link_work_s + 1e-6)) == ["work of link"]


def test_a_wrong_number_in_the_system_is_noticed() -> None:
    made_system, raw = raw_run()
    assert failing(made_system, replace(raw, jobs_area_s=raw.jobs_area_s * 1.0001)) == ["Little's law"]


def test_an_effect_before_its_cause_is_noticed() -> None:
    made_system, raw = raw_run()
    tasks = list(raw.traced_tasks)
    assert len(tasks) == 4 * len(raw.collected.traced) > 100
    last = next(i for i, t in enumerate(tasks) if t.task == 3)
    early = tasks[last].ready_s - 6e-3
    tasks[last] = replace(tasks[last], ready_s=early)
    assert failing(made_system, replace(raw, traced_tasks=tuple(tasks))) == ["causality"]
    missing = tuple(m for m in raw.traced_messages if m.job != raw.traced_messages[0].job)
    assert failing(made_system, replace(raw, traced_messages=missing)) == ["causality"]
