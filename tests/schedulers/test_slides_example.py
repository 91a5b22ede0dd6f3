"""The example of the slides on Nona, one job at a time: 22, 32 and 14 ms."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scheduler_cases import slides_query, system_of

from nona.placement.solve import solve
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Stream

EVERY_SECOND = Arrivals(process="deterministic")
SYSTEM = replace(
    system_of([replace(slides_query(), arrivals=EVERY_SECOND)]),
    background_compute=Stream(),
    background_network=Stream(),
)


@pytest.mark.parametrize(
    ("name", "options", "jct_s"),
    [
        ("local", {}, 0.022),
        ("spread", {}, 0.032),
        ("expert", {}, 0.014),
        ("expert", {"models": {"slides": [["t1"]]}}, 0.032),
        ("expert", {"models": {"slides": [["t2"]]}}, 0.014),
        ("expert", {"models": {"slides": "half"}}, 0.014),
        ("nona", {}, 0.014),
        ("nona-d2", {}, 0.014),
        ("flexflow", {}, 0.014),
        ("least-loaded-d", {}, 0.022),
    ],
)
def test_a_job_alone(name, options, jct_s):
    scheduler = get_scheduler(name)
    placement = solve(SYSTEM) if scheduler.needs_placement else None
    prepared = scheduler.prepare(SYSTEM, placement, options)
    run = simulate_run(SYSTEM, scheduler, prepared, RunOptions(jobs=50, warmup=2))
    assert run.completion_s - run.arrival_s == pytest.approx([jct_s] * 50, abs=1e-9)


@pytest.mark.parametrize("name", ["spark-fair", "spark-fifo"])
def test_pickers_that_prefer_the_freed_executor(name):
    # task 2 follows task 1 at home, task 3 goes elsewhere; the sink is picked when both are done, at
    # 12 ms, where task 2 ran; only then is task 3's output (1 ms) sent there: 2 + 10 + 1 + 2 ms
    scheduler = get_scheduler(name)
    run = simulate_run(SYSTEM, scheduler, scheduler.prepare(SYSTEM, None, {}), RunOptions(jobs=50, warmup=2))
    assert run.completion_s - run.arrival_s == pytest.approx([0.015] * 50, abs=1e-9)


def test_opportunistic_ignores_the_network():
    # at worst both children and the sink go elsewhere: 2 + (1 + 9) + 10 + (9 + 1) + 2 ms
    scheduler = get_scheduler("opportunistic")
    run = simulate_run(SYSTEM, scheduler, scheduler.prepare(SYSTEM, None, {}), RunOptions(jobs=50, warmup=2))
    jct = run.completion_s - run.arrival_s
    assert jct.min() >= 0.014 - 1e-9
    assert jct.max() <= 0.034 + 1e-9
    assert jct.mean() > 0.022
