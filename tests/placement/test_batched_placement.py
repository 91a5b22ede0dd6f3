"""Placement where executors batch: steps by the loop, predictions of formula and response by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from batch_loop import Key, run
from placement_helpers import query
from sizes import first, sized

from nona.errors import PlacementError
from nona.placement.batch_waits import ExecutorVisits, Kind, met_at, take_steps
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.prediction import predict
from nona.placement.response.equilibrium import predict_response
from nona.placement.sampled.judge import bounded
from nona.placement.sampled.search import choose_placement
from nona.placement.solve import solve
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Batching, Stream, System
from studies.prediction_map import blend

DIAMOND = [2.0, 10.0, 8.0, 2.0], [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)]  # seconds, bytes
SINGLE = [5.0], []
NOTHING = Stream()


def batched(shape, size, per_query, rate=1.0, rule="greedy", **more):
    """A query whose tasks take p·(1 − per_query + per_query·b); ``rate``: of an executor's capacity."""
    scv = more.pop("service_scv", 0.0)
    plain = query(*shape, 1.0, service_scv=scv)
    law = 1.0 - per_query + per_query * np.arange(1, size + 1)
    steps = Batching(law[:, None, None] * plain.tasks.compute_s, rule, **more)
    own = replace(plain, batching=steps)
    return replace(own, rate=rate / own.load_s.sum())


def system_of(queries, executors=1, background=NOTHING):
    servers = np.arange(executors)
    kinds = np.zeros(executors, dtype=np.int64)
    return System(servers, kinds, ("gpu",), 1e9, 0.0, "fifo", background, Stream(), tuple(queries))


def poisson(rng, rate, number):
    return np.cumsum(rng.exponential(1 / rate, number)).tolist()


def key_of(q):
    """Whole queries on one executor."""
    b = q.batching
    return Key(tuple(b.step_s.sum(axis=(1, 2)).tolist()), b.rule, b.delay_s, b.preferred)


RULES = [
    ("greedy", {}),
    ("delay", {"delay_s": 8.0}),
    ("static", {}),
    ("triton", {"delay_s": 8.0, "preferred": (2, 4)}),
    ("triton", {"preferred": (4, 2)}),
]


@pytest.mark.parametrize(("rule", "more"), RULES)
def test_steps_are_those_of_the_loop(rule, more):
    """Beside another kind that waits, a large one, and background."""
    rng = np.random.default_rng(5)
    queries = [
        batched(DIAMOND, 6, 0.3, 0.3, rule, **more),
        batched(SINGLE, 3, 0.5, 0.2, "delay", delay_s=3.0),
    ]
    keys = [key_of(q) for q in queries]
    time_s = [np.array(poisson(rng, q.rate, 2000)) for q in queries] + [np.array(poisson(rng, 0.01, 300))]
    kind = np.repeat([0, 1, 2], [len(t) for t in time_s])
    every = np.concatenate(time_s)
    order = np.argsort(every)
    arrivals = [(every[i], int(kind[i])) for i in order if kind[i] < 2]
    steps = run(arrivals, keys, background=[(t, 7.0) for t in time_s[2].tolist()])
    expected = {
        (s.key, (arrivals if s.key >= 0 else list(zip(time_s[2])))[i][0]): (s.start_s, len(s.members))
        for s in steps
        for i in s.members
    }
    kinds = [
        *(Kind(q.rate, np.array(k.step_s), 0.0, q.batching) for q, k in zip(queries, keys, strict=True)),
        Kind(0.01, np.array([7.0])),
    ]
    begin_s, _, members = take_steps(kinds, ExecutorVisits.single(every, kind), rng)
    assert (members == 0).sum() < 6  # none but a last step that is not full
    for i in np.flatnonzero(members).tolist():
        start_s, number = expected[int(kind[i]) if kind[i] < 2 else -1, every[i]]
        assert (begin_s[i], members[i]) == (pytest.approx(start_s, abs=1e-6), number)


def test_steps_run_on_where_all_members_do():
    """Of those at 0.1 s and 0.2 s one leaves after its first task: the other waits for who came at 1.5 s.

    Those at 10.1 s and 10.2 s go on alike, before who came at 11.5 s.
    """
    kinds = [Kind(1.0, np.array(step_s)) for step_s in ([1.0, 1.0], [1.0, 2.0], [3.0, 5.0])]
    came = [0.0, 0.1, 0.2, 1.5, 10.0, 10.1, 10.2, 11.5]
    visits = visits_of(came, [[0], [1, 2], [1], [0], [0], [1, 2], [1, 2], [0]])
    begin_s, end_s, members = take_steps(kinds, visits, np.random.default_rng(0))
    assert begin_s.tolist() == pytest.approx([0, 1, 4, 1, 3, 10, 11, 13, 11, 13, 18])
    assert end_s.tolist() == pytest.approx([1, 3, 7, 3, 4, 11, 13, 18, 13, 18, 19])
    assert members.tolist() == [1, 2, 1, 2, 1, 1, 2, 2, 2, 2, 1]


