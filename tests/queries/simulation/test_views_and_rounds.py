"""What schedulers see, their level and no more, and true; rounds that give queries sets of executors."""

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from simulation_cases import make_system, query, scheduler, task_graph

from nona.cluster.topology import make_topology
from nona.core.errors import SimulationError
from nona.queries.schedulers.base import Allotment, NetworkView
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import BackgroundStream
from nona.scenario.arrivals import Arrivals

PAIR = task_graph([1.0, 1.0], [(0, [1], 2.0)])
LEVELS = {"capacity": 1, "latency_s": 1, "past_transfer_s": 2, "link_promised_s": 3, "link_queue_bytes": 4}


def views(level, reads=False, **changes):
    """The views at the arrivals at 0, 2, 4, 6 s; every job sends 2 bytes from server 0 to 1."""
    seen = []

    def watch(now, query, view, tables, u, out):
        copied = {"queue_length": view.queue_length.copy(), "backlog_s": view.backlog_s.copy()}
        seen.append((now, view._replace(**copied)))
        out[:] = (0, 1)

    arrivals = Arrivals("trace", times_s=(0.0, 2.0, 4.0, 6.0, 1e6), scale_to_rate=False)
    system = make_system(query(PAIR, arrivals=arrivals), servers=[0, 1, 1], latency_s=0.25, **changes)
    simulate_run(system, *scheduler(watch, view=level, reads_queues=reads), RunOptions(jobs=4, warmup=0))
    return seen[:4]


@pytest.mark.parametrize("level", NetworkView)
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_what_is_above_the_level_or_not_read_is_hidden_and_arrays_cannot_be_written(level, discipline):
    for _, view in views(level, discipline=discipline):
        for name, least in LEVELS.items():
            assert math.isnan(getattr(view, name)) == (least > level)
        assert view.queue_length.tolist() == [-1, -1, -1]
        assert np.isnan(view.backlog_s).all()
    with pytest.raises(ValueError, match="read-only"):
        view.executor_server[0] = 5


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_what_is_shown_is_true(discipline):
    """Task 0 runs 1 s; the message is requested at 1, served until 3, delivered at 3.25; and so on."""
    seen = views(NetworkView.N4, reads=True, discipline=discipline)
    assert [now for now, _ in seen] == [0.0, 2.0, 4.0, 6.0]
    assert [v.queue_length.tolist() for _, v in seen] == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]]
    assert [v.backlog_s.tolist() for _, v in seen] == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]]
    assert [v.link_queue_bytes for _, v in seen] == pytest.approx([0, 1, 1, 1])
    assert [v.link_promised_s for _, v in seen] == pytest.approx([0, 1, 1, 1])
    assert [v.past_transfer_s for _, v in seen] == pytest.approx([0, 0, 2.25, 2.25])


def test_what_is_shown_of_several_links_is_true():
    """Cards of half the core's capacity: a message holds both for 4 s and the core for 2 s.

    The first is requested at 1 and delivered at 5.25. The second is requested at 3 and stands at the
    first card until 5; the core and the last card are promised to it, but it waits at neither.
    """
    seen = [v for _, v in views(NetworkView.N4, topology=make_topology(2, 1.0, nic=0.5))]
    assert [v.link_queue_bytes for v in seen] == pytest.approx(
        [0, 1.5 + 1 + 1.5, 2.5 + 0 + 0.5, 3.5 + 1 + 1.5]
    )
    assert [v.link_promised_s for v in seen] == pytest.approx([0, 3, 5, 7])
    assert [v.past_transfer_s for v in seen] == pytest.approx([0, 0, 0, 4.25])
    assert {v.capacity for v in seen} == {1.0}


def test_one_link_of_a_topology_shows_what_a_single_link_shows():
    background = BackgroundStream(1.0, 0.3, 1.0)
    shown = [
        [repr(v) for v in views(NetworkView.N4, reads=True, background_network=background, **changes)]
        for changes in ({}, {"topology": make_topology(2, 1.0)})
    ]
    assert shown[0] == shown[1]


def test_background_counts_in_queues_but_not_in_promises():
    seen = views(
        NetworkView.N4,
        reads=True,
        background_compute=BackgroundStream(5.0, 3.0, 0.0),
        background_network=BackgroundStream(1.0, 5.0, 0.0),
    )
    _, last = seen[-1]
    assert last.queue_length[2] > 10
    assert last.backlog_s[2] == pytest.approx(3.0 * last.queue_length[2])
    assert last.link_queue_bytes > 10
    assert last.link_promised_s < 5


FLOWS = [n for n in scheduler_names() if get_scheduler(n).kind == "allocate"]
ENGINES = ("simpy", "compiled")
JOBS = 400
ROUND_S = 2.0
FORK = [(0, [1, 2], 0.05), (1, [3], 0.02), (2, [3], 0.02)]


