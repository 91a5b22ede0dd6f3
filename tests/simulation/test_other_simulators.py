"""Simulators that share no event loop with the engines complete every job at the same instant.

They are the yardsticks of the benchmarks: idiomatic SimPy (processes, resources, background and all), a
plain loop over ``heapq``, and a loop in C.
"""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pytest

from benchmarks.c_loop import CLoop
from benchmarks.fork_join import make_queues, make_system
from benchmarks.heap_loop import HeapLoop
from benchmarks.idiomatic_simpy import IdiomaticSimulation
from nona import study
from nona.scenario.file import load_scenario
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import ENGINES, RunOptions, simulate_run
from nona.sources.samples import scenario_path

JOBS = 500
COMPILER = any(shutil.which(c) for c in ("cc", "gcc", "clang"))
SYSTEMS = {"fork-join": make_system, "queues": make_queues}


def completion_s(engine, system, scheduler, prepared):
    options = RunOptions(jobs=JOBS, warmup=0, run_on=False, engine=engine)
    return simulate_run(system, scheduler, prepared, options).completion_s


def random_on(system):
    scheduler = get_scheduler("random")
    return scheduler, scheduler.prepare(system, None, {})


@cache
def five_models():
    prepared = study.prepare(load_scenario(scenario_path("five_models_80_servers")))
    return prepared.system, study.place(prepared)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", ["random", "spread", "local", "nona"])
def test_idiomatic_simpy_agrees_on_the_five_models_with_their_background(engine, scheduler):
    system, placement = five_models()
    chosen = get_scheduler(scheduler)
    prepared = chosen.prepare(system, placement if chosen.needs_placement else None, {})
    expected = np.array(IdiomaticSimulation(system, chosen, prepared).run(JOBS))
    assert np.array_equal(completion_s(engine, system, chosen, prepared), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_heapq_loop_agrees(engine, name):
    system = SYSTEMS[name]()
    given = random_on(system)
    assert np.array_equal(completion_s(engine, system, *given), HeapLoop(system, *given).run(JOBS))


@pytest.mark.skipif(not COMPILER, reason="no C compiler (cc, gcc or clang) on the path")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_loop_in_c_agrees(engine, name):
    system = SYSTEMS[name]()
    loop = CLoop(system)
    assert np.array_equal(completion_s(engine, system, *random_on(system)), loop.run(loop.draw(JOBS), JOBS))
