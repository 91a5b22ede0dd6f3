"""Queries that leave when they are too late to begin: by hand, against queueing theory, both engines."""

import math
from dataclasses import replace

import numpy as np
import pytest
import simulation_cases as cases
from drawn_systems import batched, systems
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples, sized

from nona.report.simulations.live import LiveSeries, live_titles, quantile_s
from nona.schedulers.base import BatchLimits
from nona.schedulers.registry import get_scheduler
from nona.simulation.collected import Progress
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Batching

ENGINES = ("simpy", "compiled")
JOBS = sized(60_000, 400_000)


def dropping(system, begin_s):
    """``nexus``, whose queries leave if they have not begun ``begin_s`` (Q, E) after their arrival."""
    chosen = get_scheduler("nexus")
    prepared = chosen.prepare(system, None, {})
    most = np.full(begin_s.shape, 1_000)
    return chosen, prepared._replace(batches=BatchLimits(most, begin_s=np.array(begin_s)))


def run(system, begin_s, jobs, engine="compiled", **options):
    records = simulate_run(
        system, *dropping(system, begin_s), RunOptions(jobs=jobs, engine=engine, **options)
    )
    assert [c for c in records.checks if not c.ok] == []
    return records


def batching_query(step_s, rate=1.0, scv=0.0, instants=None, rule="greedy"):
    replayed = instants and Arrivals("trace", times_s=tuple(instants), scale_to_rate=False, period_s=60.0)
    one = cases.query(cases.task_graph([step_s[0]]), rate, scv, replayed)
    return replace(one, batching=Batching(np.array(step_s, dtype=float).reshape(-1, 1, 1), rule))


@pytest.mark.parametrize("engine", ENGINES)
def test_four_queries_by_hand(engine):
    """Batches of two take 10 s, and 8 s of waiting are allowed: at 10 s the second query has waited for 9."""
    query = batching_query([10.0, 10.0], instants=(0.0, 1.0, 4.0, 5.0))
    records = run(cases.make_system(query, servers=(0,)), np.full((1, 1), 8.0), 4, engine, warmup=0)
    np.testing.assert_array_equal(records.completion_time_s, [10.0, math.nan, 16.0, 15.0])
    assert (records.completed, records.dropped, records.in_flight) == (3, 1, 0)
    assert records.state != "overloaded"


@pytest.mark.parametrize("rate", [0.5, 0.9, 1.5])
@pytest.mark.parametrize("allowed_s", [0.5, 3.0])
@pytest.mark.sized
def test_patience_in_an_m_m_1_queue(rate, allowed_s):
    """Of a queue with service rate 1 in which nobody waits longer than τ, a share leaves that is known.

    (1 − λ) λ e^((λ−1)τ) / (1 − λ² e^((λ−1)τ)); Barrer, Queuing with impatient customers, Operations Research
    1957. It is also 1 − ρ/λ with the share ρ of the time that the executor is busy.
    """
    query = batching_query([1.0], rate, 1.0)
    records = run(cases.make_system(query, servers=(0,)), np.full((1, 1), allowed_s), JOBS)
    decay = math.exp((rate - 1) * allowed_s)
    expected = (1 - rate) * rate * decay / (1 - rate**2 * decay)
    assert records.dropped / records.arrived == pytest.approx(expected, rel=sized(0.06, 0.03))
    assert records.utilization_compute == pytest.approx(rate * (1 - expected), rel=0.02)
    assert records.state == "stable"
    assert records.tally.dropped.sum() + records.tally.completed.sum() == JOBS


@pytest.mark.parametrize("engine", ENGINES)
@examples(40)
@given(st.data(), st.booleans(), st.booleans())
def test_engines_agree_and_nobody_begins_late(engine, data, grid, run_on):
    system = data.draw(batched(systems(grid, "fifo"), grid))
    queries = [
        replace(q, batching=q.batching and replace(q.batching, form_ahead=0), slo_s=3.0)
        for q in system.queries
    ]
    system = replace(system, queries=tuple(queries))
    some = st.integers(0, 3).map(float) if grid else st.floats(0.0, 3.0)
    begin_s = np.array([[data.draw(some) for _ in range(system.executors)] for _ in queries])
    options = {"jobs": 40, "warmup": 3, "timeline_jobs": 40, "run_on": run_on}
    if not system.batches:
        return
    records = run(system, begin_s, engine=engine, **options)
    assert run(system, begin_s, engine=ENGINES[engine == "simpy"], **options).digest() == records.digest()
    if len(set(system.batched_with)) == len(queries):  # else a batch may hold rows with other limits
        begun = set()
        for t in sorted(records.timeline.tasks, key=lambda t: t.start_s):
            waited_s = t.start_s - records.arrival_s[t.job - 3]
            assert t.job in begun or waited_s <= begin_s[t.query, t.executor], (
                t,
                records.arrival_s,
                records.timeline.tasks,
                begin_s,
            )
            begun.add(t.job)
    late = np.isnan(records.completion_time_s)
    assert np.isnan(records.parts_s[late]).all()


def test_without_a_limit_that_is_reached_nothing_changes():
    query = batching_query([1.0, 1.5, 2.0], 1.2, 0.5)
    system = cases.make_system(query, servers=(0, 1))
    patient = run(system, np.full((1, 2), math.inf), 2000)
    chosen = get_scheduler("nexus")
    prepared = chosen.prepare(system, None, {})._replace(batches=BatchLimits(np.full((1, 2), 1_000)))
    usual = simulate_run(system, chosen, prepared, RunOptions(jobs=2000))
    assert patient.digest() == usual.digest()
    assert patient.dropped == 0


def test_live_figures_begin_with_the_first_query_that_is_complete():
    """Those that were dropped before count as missed, and no mean is taken of nothing."""
    query, live = replace(batching_query([1.0], 5.0), slo_s=1.0), LiveSeries([1.0])
    system = cases.make_system(query, servers=(0,))
    gone = Progress(0.1, np.array([0, 0]), np.array([0.0, 1.0]), np.full(2, math.nan))
    live.add("nexus", 0, gone)
    assert live.snapshot() == {}

    def take(progress):
        live.add("nexus", 0, progress)
        assert all(math.isfinite(line.mean_s) for line in live.snapshot().values())

    records = simulate_run(system, *dropping(system, np.zeros((1, 1))), RunOptions(jobs=500), take)
    line = live.snapshot()["nexus"]
    assert line.jobs == records.tally.completed.sum()
    assert line.hit_rate == pytest.approx(records.tally.hits.sum() / 502)
    assert line.jobs + line.dropped == 502
    assert quantile_s(line, 0.999 * line.jobs / 502) < math.inf
    assert quantile_s(line, 1.001 * line.jobs / 502) == math.inf
    whole = line.model_copy(update={"dropped": 0, "mean_s": 2 * line.mean_s})
    assert live_titles({"nexus": line, "jsq": whole}, True)[0].startswith("jsq has the lowest mean so far")
