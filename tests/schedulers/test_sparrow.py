"""The scheduler ``sparrow``: its probes, its order, and times against theory and other ways of sampling."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scheduler_cases import random_view, ready_rows, slides_query, system_of

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import Decomposition
from nona.schedulers.base import Prepared
from nona.schedulers.jsq_d import Draws
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.theory import choices_jct_s
from nona.system import Arrivals, QueryClass, Stream

SPARROW = get_scheduler("sparrow")


def ready_of(rows):
    """Rows of (job, first of the batch, size of the batch, the job's draw)."""
    names = ("job", "batch_first", "batch_size", "job_draw")
    columns = dict(zip(names, zip(*rows, strict=True), strict=False))
    return ready_rows(len(rows), len({row[0] for row in rows}), **columns, places=[-1] * 4)


def picked(free, executors, rows, d=2):
    """Place in the list and executor; ``None``: nothing is picked."""
    system = system_of([slides_query()], range(executors))
    queue = np.array([0 if e in free else 1 for e in range(executors)])
    view = random_view(system, np.random.default_rng(0))._replace(queue_length=queue)
    out = np.full(2, -1, dtype=np.int64)
    tables = SPARROW.prepare(system, None, {"d": d}).tables
    said = SPARROW.decide(0.0, view, ready_of(rows), tables, np.zeros(1), out)
    return (int(out[0]), int(out[1])) if said else None


def probed(executors, row, d=2):
    """The executors that would take a task of a batch, found by leaving one free at a time."""
    return [e for e in range(executors) if picked({e}, executors, [row], d)]


@pytest.mark.parametrize("executors", [1, 2, 6, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_a_batch_probes_d_times_m_different_executors(executors, size):
    for draw in np.random.default_rng(size).random(25):
        for d in (1, 2, 3):
            assert len(probed(executors, (4, 0, size, float(draw)), d)) == min(d * size, executors)


def test_every_pair_of_executors_is_probed_alike_and_batches_of_a_job_differ():
    rng = np.random.default_rng(3)
    pairs = [tuple(probed(5, (0, 2, 1, float(u)))) for u in rng.random(4000)]
    counts = np.unique(np.array(pairs), axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi square, 9 degrees of freedom, 0.1 %
    same = [probed(40, (0, 1, 1, float(u))) == probed(40, (0, 2, 1, float(u))) for u in rng.random(200)]
    assert sum(same) < 10


def test_a_free_executor_serves_its_oldest_reservation_and_no_other():
    rows = [(3, 0, 2, 0.9), (3, 0, 2, 0.9), (1, 0, 1, 0.1), (8, 0, 1, 0.55)]
    mine = [set(probed(9, row)) for row in rows]
    for e in range(9):
        expected = next(((i, e) for i, probes in enumerate(mine) if e in probes), None)
        assert picked({e}, 9, rows) == expected
    assert any(picked({e}, 9, rows) is None for e in range(9))


def test_when_the_tasks_of_a_batch_are_placed_its_reservations_are_gone():
    row = (3, 0, 2, 0.9)
    probes = set(probed(9, row))
    assert len(probes) == 4
    first = picked(probes, 9, [row, row])
    second = picked(probes - {first[1]}, 9, [row])  # one of two is left, the batch is still one of two
    assert second[1] in probes - {first[1]}
    assert picked(probes, 9, []) is None


def quiet(query, executors, seed=3):
    system = system_of([query], range(executors), seed)
    return replace(system, background_compute=Stream(), background_network=Stream())


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_round_trip_is_paid_once_for_each_layer(engine):
    # alone: 2 ms, then 10 and 8 ms apart or one after the other, then 2 ms; at every step one round trip
    query = replace(slides_query(), arrivals=Arrivals(process="deterministic"))
    graph = replace(query.tasks, tensor_bytes=np.zeros(len(query.tasks.tensor_bytes)))
    system = quiet(replace(query, tasks=graph), 8)
    for round_trip_s in (0.0, 0.004):
        prepared = SPARROW.prepare(system, None, {"round_trip_s": round_trip_s})
        run = simulate_run(system, SPARROW, prepared, RunOptions(jobs=40, warmup=2, engine=engine))
        assert run.completion_time_s == pytest.approx([0.014 + 3 * round_trip_s] * 40, abs=1e-9)
        assert run.parts_s.sum(axis=1) == pytest.approx(run.completion_time_s)
        assert run.parts_s[:, 3] == pytest.approx([3 * round_trip_s] * 40, abs=1e-9)  # as for a server


def single(tasks, rate):
    """Jobs of independent tasks of mean 1 s, exponential."""
    graph = TaskGraph.from_edges("bag", [1.0] * tasks, [])
    return QueryClass("bag", graph, Decomposition((), ()), rate, service_scv=1.0)


def mean_s(system, scheduler, options, jobs):
    prepared = scheduler.prepare(system, None, options)
    run = simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, warmup=jobs // 5))
    return float(run.completion_time_s.mean())


EXECUTORS = 200


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_single_tasks_take_as_long_as_theory_says(load):
    """Two reservations of which the first to come up is kept: the task runs where the work left is less.

    With very many executors and services exponential of mean 1, the share F(w) of executors with more work
    left than w follows F' = λF² − F, F(0) = λ, so F(w) = 1 / (λ + (1/λ − λ)·eʷ) and
    E[T] = 1 + ∫F² dw = −ln(1 − λ²) / λ². Looking at queue lengths only, by contrast, gives
    E[T] = Σ λ^(2ⁱ − 2), which is what ``jsq-d`` takes.
    """
    system = quiet(single(1, load * EXECUTORS), EXECUTORS)
    late = mean_s(system, SPARROW, {}, 25_000)
    assert late == pytest.approx(-math.log(1 - load**2) / load**2, rel=0.03)
    per_task = mean_s(system, get_scheduler("jsq-d"), {"d": 2}, 25_000)
    assert per_task == pytest.approx(choices_jct_s(load, 1.0, 2), rel=0.03)
    terms = sum(load ** (2**i - 2) for i in range(1, 12))
    assert choices_jct_s(load, 1.0, 2) == pytest.approx(terms)
    assert late < per_task


def batch_sampling():
    """Batch sampling without late binding: of 2·m executors drawn each task joins the shortest queue."""

    def decide(now, query, view, tables, u, out):
        m = tables.tasks[query]
        length = {e: int(view.queue_length[e]) for e in (int(x * len(view.queue_length)) for x in u[: 2 * m])}
        for i in range(m):
            e = min(length, key=lambda x: (length[x], x))
            length[e] += 1
            out[i] = e

    def prepare(system, placement, options):
        tasks = np.array([len(q.tasks) for q in system.queries], dtype=np.int64)
        return Prepared(Draws(tasks, 2), 2 * int(tasks.max()))

    random = get_scheduler("random")
    return replace(random, name="batch", decide=decide, prepare=prepare, reads_queues=True, takes_lists=False)


def test_the_order_of_the_ways_of_sampling_at_load_0_8():
    tasks, executors = 20, 200
    system = quiet(single(tasks, 0.8 * executors / tasks), executors)
    chance = mean_s(system, get_scheduler("random"), {}, 4000)
    per_task = mean_s(system, get_scheduler("jsq-d"), {"d": 2}, 4000)
    batch = mean_s(system, batch_sampling(), {}, 4000)
    late = mean_s(system, SPARROW, {}, 4000)
    assert chance > 2 * per_task
    assert per_task > 1.02 * batch
    assert batch > 1.02 * late
