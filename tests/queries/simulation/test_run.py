"""Running: cohort, determinism, checks, stability, errors, and the example of the slides by hand."""

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulation_cases import first_fit, fixed, make_system, query, scheduler, task_graph, uniform

from nona.core.errors import SimulationError
from nona.queries.report.live import LiveSeries, comparable, quantile_s
from nona.queries.report.series import ecdf_series
from nona.queries.simulation.records import run_checks
from nona.queries.simulation.reference.engine import SimPyRun
from nona.queries.simulation.run import RunOptions, job_times, simulate_run
from nona.queries.simulation.sizes import RunSize, auto_warmup
from nona.queries.simulation.summary import summarize
from nona.queries.simulation.workload import Kept, Workload
from nona.queries.system import BackgroundStream
from nona.scenario.arrivals import Arrivals

DIAMOND = task_graph(
    [2e-3, 5e-3, 4e-3, 2e-3], [(0, [1, 2], 2e5), (1, [3], 1e5), (2, [3], 1e5)], name="diamond"
)
SINGLE = task_graph([3e-3], name="single")


def busy_system(**changes):
    fields = {"servers": [0, 0, 1, 2, 2, 3], "capacity": 2e8, "latency_s": 2e-5, "seed": 3}
    fields["background_compute"] = BackgroundStream(20.0, 5e-3, 1.0)
    fields["background_network"] = BackgroundStream(100.0, 5e5, 1.0)
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


@pytest.mark.parametrize("replication", [0, 3])
def test_runs_that_share_what_a_replication_draws_are_those_of_runs_that_draw_for_themselves(replication):
    system = busy_system()
    options = replace(OPTIONS, replication=replication, engine="compiled", timeline_jobs=0)
    kept = Kept()
    for jobs in (300, 400, 60):  # a longer run after a short one, and a shorter one after it
        sized = replace(options, jobs=jobs)
        for _ in range(2):
            shared = job_times(system, *uniform(4), sized, Workload(system, replication, 4, kept))
            alone = job_times(system, *uniform(4), sized)
            np.testing.assert_array_equal(shared.query, alone.query)
            np.testing.assert_array_equal(shared.times_s, alone.times_s)