def busy(**changes):
    """Two classes that fork and a short one, on six executors of two classes, with background everywhere."""
    times = np.array([0.2, 0.5, 0.3, 0.4])
    fields = {
        "executor_class": np.array([0, 0, 0, 1, 1, 1]),
        "class_names": ("quick", "slow"),
        "latency_s": 0.01,
        "background_compute": BackgroundStream(0.3, 0.2, 1.0),
        "background_network": BackgroundStream(2.0, 0.1, 1.0),
    }
    return make_system(
        query(task_graph([times, 2 * times], FORK), 0.9, 0.5, name="a"),
        query(task_graph([0.5 * times, 0.6 * times], FORK), 0.8, 0.5, name="b"),
        query(task_graph([[0.1], [0.1]]), 1.0, 1.0, name="c"),
        servers=(0, 0, 1, 1, 2, 2),
        **(fields | changes),
    )


def watched_run(system, name, engine="simpy", scramble=lambda seen: seen, **options):
    scheduler, watched = get_scheduler(name), SimpleNamespace(rounds=[], sets=[])
    prepared = scheduler.prepare(system, None, {"round_s": ROUND_S})

    def allocate(seen, memory):
        found = prepared.allocate(scramble(seen), memory)
        kept = {name: np.copy(part) for name, part in seen._asdict().items() if name != "view"}
        watched.rounds.append(seen._replace(**kept))
        watched.sets.append(found.sets)
        return found

    size = RunOptions(**{"jobs": JOBS, "warmup": 0, "timeline_jobs": JOBS, "engine": engine, **options})
    return simulate_run(system, scheduler, prepared._replace(allocate=allocate), size), watched


@cache
def busy_run(name, engine="simpy"):
    return watched_run(busy(), name, engine)


def least_loaded(system, engine):
    scheduler, size = get_scheduler("least-loaded"), RunOptions(JOBS, 0, timeline_jobs=JOBS, engine=engine)
    return simulate_run(system, scheduler, scheduler.prepare(system, None, {}), size)


def same_records(a, b):
    return a.completion_s.tobytes() == b.completion_s.tobytes() and a.timeline == b.timeline


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_runs_whole_on_one_executor_of_the_set_of_its_flow(name, engine):
    records, watched = busy_run(name, engine)
    assert [c.name for c in records.checks if not c.ok] == []
    assert len(watched.sets) > 20
    where = {}
    for task in records.timeline.tasks:
        where.setdefault(task.job, set()).add(task.executor)
    narrow, times = 0, [seen.now_s for seen in watched.rounds]
    for job, executors in where.items():
        assert len(executors) == 1
        rounds = int(np.searchsorted(times, records.arrival_s[job], side="right"))
        if rounds:  # a round comes before the arrivals at its instant
            own = watched.sets[rounds - 1][records.query[job]]
            assert own[executors.pop()] or not own.any()
            narrow += bool(own.any() and not own.all())
    assert narrow > 100


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_sees_what_happened_before_it(name, engine):
    records, watched = busy_run(name, engine)
    slow = busy().executor_class
    ran = {t.job: (t.executor, 0.0) for t in records.timeline.tasks}
    service = dict.fromkeys(ran, 0.0)
    for t in sorted(records.timeline.tasks, key=lambda t: (t.job, t.task)):
        service[t.job] += t.end_s - t.start_s
    inside = [r for r in watched.rounds if r.now_s <= records.arrival_s[-1]]
    assert len(inside) > 20
    for seen in inside:
        begin, end = seen.now_s - ROUND_S, seen.now_s
        new = (records.arrival_s >= begin) & (records.arrival_s < end)
        done = (records.completion_s >= begin) & (records.completion_s < end)
        there = (records.arrival_s < end) & (records.completion_s >= end)
        assert seen.offered.tolist() == np.bincount(records.query[new], minlength=3).tolist()
        assert seen.open.tolist() == np.bincount(records.query[there], minlength=3).tolist()
        completed, service_s = np.zeros((3, 2), int), np.zeros((3, 2))
        for job in np.flatnonzero(done):
            at = records.query[job], slow[ran[job][0]]
            completed[at] += 1
            service_s[at] += service[job]
        assert seen.completed.tolist() == completed.tolist()
        assert seen.service_s == pytest.approx(service_s)
        if get_scheduler(name).network_view >= NetworkView.N2:
            response = np.bincount(
                records.query[done], (records.completion_s - records.arrival_s)[done], minlength=3
            )
            with np.errstate(invalid="ignore"):
                expected = np.where(completed.sum(axis=1) > 0, response / service_s.sum(axis=1), np.nan)
            assert seen.slowdown == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", FLOWS)
