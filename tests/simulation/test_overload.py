"""Stable at a load of 0.95, overloaded at 1.1, whatever the seed; starvation ends the run."""

from __future__ import annotations

import numpy as np
import pytest
from simulation_cases import first_fit, fixed, make_system, query, scheduler, task_graph, uniform

from nona.simulation.reference.engine import SimPyRun
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.sizes import RunSize
from nona.simulation.summary import summarize
from nona.system import Arrivals, Stream

ONE = task_graph([1.0])
PAIR = task_graph([1e-3, 1e-3], [(0, [1], 1.0)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("arrivals", [Arrivals(), Arrivals("gamma", cv=2.0)], ids=["poisson", "gamma"])
@pytest.mark.parametrize(("load", "state"), [(0.95, "stable"), (1.1, "overloaded")])
def test_executor_load_decides(seed: int, arrivals: Arrivals, load: float, state: str) -> None:
    system = make_system(query(ONE, load, 1.0, arrivals), seed=seed)
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=1500))
    assert records.state == state, records.state_reason
    assert bool(records.state_reason) == (state == "overloaded")


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(("load", "state"), [(0.95, "stable"), (1.1, "overloaded")])
def test_link_load_decides_background_included(discipline: str, load: float, state: str) -> None:
    system = make_system(
        query(PAIR, load - 0.5),
        servers=[0, 1],
        discipline=discipline,
        background_network=Stream(0.5, 1.0, 1.0),
    )
    records = simulate_run(system, *fixed([0, 1]), RunOptions(jobs=800))
    assert records.state == state
    assert ("the link" in records.state_reason) == (state == "overloaded")


@pytest.mark.parametrize(("load", "state"), [(0.9, "stable"), (1.2, "overloaded")])
def test_one_hot_executor_among_many_shows_by_growth(load: float, state: str) -> None:
    """The mean load is a tenth of it, so only the growing queue tells."""
    system = make_system(query(ONE, load, 1.0), servers=list(range(10)))
    records = simulate_run(system, *fixed([3]), RunOptions(jobs=6000))
    assert records.state == state
    assert ("growing" in records.state_reason) == (state == "overloaded")


def test_overload_is_bounded_and_nothing_is_dropped() -> None:
    chain = task_graph([1.0] * 4, [(0, [1], 0.0), (1, [2], 0.0), (2, [3], 0.0)])
    system = make_system(query(chain, 20.0), servers=range(4))
    records = simulate_run(system, *fixed([0, 1, 2, 3]), RunOptions(jobs=100, warmup=0))
    assert records.state == "overloaded"
    assert records.in_flight > 0
    assert records.arrived == records.completed + records.in_flight
    assert records.utilization_compute <= 1.0


def test_starved_jobs_stay_without_completion() -> None:
    def only_even(
        now: float, view: object, ready: object, tables: object, u: object, out: np.ndarray
    ) -> bool:
        free = np.flatnonzero(view.queue_length == 0)  # type: ignore[attr-defined]
        for i in range(ready.n):  # type: ignore[attr-defined]
            if ready.job[i] % 2 == 0:  # type: ignore[attr-defined]
                out[:] = i, free[0]
                return True
        return False

    system = make_system(query(ONE, 0.5), servers=[0, 1])
    records = simulate_run(system, *scheduler(only_even, "pick", uniforms=1), RunOptions(jobs=50, warmup=0))
    assert records.state == "overloaded"
    assert "25 of 50" in records.state_reason
    assert np.isnan(records.completion_s).tolist() == [False, True] * 25
    assert all(c.ok for c in records.checks)


def test_a_policy_that_never_picks_ends() -> None:
    def idle(*_: object) -> bool:
        return False

    system = make_system(query(ONE, 1.0), background_compute=Stream(0.3, 1.0, 1.0))
    records = simulate_run(system, *scheduler(idle, "pick", uniforms=1), RunOptions(jobs=20, warmup=0))
    assert (records.completed, records.state) == (0, "overloaded")
    assert records.in_flight == records.arrived >= 20


@pytest.mark.parametrize("make", [first_fit, lambda: uniform(1)])
def test_many_executors_at_moderate_load_are_stable_in_short_runs(make: object) -> None:
    system = make_system(query(ONE, 40.0, 1.0), servers=list(range(80)))
    for seed in range(3):
        records = simulate_run(
            make_system(*system.queries, servers=list(range(80)), seed=seed),
            *make(),
            RunOptions(jobs=200),  # type: ignore[operator]
        )
        assert records.state == "stable", records.state_reason


@pytest.mark.parametrize("calm", [600.0, 2000.0])
def test_a_burst_at_the_end_of_the_window_leaves_a_backlog(calm: float) -> None:
    """900 jobs one by one, then 100 at once: no overload, but the mean depends on where the window ends."""
    times = (*np.linspace(0.0, calm, 900, endpoint=False), *([calm] * 100), 3 * calm)
    burst = Arrivals("trace", times_s=tuple(map(float, times)), scale_to_rate=False)
    system = make_system(query(task_graph([0.2]), 0.5, 0.0, burst))
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=1000, warmup=0))
    assert records.state == "backlogged"
    assert "99 jobs were in the system" in records.state_reason
    assert all(c.ok for c in records.checks)
    calm_end = simulate_run(system, *fixed([0]), RunOptions(jobs=900, warmup=0))
    assert calm_end.state == "stable", calm_end.state_reason
    summary = summarize([records, calm_end], [None], ["q"])
    assert summary.state == "backlogged"
    assert np.isfinite(summary.jct.mean.mean)


def test_marks_count_the_jobs_just_before_equally_many_arrivals() -> None:
    system = make_system(query(ONE, 0.7, 1.0), servers=[0])
    size = RunSize(50, 333, 0, True, 0, 10_000, 1000.0)
    made, prepared = fixed([0])
    raw = SimPyRun(system, made, prepared, size, None).run()
    whole = simulate_run(system, made, prepared, RunOptions(jobs=383, warmup=0))
    marks = size.marks()
    assert (marks[0], marks[-1], len(marks)) == (size.first, size.last, 21)
    assert np.abs(np.diff(marks) - 332 / 20).max() <= 1
    before = [int(np.sum(whole.completion_s[:m] > whole.arrival_s[m])) for m in marks]
    assert raw.open_at.tolist() == before
