"""Running: cohort, progress, cancelling, determinism, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulation_cases import first_fit, fixed, make_system, query, scheduler, task_graph, uniform

from nona.errors import SimulationError
from nona.simulation.collected import Progress
from nona.simulation.run import ENGINES, Cancelled, RunOptions, simulate_run
from nona.simulation.sizes import auto_warmup
from nona.system import Stream, System

DIAMOND = task_graph(
    [2e-3, 5e-3, 4e-3, 2e-3], [(0, [1, 2], 2e5), (1, [3], 1e5), (2, [3], 1e5)], name="diamond"
)
SINGLE = task_graph([3e-3], name="single")


def busy_system(**changes: object) -> System:
    fields: dict[str, object] = {
        "servers": [0, 0, 1, 2, 2, 3],
        "capacity": 2e8,
        "latency_s": 2e-5,
        "background_compute": Stream(20.0, 5e-3, 1.0),
        "background_network": Stream(100.0, 5e5, 1.0),
        "seed": 3,
    }
    queries = (query(DIAMOND, 120.0, 0.5, name="diamond"), query(SINGLE, 150.0, 1.0, name="single"))
    return make_system(*queries, **(fields | changes))


OPTIONS = RunOptions(jobs=400, warmup=50, timeline_jobs=3)
CHILD = """
import sys
sys.path.insert(0, {here!r})
from test_run import OPTIONS, busy_system, first_fit, simulate_run, uniform
for made in (uniform(4), first_fit(drawn=True)):
    for discipline in ("fifo", "processor-sharing"):
        print(simulate_run(busy_system(discipline=discipline), *made, OPTIONS).digest())
"""


def test_same_seed_same_bytes_in_every_process_and_hash_seed() -> None:
    here = Path(__file__).parent
    found = set()
    for hash_seed in ("0", "1", "random"):
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join([str(here.parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-c", CHILD.format(here=str(here))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == 4


def test_seed_and_replication_change_the_run() -> None:
    base = simulate_run(busy_system(), *uniform(4), OPTIONS)
    other = simulate_run(busy_system(seed=4), *uniform(4), OPTIONS)
    second = simulate_run(busy_system(), *uniform(4), replace(OPTIONS, replication=1))
    assert len({r.digest() for r in (base, other, second)}) == 3


def test_schedulers_see_the_same_arrivals() -> None:
    a = simulate_run(busy_system(), *uniform(4), OPTIONS)
    b = simulate_run(busy_system(), *first_fit(), OPTIONS)
    assert a.arrival_s.tobytes() == b.arrival_s.tobytes()
    assert a.query.tobytes() == b.query.tobytes()
    assert a.window_s == b.window_s


def test_cohort_follows_the_warmup_and_all_jobs_are_counted() -> None:
    long = simulate_run(busy_system(), *uniform(4), replace(OPTIONS, warmup=0, jobs=450))
    records = simulate_run(busy_system(), *uniform(4), OPTIONS)
    assert records.arrival_s.tolist() == long.arrival_s[50:].tolist()
    assert records.completion_s.tolist() == long.completion_s[50:].tolist()
    assert records.arrived == records.completed + records.in_flight
    assert records.arrived >= 450
    assert records.window_s == (records.arrival_s[0], records.arrival_s[-1])


def test_automatic_warmup() -> None:
    assert [auto_warmup(n) for n in (1, 300, 5_000, 20_000)] == [1, 300, 1_000, 4_000]


def test_progress_hands_out_every_measured_job_once() -> None:
    seen: list[Progress] = []
    records = simulate_run(busy_system(), *uniform(4), OPTIONS, seen.append)
    fractions = [p.fraction for p in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(seen) > 50
    for field in ("query", "arrival_s", "completion_s"):
        together = np.sort(np.concatenate([getattr(p, field) for p in seen]))
        np.testing.assert_array_equal(together, np.sort(getattr(records, field)))


def test_watching_changes_nothing() -> None:
    watched = simulate_run(busy_system(), *uniform(4), OPTIONS, lambda _: None)
    assert watched.digest() == simulate_run(busy_system(), *uniform(4), OPTIONS).digest()


def test_cancel_from_the_callback() -> None:
    calls = []

    def stop(progress: Progress) -> None:
        calls.append(progress.fraction)
        if len(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate_run(busy_system(), *uniform(4), OPTIONS, stop)
    assert len(calls) == 3
    assert calls[-1] < 0.1


def test_one_measured_job_has_no_window() -> None:
    records = simulate_run(busy_system(), *uniform(4), RunOptions(jobs=1, warmup=0))
    assert np.isnan(records.utilization_compute)
    assert all(c.ok for c in records.checks)


@pytest.mark.parametrize("places", [[0, 0, 0, 6], [-1, 0, 0, 0]])
def test_binding_to_an_executor_that_does_not_exist(places: list[int]) -> None:
    with pytest.raises(SimulationError, match="does not exist"):
        simulate_run(busy_system(), *fixed(places), OPTIONS)


@pytest.mark.parametrize("choice", [(99, 0), (0, 99), (0, 0)])
def test_picking_what_is_not_there(choice: tuple[int, int]) -> None:
    def wrong(now: float, view: object, ready: object, tables: object, u: object, out: np.ndarray) -> bool:
        out[:] = choice  # (0, 0) is allowed until executor 0 is taken
        return True

    with pytest.raises(SimulationError, match="it picked ready task"):
        simulate_run(busy_system(), *scheduler(wrong, "pick", uniforms=1), OPTIONS)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"jobs": 0}, "jobs=0"),
        ({"warmup": -1}, "warmup=-1"),
        ({"timeline_jobs": -1}, "timeline_jobs"),
        ({"replication": -1}, "replication"),
        ({"record_jobs": 0}, "record_jobs=0"),
    ],
)
def test_options_are_checked(change: dict[str, int], what: str) -> None:
    with pytest.raises(SimulationError, match=what):
        RunOptions(**change)


def test_unknown_engine_and_kind() -> None:
    with pytest.raises(SimulationError, match=r"'fast' is not known; choose one of .*simpy"):
        simulate_run(busy_system(), *uniform(4), RunOptions(engine="fast"))
    made, prepared = uniform(4)
    with pytest.raises(SimulationError, match="binds, picks or allocates"):
        simulate_run(busy_system(), replace(made, kind="configure"), prepared, OPTIONS)
    assert "simpy" in ENGINES


def test_a_graph_without_tasks_is_an_error() -> None:
    empty = task_graph(np.zeros((1, 0)))
    with pytest.raises(SimulationError, match="0 tasks"):
        simulate_run(make_system(query(empty)), *fixed([]), OPTIONS)
