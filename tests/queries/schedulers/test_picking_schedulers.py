"""Tetris and Sparrow: picks by hand, cards and probes, times against theory and other ways of sampling."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scheduler_cases import picked, quiet, random_view, ready_rows, run_of, slides_query, system_of

from evidence.theory import choices_jct_s
from nona.cluster.topology import make_topology
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition, decompose
from nona.queries.schedulers.base import SystemView
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.schedulers.tetris import best_executors, neediest, progress, work_left_s
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import QueryClass
from nona.scenario.arrivals import Arrivals

TETRIS = get_scheduler("tetris")
CARD = 100.0  # bytes/s


def query_of(name, seconds, edges, rate=1.0):
    graph = TaskGraph.from_edges(name, seconds, edges)
    return QueryClass(name, graph, decompose(graph.dag), rate)


# a: 0 → 1 (40 bytes, 1 s: 40 bytes/s) → 2; b: 0 → 1 (60 bytes, 2 s: 30 bytes/s); c: one task of 5 s
A = query_of("a", [1.0, 1.0, 4.0], [(0, 1, 40.0), (1, 2, 8.0)])
B = query_of("b", [1.0, 2.0], [(0, 1, 60.0)])
C = query_of("c", [5.0], [])
SYSTEM = replace(quiet(system_of([A, B, C], range(4))), capacity=CARD)
DONE = -2


def view_of(free, cards_in=(0.0,) * 4, cards_out=(0.0,) * 4):
    queue = np.array([0 if e in free else 1 for e in range(4)])
    nothing = (0.0,) * 5
    cards = np.array([*cards_in, *cards_out])
    return SystemView(SYSTEM.executor_server, SYSTEM.executor_class, queue, np.zeros(4), *nothing, cards)


def ready_places(rows):
    """Rows of (job, query, task, executors held, places of the job's tasks)."""
    columns = dict(zip(("job", "query", "task", "job_running", "own"), zip(*rows, strict=True), strict=False))
    own = columns.pop("own", ())
    base = np.cumsum([0, *map(len, own)])[: len(rows)]
    return ready_rows(len(rows), len(rows), **columns, base=base, places=[p for of in own for p in of])


def pick(view, rows, u=0.0, **options):
    return picked(TETRIS, TETRIS.prepare(SYSTEM, None, options).tables, view, ready_places(rows), [u])


def aligned(view, row, e, system=SYSTEM, **options):
    """The alignment with executor e, as if it alone were free."""
    tables = TETRIS.prepare(system, None, options).tables
    queue = np.ones(4, dtype=np.int64)
    queue[e] = 0
    into = np.full(4, -1, dtype=np.int64)
    most, equal = best_executors(view._replace(queue_length=queue), ready_places([row]), 0, tables, into)
    assert into[:equal].tolist() == ([e] if most >= 0 else [])
    return most


A1 = (0, 0, 1, 0, (DONE - 0, -1, -1))  # task 1 of a; its input is on executor 0
B1 = (1, 1, 1, 0, (DONE - 1, -1))  # task 1 of b; its input is on executor 1
C0 = (2, 2, 0, 0, (-1,))


def test_alignment_is_demand_times_what_is_available():
    idle = view_of({0, 1, 2, 3})
    assert aligned(idle, A1, 0) == 1.0  # at home it needs no card
    # 40 of 100 bytes/s at the card out of server 0 and the card in of server 2, less a tenth
    assert aligned(idle, A1, 2) == pytest.approx(0.9 * (1 + 0.4 + 0.4))
    assert aligned(idle, A1, 2, remote_penalty=0.5) == pytest.approx(0.5 * (1 + 0.4 + 0.4))
    half = view_of({2}, cards_in=(0, 0, 50.0, 0), cards_out=(20.0, 0, 0, 0))
    assert aligned(half, A1, 2) == pytest.approx(0.9 * (1 + 0.4 * 0.8 + 0.4 * 0.5))
    assert aligned(idle, C0, 3) == 1.0


def test_a_card_is_not_promised_more_than_it_has():
    assert aligned(view_of({2}, cards_in=(0, 0, 60.0, 0)), A1, 2) > 0  # 60 + 40 fits just
    assert aligned(view_of({2}, cards_in=(0, 0, 61.0, 0)), A1, 2) == -1
    assert aligned(view_of({2}, cards_out=(61.0, 0, 0, 0)), A1, 2) == -1
    assert aligned(view_of({0}, cards_out=(61.0, 0, 0, 0)), A1, 0) == 1.0
    assert pick(view_of({2}, cards_in=(0, 0, 61.0, 0)), [A1]) is None
    # what needs more than a whole card starts where nothing is promised
    large = replace(SYSTEM, capacity=10.0)
    assert aligned(view_of({2}), A1, 2, large) == pytest.approx(0.9 * 3)
    assert aligned(view_of({2}, cards_in=(0, 0, 1.0, 0)), A1, 2, large) == -1


def test_picks_computed_by_hand():
    # work left: a 1 + 4 = 5 s, b 2 s, c 5 s; fits at executor 3: a 1.62, b 0.9·1.6 = 1.44, c 1
    # ε = (4.06 / 3) / (12 / 3) = 0.33833; scores −0.0717, 0.7633, −0.6917
    assert pick(view_of({3}), [A1, B1, C0], fairness=0.0) == (1, 3)
    # without b: ε = (2.62 / 2) / (10 / 2) = 0.262; scores 0.31, −0.31
    assert pick(view_of({3}), [A1, C0], fairness=0.0) == (0, 3)
    # at home a fits with 1, so do both with equal work: the first in the list
    assert pick(view_of({0}), [A1, C0], fairness=0.0) == (0, 0)
    assert pick(view_of({0}), [C0, A1], fairness=0.0) == (0, 0)
    # 0 is free as well: away from home a aligns better, on any of 1 to 3
    assert [pick(view_of({0, 1, 2, 3}), [A1], (i + 0.5) / 3) for i in range(3)] == [(0, 1), (0, 2), (0, 3)]
    # with half the alignment lost it stays
    assert pick(view_of({0, 1, 2, 3}), [A1], remote_penalty=0.5) == (0, 0)


def test_only_the_neediest_jobs_are_considered():
    b_holds_two = (1, 1, 1, 2, B1[4])
    assert pick(view_of({3}), [A1, b_holds_two, C0], fairness=0.0) == (1, 3)
    assert pick(view_of({3}), [A1, b_holds_two, C0], fairness=0.25) == (1, 3)  # ⌈0.75·3⌉ = 3 jobs
    assert pick(view_of({3}), [A1, b_holds_two, C0], fairness=0.4) == (0, 3)  # two jobs, without b
    # the neediest of jobs that hold equally many is the oldest
    rows = [(7, 2, 0, 1, (-1,)), (3, 2, 0, 1, (-1,)), (5, 2, 0, 0, (-1,)), (5, 2, 0, 0, (-1,))]
    assert neediest(ready_places(rows), 1.0) == 5
    assert neediest(ready_places(rows), 0.5) == (1 << 40) + 3
    assert neediest(ready_places(rows), 0.0) == (1 << 40) + 7


def test_the_last_tasks_of_a_stage_come_first():
    edges = [(0, i, 1.0) for i in range(1, 11)] + [(i, 11, 1.0) for i in range(1, 11)]
    wide = query_of("wide", [1.0] * 12, edges)
    system = replace(SYSTEM, queries=(wide, C))
    tables = TETRIS.prepare(system, None, {"fairness": 0.0}).tables
    short = (9, 1, 0, 0, (-1,))
    for done, chosen in ((8, 1), (9, 0)):
        places = (DONE, *[DONE] * done, *[-1] * (11 - done))
        table = ready_places([(4, 0, 10, 0, places), short])
        tables_c = tables._replace(work_s=np.append(tables.work_s[:-1], 0.1))  # c is nearly free of work
        assert progress(table, 0, tables) == pytest.approx(done / 10)
        assert work_left_s(table, 0, tables) == pytest.approx(11 - done)
        assert picked(TETRIS, tables_c, view_of({0}), table, [0.0]) == (chosen, 0)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("cards", [False, True])
def test_in_a_run_no_card_is_promised_more_than_it_has_or_one_task_needs(engine, cards):
    edges = [(0, 1, 9.0), (0, 2, 9.0), (0, 3, 5.0), (1, 4, 3.0), (2, 4, 3.0), (3, 4, 2.0)]
    fork = query_of("fork", [0.2, 0.5, 0.3, 0.4, 0.1], edges, 3.0)
    topology = make_topology(4, CARD, nic=40.0) if cards else None
    system = quiet(system_of([fork], (0, 0, 1, 1, 2, 2, 3, 3)))
    system = replace(system, capacity=CARD, topology=topology)
    prepared = TETRIS.prepare(system, None, {})
    capacity = 40.0 if cards else CARD
    assert prepared.tables.card_bytes_s.tolist() == [capacity] * 8
    most, idle = 0.0, 0

    def decide(now, view, ready, tables, u, out):
        nonlocal most, idle
        most = max(most, float(view.card_bytes_s.max()))
        idle += not view.card_bytes_s.any()
        return TETRIS.decide(now, view, ready, tables, u, out)

    run = simulate_run(
        system, replace(TETRIS, decide=decide), prepared, RunOptions(jobs=300, warmup=20, engine=engine)
    )
    assert not np.isnan(run.completion_s).any()
    assert capacity * 0.4 < most <= max(capacity, 80.0)  # the sink alone reads 8 bytes in 0.1 s
    assert idle > 0  # what was promised is taken off again


SPARROW = get_scheduler("sparrow")


def reserved(free, executors, rows, d=2):
    """What is picked of rows of (job, first of the batch, size of the batch, the job's draw)."""
    system = system_of([slides_query()], range(executors))
    queue = np.array([0 if e in free else 1 for e in range(executors)])
    view = random_view(system, np.random.default_rng(0))._replace(queue_length=queue)
    names = ("job", "batch_first", "batch_size", "job_draw")
    columns = dict(zip(names, zip(*rows, strict=True), strict=False))
    ready = ready_rows(len(rows), len({row[0] for row in rows}), **columns, places=[-1] * 4)
    return picked(SPARROW, SPARROW.prepare(system, None, {"d": d}).tables, view, ready, [0.0])


def probed(executors, row, d=2):
    """The executors that would take a task of a batch, found by leaving one free at a time."""
    return [e for e in range(executors) if reserved({e}, executors, [row], d)]


@pytest.mark.parametrize("executors", [1, 2, 6, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_a_batch_probes_d_times_m_different_executors(executors, size):
    for draw in np.random.default_rng(size).random(25):
        for d in (1, 2, 3):
            assert len(probed(executors, (4, 0, size, float(draw)), d)) == min(d * size, executors)


@pytest.mark.verify
def test_every_pair_of_executors_is_probed_alike_and_batches_of_a_job_differ():
    rng = np.random.default_rng(3)
    each = 50  # on average
    pairs = [tuple(probed(5, (0, 2, 1, float(u)))) for u in rng.random(10 * each)]
    counts = np.unique(np.array(pairs), axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert ((counts - each) ** 2 / each).sum() < 27.9  # chi square, 9 degrees of freedom, 0.1 %
    same = [probed(40, (0, 1, 1, float(u))) == probed(40, (0, 2, 1, float(u))) for u in rng.random(200)]
    assert sum(same) < 10


def test_a_free_executor_serves_its_oldest_reservation_and_no_other():
    rows = [(3, 0, 2, 0.9), (3, 0, 2, 0.9), (1, 0, 1, 0.1), (8, 0, 1, 0.55)]
    mine = [set(probed(9, row)) for row in rows]
    for e in range(9):
        expected = next(((i, e) for i, probes in enumerate(mine) if e in probes), None)
        assert reserved({e}, 9, rows) == expected
    assert any(reserved({e}, 9, rows) is None for e in range(9))


def test_when_the_tasks_of_a_batch_are_placed_its_reservations_are_gone():
    row = (3, 0, 2, 0.9)
    probes = set(probed(9, row))
    assert len(probes) == 4
    first = reserved(probes, 9, [row, row])
    second = reserved(probes - {first[1]}, 9, [row])  # one of two is left, the batch is still one of two
    assert second[1] in probes - {first[1]}
    assert reserved(probes, 9, []) is None


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_round_trip_is_paid_once_for_each_layer(engine):
    # alone: 2 ms, then 10 and 8 ms apart or one after the other, then 2 ms; at every step one round trip
    query = replace(slides_query(), arrivals=Arrivals(process="deterministic"))
    graph = replace(query.tasks, tensor_bytes=np.zeros(len(query.tasks.tensor_bytes)))
    system = quiet(system_of([replace(query, tasks=graph)], range(8)))
    for round_trip_s in (0.0, 0.004):
        given = {"round_trip_s": round_trip_s}
        run = run_of(system, "sparrow", options=given, jobs=40, warmup=2, engine=engine)
        assert run.completion_time_s == pytest.approx([0.014 + 3 * round_trip_s] * 40, abs=1e-9)
        assert run.parts_s.sum(axis=1) == pytest.approx(run.completion_time_s)
        assert run.parts_s[:, 3] == pytest.approx([3 * round_trip_s] * 40, abs=1e-9)  # as for a server


def single(tasks, rate):
    """Jobs of independent tasks of mean 1 s, exponential."""
    graph = TaskGraph.from_edges("bag", [1.0] * tasks, [])
    return QueryClass("bag", graph, Decomposition((), ()), rate, service_scv=1.0)


def mean_s(system, name, jobs, **options):
    return float(run_of(system, name, options=options, jobs=jobs, warmup=jobs // 5).completion_time_s.mean())


EXECUTORS = 200


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_single_tasks_take_as_long_as_theory_says(load):
    """Two reservations of which the first to come up is kept: the task runs where the work left is less.

    With very many executors and services exponential of mean 1, the share F(w) of executors with more work
    left than w follows F' = λF² − F, F(0) = λ, so F(w) = 1 / (λ + (1/λ − λ)·eʷ) and
    E[T] = 1 + ∫F² dw = −ln(1 − λ²) / λ². Looking at queue lengths only, by contrast, gives
    E[T] = Σ λ^(2ⁱ − 2), which is what ``jsq-d`` takes.
    """
    system = quiet(system_of([single(1, load * EXECUTORS)], range(EXECUTORS)))
    late = mean_s(system, "sparrow", 25_000)
    assert late == pytest.approx(-math.log(1 - load**2) / load**2, rel=0.03)
    per_task = mean_s(system, "jsq-d", 25_000, d=2)
    assert per_task == pytest.approx(choices_jct_s(load, 1.0, 2), rel=0.03)
    terms = sum(load ** (2**i - 2) for i in range(1, 12))
    assert choices_jct_s(load, 1.0, 2) == pytest.approx(terms)
    assert late < per_task
    bags = quiet(system_of([single(20, load * EXECUTORS / 20)], range(EXECUTORS)))
    assert 1.04 * mean_s(bags, "sparrow", 4000) < mean_s(bags, "jsq-d", 4000, d=2)