def test_a_fork_waits_with_both_of_its_tasks():
    """The second one's turn is that of the first: before who came while the first ran, and with its like."""
    kinds = [Kind(1.0, np.array([s, s])) for s in (1.0, 2.0, 3.0)]
    came = [0.0, 0.5, 1.5, 1.6]
    visits = visits_of(came, [[0, 1, 2], [0], [0], [2]], {2: 0})
    begin_s, _, members = take_steps(kinds, visits, np.random.default_rng(0))
    # At 1 s the fork is ready for both, its step runs on to task 1, and to task 2 with nobody else.
    assert begin_s.tolist() == pytest.approx([0, 1, 3, 6, 6, 7])
    assert members.tolist() == [1, 1, 1, 2, 2, 1]


def visits_of(came, tasks, since=()):
    """Visits at ``came``, each of whose tasks is ready after the one before, or that of ``since``."""
    begin = np.cumsum([0, *map(len, tasks)])[:-1]
    kind = np.concatenate([np.array(c) for c in tasks])
    after = np.arange(len(kind)) - 1
    after[begin] = -1
    for t, other in dict(since).items():
        after[t] = other
    return ExecutorVisits(np.array(came), kind, begin, after)


MIXES = [
    ([batched(DIAMOND, 8, 0.3, 0.85)], NOTHING),
    ([batched(DIAMOND, 8, 0.3, 0.4), batched(SINGLE, 8, 0.1, 0.4)], NOTHING),
    ([batched(DIAMOND, 4, 0.3, 0.5, "delay", delay_s=10.0)], Stream(0.02, 10.0, 1.0)),
    (
        [batched(DIAMOND, 8, 0.3, 0.3), batched(SINGLE, 16, 0.1, 0.2), query(*SINGLE, 0.03)],
        Stream(0.01, 10.0, 1.0),
    ),
    ([batched(DIAMOND, 8, 0.3, 0.6, "static")], NOTHING),
    ([batched(DIAMOND, 8, 0.3, 0.6, service_scv=0.5)], NOTHING),
    ([batched(SINGLE, 8, 0.1, 0.6, "triton", delay_s=2.0, preferred=(4,))], NOTHING),
]


@pytest.mark.parametrize(("queries", "background"), first(4, MIXES))
def test_whole_queries_take_as_long_as_predicted(queries, background):
    """Mean of formula and response, 95th percentile of the response, against the loop of one executor."""
    rng, system = np.random.default_rng(7), system_of(queries, 1, background)
    placed, number = local_placement(system), sized(30_000, 200_000)
    span = number / system.total_rate
    came = sorted(
        (t, j)
        for j, q in enumerate(queries)
        for t in (rng.random(rng.poisson(q.rate * span)) * span).tolist()
    )
    keys = [key_of(q) if q.batching else Key((float(q.tasks.compute_s.sum()),)) for q in queries]
    others = (
        [
            (t, s)
            for t, s in zip(
                poisson(rng, background.rate, int(background.rate * span)),
                rng.exponential(10.0, number),
                strict=False,
            )
        ]
        if background.rate
        else []
    )
    scv = queries[0].service_scv * float((DIAMOND[0] @ np.array(DIAMOND[0])) / sum(DIAMOND[0]) ** 2)
    steps = run(came, keys, others, iter(rng.gamma(1 / scv, scv, number).tolist()) if scv else None)
    response = predict_response(system, placed.queries, samples=4096)
    formula = predict(system, placed.queries)
    for j in range(len(queries)):
        times = [s.end_s - came[i][0] for s in steps if s.key == j for i in s.members]
        assert formula.queries[j].jct_s == pytest.approx(np.mean(times), rel=0.06)
        assert response.queries[j].mean_s == pytest.approx(np.mean(times), rel=0.06)
        assert response.queries[j].quantile_s(0.95) == pytest.approx(np.quantile(times, 0.95), rel=0.08)


def test_one_at_a_time_is_the_queue_without_batches():
    """Formula and response of B = 1 against Pollaczek–Khinchine, by which there are no batches."""
    plain = query(*DIAMOND, rate=0.6 / 22.0)
    own = system_of([batched(DIAMOND, 1, 0.3, 0.6)])
    placed = local_placement(own).queries
    expected = predict(system_of([plain]), placed).jct_s
    assert predict(own, placed).jct_s == pytest.approx(expected, rel=1e-6)
    assert predict_response(own, placed, samples=4096).mix.mean_s == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("load", [0.3, pytest.param(0.7, marks=pytest.mark.verify)])