def test_same_seed_same_bytes_in_every_process_and_hash_seed():
    here = Path(__file__).parent
    found = set()
    for hash_seed in ("0", "random"):
        environment = os.environ | {
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join([str(here.parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, "-c", CHILD.format(here=str(here))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == 4


def test_cohort_follows_the_warmup_and_all_jobs_are_counted():
    long = simulate_run(busy_system(), *uniform(4), replace(OPTIONS, warmup=0, jobs=450))
    records = simulate_run(busy_system(), *uniform(4), OPTIONS)
    assert records.arrival_s.tolist() == long.arrival_s[50:].tolist()
    assert records.completion_s.tolist() == long.completion_s[50:].tolist()
    assert records.arrived == records.completed + records.in_flight
    assert records.arrived >= 450
    assert records.window_s == (records.arrival_s[0], records.arrival_s[-1])
    assert [auto_warmup(n) for n in (1, 300, 5_000, 20_000)] == [1, 300, 1_000, 4_000]


@pytest.mark.parametrize("places", [[0, 0, 0, 6], [-1, 0, 0, 0]])
def test_binding_to_an_executor_that_does_not_exist(places):
    with pytest.raises(SimulationError, match="does not exist"):
        simulate_run(busy_system(), *fixed(places), OPTIONS)


@pytest.mark.parametrize("choice", [(99, 0), (0, 99), (0, 0)])
def test_picking_what_is_not_there(choice):
    def wrong(now, view, ready, tables, u, out):
        out[:] = choice  # (0, 0) is allowed until executor 0 is taken
        return True

    with pytest.raises(SimulationError, match="it picked ready task"):
        simulate_run(busy_system(), *scheduler(wrong, "pick", uniforms=1), OPTIONS)


def test_options_are_checked():
    names = ("jobs", "warmup", "timeline_jobs", "replication", "record_jobs")
    for name, value in zip(names, (0, -1, -1, -1, 0), strict=True):
        with pytest.raises(SimulationError, match=f"{name}={value}"):
            RunOptions(**{name: value})
    with pytest.raises(SimulationError, match=r"'fast' is not known; choose one of .*simpy"):
        simulate_run(busy_system(), *uniform(4), RunOptions(engine="fast"))
    made, prepared = uniform(4)
    with pytest.raises(SimulationError, match="binds, picks or allocates"):
        simulate_run(busy_system(), replace(made, kind="configure"), prepared, OPTIONS)


def test_a_graph_without_tasks_is_an_error():
    empty = task_graph(np.zeros((1, 0)))
    with pytest.raises(SimulationError, match="0 tasks"):
        simulate_run(make_system(query(empty)), *fixed([]), OPTIONS)


def failing(made_system, raw):
    return [c.name for c in run_checks(made_system, raw) if not c.ok]


def test_lost_jobs_vanished_work_wrong_counts_and_an_effect_before_its_cause_are_noticed():
    made_system = busy_system()
    raw = SimPyRun(made_system, *uniform(4), RunSize(10, 100, 0, True, 0, 1000, 100.0), None).run()
    of = raw.collected
    less = raw.executor_work_s - np.array([1e-3, 0, 0, 0, 0, 0])
    for check, changes in (
        (None, {}),
        ("conservation", {"collected": replace(of, left=of.left - 1, filled=of.filled - 1)}),
        ("conservation", {"collected": replace(of, filled=of.filled - 1)}),
        ("conservation", {"collected": replace(of, early=1)}),
        ("work of executors", {"executor_work_s": less}),
        ("work of link", {"link_work_s": raw.link_work_s + 1e-6}),
        ("Little's law", {"jobs_area_s": raw.jobs_area_s * 1.0001}),
    ):
        assert failing(made_system, replace(raw, **changes)) == [check] * (check is not None)
    tasks = list(raw.traced_tasks)
    assert len(tasks) > 100
    last = next(i for i, t in enumerate(tasks) if t.task == 3)
    early = tasks[last].ready_s - 6e-3
    tasks[last] = replace(tasks[last], ready_s=early)
    assert failing(made_system, replace(raw, traced_tasks=tuple(tasks))) == ["causality"]
    missing = tuple(m for m in raw.traced_messages if m.job != raw.traced_messages[0].job)
    assert failing(made_system, replace(raw, traced_messages=missing)) == ["causality"]


ONE = task_graph([1.0])
PAIR = task_graph([1e-3, 1e-3], [(0, [1], 1.0)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("arrivals", [Arrivals(), Arrivals("gamma", cv=2.0)], ids=["poisson", "gamma"])
@pytest.mark.parametrize(("load", "state"), [(0.95, "stable"), (1.1, "overloaded")])
def test_executor_load_decides(seed, arrivals, load, state):
    system = make_system(query(ONE, load, 1.0, arrivals), seed=seed)
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=1500))
    assert records.state == state, records.state_reason
    assert bool(records.state_reason) == (state == "overloaded")


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(("load", "state"), [(0.95, "stable"), (1.1, "overloaded")])
def test_link_load_decides_background_included(discipline, load, state):
    system = make_system(
        query(PAIR, load - 0.5),
        servers=[0, 1],
        discipline=discipline,
        background_network=BackgroundStream(0.5, 1.0, 1.0),
    )
    records = simulate_run(system, *fixed([0, 1]), RunOptions(jobs=800))
    assert records.state == state
    assert ("the link" in records.state_reason) == (state == "overloaded")


@pytest.mark.parametrize(("load", "state"), [(0.9, "stable"), (1.2, "overloaded")])
def test_one_hot_executor_among_many_shows_by_growth(load, state):
    """The mean load is a tenth of it, so only the growing queue tells."""
    system = make_system(query(ONE, load, 1.0), servers=list(range(10)))
    records = simulate_run(system, *fixed([3]), RunOptions(jobs=6000))
    assert records.state == state
    assert ("growing" in records.state_reason) == (state == "overloaded")


def test_starved_jobs_stay_without_completion():
    def only_even(now, view, ready, tables, u, out):
        free = np.flatnonzero(view.queue_length == 0)
        for i in range(ready.n):
            if ready.job[i] % 2 == 0:
                out[:] = i, free[0]
                return True
        return False

    system = make_system(query(ONE, 0.5), servers=[0, 1])
    records = simulate_run(system, *scheduler(only_even, "pick", uniforms=1), RunOptions(jobs=50, warmup=0))
    assert records.state == "overloaded"
    assert "25 of 50" in records.state_reason
    assert np.isnan(records.completion_s).tolist() == [False, True] * 25
    assert all(c.ok for c in records.checks)


def test_a_policy_that_never_picks_ends():
    def idle(*_):
        return False

    system = make_system(query(ONE, 1.0), background_compute=BackgroundStream(0.3, 1.0, 1.0))
    records = simulate_run(system, *scheduler(idle, "pick", uniforms=1), RunOptions(jobs=20, warmup=0))
    assert (records.completed, records.state) == (0, "overloaded")
    assert records.in_flight == records.arrived >= 20


@pytest.mark.parametrize("make", [first_fit, lambda: uniform(1)])
def test_many_executors_at_moderate_load_are_stable_in_short_runs(make):
    for seed in range(3):
        system = make_system(query(ONE, 40.0, 1.0), servers=range(80), seed=seed)
        records = simulate_run(system, *make(), RunOptions(jobs=200))
        assert records.state == "stable", records.state_reason


@pytest.mark.parametrize("calm", [600.0, 2000.0])
def test_a_burst_at_the_end_of_the_window_leaves_a_backlog(calm):
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
    result = summarize([records, calm_end], [None], ["q"]).result
    assert result.state == "backlogged"
    assert result.jct_s.mean is not None


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_shares_of_a_live_run_are_of_all_jobs_that_arrived_as_in_its_result(engine):
    """Two queries a second where one can be served: few end, and they are not the fastest."""
    system = make_system(replace(query(task_graph([1.0]), 2.0, 0.0), slo_s=3.0))
    live = LiveSeries([3.0])
    options = RunOptions(jobs=400, warmup=0, tail_jobs=0, engine=engine)
    records = simulate_run(system, *fixed([0]), options, lambda told: live.add("a", 0, told))
    line = live.snapshot()["a"]
    done = int(records.tally.completed.sum())
    assert (line.jobs, line.arrived) == (done, 400)
    assert done < 300
    assert line.hit_rate == records.tally.hits.sum() / 400
    (tab,) = ecdf_series({"a": [records]}, ["q"])["a"]["all"].y[-1:]
    assert tab == done / 400 == sum(line.counts) / line.arrived
    assert quantile_s(line, 0.95) == math.inf
    stable = line.model_copy(update={"waiting": 0, "mean_s": 9.0})
    assert list(comparable({"a": line, "b": stable})) == ["b"]


def nightly(count, gap_s, cycle_s):
    """So many arrivals at equal gaps, then nothing until the cycle ends."""
    times = tuple(gap_s * n for n in range(count))
    return Arrivals("trace", times_s=times, scale_to_rate=False, period_s=cycle_s)


def test_a_part_of_a_nightly_batch_is_backlogged_and_its_jobs_wait_as_the_queue_says():
    """Jobs of 0.2 s arrive every 0.1 s, and nothing after them: job n waits for 0.1·n s."""
    system = make_system(query(task_graph([0.2]), 9.0, 0.0, nightly(1000, 0.1, 3600.0)))
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=300, warmup=50))
    assert (records.state, records.tally.completed.tolist()) == ("backlogged", [300])
    part = 100 * 29.9 / 3600
    assert f"{part:.2g} % of the cycle of 3,600 s was run; measure about 1,000 jobs" in records.state_reason
    assert records.offered[0] == pytest.approx(1000 * 0.2 / 3600)
    result = summarize([records], [None], ["q"]).result
    assert result.jct_s.mean == pytest.approx(0.2 + 0.1 * np.arange(50, 350).mean())
    full = make_system(query(task_graph([0.2]), 9.0, 0.0, nightly(1000, 0.1, 190.0)))
    overloaded = simulate_run(full, *fixed([0]), RunOptions(jobs=300, warmup=50))
    assert overloaded.state == "overloaded"
    assert f"{200 / 190:.3g}" in overloaded.state_reason


def test_part_of_a_burst_is_backlogged_too():
    """Bursts of twice the capacity, of 1,000 s on average, in a tenth of the time."""
    bursts = Arrivals("mmpp", burst_factor=5.0, burst_fraction=0.1, burst_mean_s=1000.0)
    found = set()
    for seed in range(12):
        system = make_system(query(task_graph([0.4]), 1.0, 1.0, bursts), seed=seed)
        records = simulate_run(system, *fixed([0]), RunOptions(jobs=500, warmup=0))
        found.add(records.state)
        assert records.state == "stable" or "of the cycle of 10,000 s was run" in records.state_reason
    assert found == {"stable", "backlogged"}


def test_marks_count_the_jobs_just_before_equally_many_arrivals():
    system = make_system(query(ONE, 0.7, 1.0), servers=[0])
    size = RunSize(50, 333, 0, True, 0, 10_000, 1000.0)
    raw = SimPyRun(system, *fixed([0]), size, None).run()
    whole = simulate_run(system, *fixed([0]), RunOptions(jobs=383, warmup=0))
    marks = size.marks()
    assert (marks[0], marks[-1], len(marks)) == (size.first, size.last, 21)
    assert np.abs(np.diff(marks) - 332 / 20).max() <= 1
    before = [int(np.sum(whole.completion_s[:m] > whole.arrival_s[m])) for m in marks]
    assert raw.open_at.tolist() == before


# In milliseconds, on links of 1 byte/ms.
SLIDES = task_graph([2.0, 10.0, 8.0, 2.0], [(0, [1], 9.0), (0, [2], 1.0), (1, [3], 9.0), (2, [3], 1.0)])
ALONE = RunOptions(jobs=1, warmup=0, timeline_jobs=1)


@pytest.mark.parametrize(
    ("discipline", "latency_ms", "total_ms", "ran_ms"),
    [
        ("fifo", 0, 32, {0: (0, 2), 1: (11, 21), 2: (12, 20), 3: (30, 32)}),
        # latency comes after the service and does not hold the link
        ("fifo", 5, 42, {0: (0, 2), 1: (16, 26), 2: (17, 25), 3: (40, 42)}),
        # 1→2 and 1→3 share: 1→3 is there at 4, 1→2 at 12; 3→4 ends at 13, 2→4 has the link from 22 to 31
        ("processor-sharing", 0, 33, {0: (0, 2), 1: (12, 22), 2: (4, 12), 3: (31, 33)}),
    ],
)
def test_the_timeline_of_the_slides_by_hand(discipline, latency_ms, total_ms, ran_ms):
    system = make_system(
        query(SLIDES, 1e-6), servers=[0, 1, 2, 3], discipline=discipline, latency_s=latency_ms
    )
    records = simulate_run(system, *fixed([0, 1, 2, 0]), ALONE)
    tasks, messages = records.timeline.tasks, records.timeline.messages
    begin = tasks[0].ready_s
    assert records.completion_time_s == pytest.approx([total_ms], abs=1e-6)
    assert np.isnan(records.utilization_compute)  # one measured job has no window
    assert all(c.ok for c in records.checks)
    assert {t.task: (round(t.start_s - begin, 6), round(t.end_s - begin, 6)) for t in tasks} == ran_ms
    assert {(m.source, m.destination) for m in messages} == {(0, 1), (0, 2), (2, 0), (1, 0)}
    assert all(m.delivered_s == pytest.approx(m.end_s + latency_ms) for m in messages)


@pytest.mark.parametrize(("run_on", "expected"), [(True, [6.0, 7.0]), (False, [7.0, 4.0])])
def test_run_on(run_on, expected):
    """A chain of 3 + 3 s meets a task of 1 s: with run-on that task waits for the whole chain."""
    once = Arrivals("trace", times_s=(0.0, 1e6), scale_to_rate=False)
    chain = query(task_graph([3.0, 3.0], [(0, [1], 1.0)]), arrivals=once, name="chain")
    single = query(task_graph([1.0]), arrivals=once, name="single")
    options = RunOptions(jobs=2, warmup=0, run_on=run_on)
    records = simulate_run(make_system(chain, single), *fixed([0, 0]), options)
    assert records.completion_s == pytest.approx(expected)