def test_what_is_hidden_of_the_network_is_nan_and_does_not_matter(name):
    """Every field above the declared level is changed; the sets must not change by one executor."""
    level = get_scheduler(name).network_view
    rng = np.random.default_rng(3)

    def scramble(seen):
        for part, least in LEVELS.items():
            assert np.isnan(getattr(seen.view, part)) == (least > level)
        hidden = {part: float(rng.exponential(9.0)) for part, least in LEVELS.items() if least > level}
        if level < NetworkView.N2:
            assert np.isnan(seen.slowdown).all()
            seen = seen._replace(slowdown=rng.exponential(9.0, len(seen.slowdown)))
        return seen._replace(view=seen.view._replace(**hidden))

    plain, before = busy_run(name)
    other, after = watched_run(busy(), name, scramble=scramble)
    assert same_records(plain, other)
    assert all((a == b).all() for a, b in zip(before.sets, after.sets, strict=True))


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize(
    "network",
    [
        {"background_network": BackgroundStream(6.0, 0.1, 4.0)},
        {"capacity": 0.2, "latency_s": 0.3},
        {"discipline": "processor-sharing"},
    ],
    ids=["more background", "slower link", "shared link"],
)
def test_as_queries_send_nothing_no_network_changes_a_decision(name, network):
    plain, before = busy_run(name)
    other, after = watched_run(busy(**network), name)
    assert plain.completion_s.tobytes() == other.completion_s.tobytes()
    assert all((a == b).all() for a, b in zip(before.sets, after.sets, strict=False))


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_that_is_alone_has_all_executors(name):
    """One class on equal executors: the same run as with least-loaded."""
    system = make_system(
        query(task_graph([0.2, 0.3], [(0, [1], 0.1)]), 5.0, 1.0), servers=(0, 1, 2, 3), latency_s=0.01
    )
    assert same_records(watched_run(system, name)[0], least_loaded(system, "simpy"))


def by_hand(system, sets, round_s=0.5):
    scheduler, always = get_scheduler("least-loaded"), Allotment(np.array(sets, dtype=np.bool_), None)
    prepared = scheduler.prepare(system, None, {})._replace(round_s=round_s, allocate=lambda *_: always)
    return replace(scheduler, name="by-hand", kind="allocate"), prepared


def test_flows_with_an_executor_each_are_queues_of_their_own():
    """Two M/M/1 queues on two executors: E[T] = 1/(μ − λ) each."""
    system = make_system(
        query(task_graph([1.0]), 0.5, 1.0, name="a"),
        query(task_graph([1.0]), 0.7, 1.0, name="b"),
        servers=(0, 1),
    )
    made = by_hand(system, [[1, 0], [0, 1]], round_s=50.0)
    sizes = [RunOptions(jobs=8000, replication=i, engine="compiled") for i in range(8)]
    runs = [simulate_run(system, *made, size) for size in sizes]
    means = np.array([[r.completion_time_s[r.query == k].mean() for k in (0, 1)] for r in runs])
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    for k, rate in enumerate((0.5, 0.7)):
        assert means[:, k].mean() == pytest.approx(1 / (1 - rate), abs=4 * error[k])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flow_without_an_executor_may_use_all_that_hold_its_model_and_what_is_no_round_is_refused(engine):
    system = busy()
    size = RunOptions(JOBS, 0, timeline_jobs=JOBS, engine=engine)
    found = simulate_run(system, *by_hand(system, np.zeros((3, 6))), size)
    assert same_records(found, least_loaded(system, engine))
    with pytest.raises(SimulationError, match=r"by-hand.*shape \(3, 5\) must be of bool and shape \(3, 6\)"):
        simulate_run(system, *by_hand(system, np.ones((3, 5))), size)
    with pytest.raises(SimulationError, match=r"by-hand.*round_s=0 must be above 0"):
        simulate_run(system, *by_hand(system, np.ones((3, 6)), round_s=0.0), size)


@pytest.mark.parametrize("engine", ENGINES)
def test_rounds_count_from_the_start_and_each_run_begins_anew(engine):
    first = busy_run("tiresias", engine)
    again = watched_run(busy(), "tiresias", engine)
    assert [r.now_s for r in first[1].rounds[:3]] == [ROUND_S, 2 * ROUND_S, 3 * ROUND_S]
    assert same_records(first[0], again[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_rounds_without_a_query_are_left_out(engine):
    """A query a minute: rounds of a second are asked while it is there, and once after it."""
    system = make_system(query(task_graph([2.5]), 1 / 60, 0.0), servers=(0, 1))
    records, watched = watched_run(system, "optimus", engine, jobs=60)
    asked = {float(seen.now_s) for seen in watched.rounds}
    expected = set()
    for arrival_s, completion_s in zip(records.arrival_s, records.completion_s, strict=True):
        first = np.floor(arrival_s / ROUND_S) + 1
        last = np.floor(completion_s / ROUND_S) + 1
        expected |= {ROUND_S * n for n in np.arange(first, last + 1)}
    end = records.arrival_s[-1]
    assert {t for t in asked if t <= end} == {t for t in expected if t <= end}
    assert len(asked) < 0.2 * end / ROUND_S