def test_split_queries_take_as_long_as_predicted(load, share):
    """All tasks of a share of the queries on servers of their own, the others whole, by the engine."""
    system = system_of([batched(DIAMOND, 8, 0.3, 8 * load)], 8)
    placed = blend(local_placement(system).queries, spread_placement(system).queries, share)
    options = RunOptions(jobs=sized(3000, 20_000), engine="simpy")
    times = simulate_run(
        system, get_scheduler("nona"), build_tables(system, placed), options
    ).completion_time_s
    response = predict_response(system, placed, samples=2048).mix
    assert response.mean_s == pytest.approx(times.mean(), rel=0.15)
    assert response.quantile_s(0.95) == pytest.approx(np.quantile(times, 0.95), rel=0.2)


TWICE = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]
CHAINED = [2.0, 3.0, 2.0, 4.0, 2.0, 3.0, 2.0], [(*edge, 0.3) for edge in TWICE]


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(12))
def test_drawn_mixtures_take_as_long_as_predicted(seed):
    """Up to three models, rules, sizes, bursts, background, a busy link, any share of the queries split."""
    rng = np.random.default_rng(seed)
    servers, load, share = (float(rng.choice(c)) for c in ([4, 8, 16], [0.2, 0.5, 0.7], [0.1, 0.4, 0.8, 1]))
    queries = []
    for _ in range(int(rng.integers(1, 4))):
        rule, more = RULES[int(rng.choice(4))]
        shape, size = (DIAMOND, CHAINED)[int(rng.choice(2))], int(rng.choice([4, 8, 16]))
        one = batched(shape, size, float(rng.choice([0.1, 0.4])), servers * load / 3, rule, **more)
        bursts = Arrivals("gamma", cv=2.0) if rng.random() < 0.2 else one.arrivals
        queries.append(replace(one, arrivals=bursts, service_scv=float(rng.choice([0.0, 0.5]))))
    background = Stream(0.02, 5.0, 1.0) if rng.random() < 0.3 else NOTHING
    system = system_of(queries, int(servers), background)
    placed = blend(local_placement(system).queries, spread_placement(system).queries, share)
    own = predict(system, placed).network_utilization * system.capacity
    system = replace(system, capacity=own / float(rng.choice([0.2, 0.6])))
    prepared, options = build_tables(system, placed), RunOptions(jobs=40_000, engine="compiled")
    times = simulate_run(system, get_scheduler("nona"), prepared, options).completion_time_s[4000:]
    response = predict_response(system, placed).mix
    assert response.mean_s == pytest.approx(np.nanmean(times), rel=0.15)
    assert response.quantile_s(0.95) == pytest.approx(np.nanquantile(times, 0.95), rel=0.2)


def test_rows_of_one_model_that_are_taken_alike_share_steps():
    half = replace(batched(DIAMOND, 8, 0.3, 0.3), replica="one")
    together, apart = (system_of([half, replace(half, replica=name)]) for name in ("one", "other"))
    whole = system_of([replace(half, rate=2 * half.rate)])
    assert (together.batched_with, apart.batched_with) == ((0, 0), (0, 1))
    times = [predict(system, local_placement(system).queries).jct_s for system in (whole, together, apart)]
    assert times[1] == pytest.approx(times[0])
    assert times[2] > 1.1 * times[0]  # a step of either is in the other's way
    walked = [predict_response(s, local_placement(s).queries, samples=4096) for s in (whole, together)]
    assert walked[1].mix.mean_s == pytest.approx(walked[0].mix.mean_s, rel=0.04)


def test_a_placement_with_batches_has_no_certificate_and_says_so():
    system = system_of([batched(DIAMOND, 8, 0.3, 4 * 0.5)], executors=4)
    formula = solve(system)
    chosen = bounded(system, choose_placement(system, formula))
    assert "No certificate" in formula.notes[0]
    assert math.isnan(chosen.lower_bound_s)
    assert chosen.global_bound_s == pytest.approx(14.0)  # the longest chain alone
    assert chosen.prediction.compute_utilization == pytest.approx(0.5)
    assert chosen.objective_s <= 1.01 * predict_response(system, local_placement(system).queries).mix.mean_s


def test_more_than_full_steps_carry_is_refused():
    with pytest.raises(PlacementError, match=r"utilisation 1\.05 must be below 1"):
        solve(system_of([batched(DIAMOND, 8, 0.3, 1.05)]))


def test_executors_that_no_query_uses_are_left_idle():
    """Of two classes the second is so slow that none of the shares goes there, and it has no background."""
    q = batched(SINGLE, 4, 0.5, 0.5)
    steps = np.concatenate([q.batching.step_s, 1e6 * q.batching.step_s], axis=1)
    both = replace(
        q,
        tasks=replace(q.tasks, compute_s=steps[0]),
        batching=replace(q.batching, step_s=steps),
    )
    system = replace(system_of([both], 2), executor_class=np.array([0, 1]), class_names=("gpu", "abacus"))
    met = met_at(system, np.array([[1.0, 0.0]]))
    assert met.wait_s[0, 0] > 0 == met.wait_s[0, 1]
    assert met.sizes[0].sum(axis=0).tolist() == pytest.approx([1.0, 0.0])
