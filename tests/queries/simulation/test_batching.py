"""Executors that batch: by hand, against queueing theory, against a loop of its own, and what must hold."""

from collections import defaultdict
from dataclasses import replace

import batch_loop
import numpy as np
import pytest
import simulation_cases as cases
from drawn_systems import batched, batching, systems
from hypothesis import assume, given
from hypothesis import strategies as st
from sizes import examples, sized

from evidence.bulk_queue import bulk_queue, memoryless_batches
from nona.core.random_streams import RandomStreams
from nona.core.statistics import overlapping_batch_means
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.workload import background_items
from nona.queries.system import BackgroundStream, Batching
from nona.scenario.arrivals import Arrivals

ENGINES = ("simpy", "compiled")
LONG_S = 60.0  # by then all that can start has ended


def batching_query(step_s, rule="greedy", delay_s=0.0, rate=1.0, instants=None, scv=0.0, **options):
    """One task, whose steps last ``step_s`` by members."""
    replayed = instants and Arrivals("trace", times_s=tuple(instants), scale_to_rate=False, period_s=LONG_S)
    one = cases.query(cases.task_graph([step_s[0]]), rate, scv, replayed, options.pop("name", "q"))
    steps = np.array(step_s, dtype=float).reshape(-1, 1, 1)
    return replace(one, batching=Batching(steps, rule, delay_s, **options))


def run(system, made, jobs, engine="compiled", **options):
    records = simulate_run(system, *made, RunOptions(jobs=jobs, engine=engine, **options))
    assert [c for c in records.checks if not c.ok] == []
    return records


def steps_of(tasks):
    """(executor, step) → its intervals."""
    steps = defaultdict(list)
    for t in tasks:
        steps[t.executor, t.step].append(t)
    return steps


BY_HAND = [  # rule, largest, delay in ms, preferred, formed ahead → (start in ms, members) of each batch
    ("greedy", 4, 0, (), 0, [(0, 1), (10, 4), (20, 1)]),
    ("delay", 4, 8, (), 0, [(3, 4), (13, 2)]),
    ("delay", 8, 8, (), 0, [(8, 6)]),
    ("static", 3, 0, (), 0, [(2, 3), (12, 3)]),
    ("triton", 8, 8, (2, 4), 0, [(1, 2), (11, 4)]),
    ("triton", 8, 0, (2,), 1, [(0, 1), (10, 2), (20, 2), (30, 1)]),
    ("triton", 8, 0, (2,), 0, [(0, 1), (10, 2), (20, 2), (30, 1)]),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("rule", "largest", "delay_ms", "preferred", "ahead", "batches"), BY_HAND)
def test_six_queries_a_millisecond_apart(rule, largest, delay_ms, preferred, ahead, batches, engine):
    instants = [1e-3 * k for k in range(6)]
    options = {"preferred": preferred, "form_ahead": ahead}
    one = batching_query([0.01] * largest, rule, 1e-3 * delay_ms, instants=instants, **options)
    records = run(cases.make_system(one), cases.fixed([0]), 6, engine, warmup=0, timeline_jobs=6)
    steps = steps_of(records.timeline.tasks).values()
    starts = sorted((round(1e3 * step[0].start_s, 9), len(step)) for step in steps)
    assert starts == [(float(start), members) for start, members in batches]
    assert all(len(step) == t.members for step in steps for t in step)


RESNET50 = [1.8874 + 0.1438 * b for b in range(1, 33)]  # ms, on a V100 in fp16
THEORY = [  # step times, rate, mean response, mean batch: chain of the queue lengths at completions
    ([1.0] * 4, 3.2, 1.879536, 3.223862),
    ([1.0] * 8, 6.4, 1.651838, 6.401137),
    (RESNET50[:4], 1.0, 3.56884, 2.32215),
    (RESNET50[:8], 2.0, 4.30672, 5.30662),
    (RESNET50, 4.0, 6.94485, 17.7721),
]


def assert_mean(records, expected_s, within=0.02):
    interval = overlapping_batch_means(records.completion_time_s, level=0.999)
    assert abs(interval.mean - expected_s) <= max(interval.half_width, within * expected_s)


@pytest.mark.sized
@pytest.mark.parametrize(("step_s", "rate", "response_s", "batch"), THEORY)
def test_constant_steps(step_s, rate, response_s, batch):
    system = cases.make_system(batching_query(step_s, rate=rate))
    records = run(system, cases.fixed([0]), sized(100_000, 2_000_000))
    assert_mean(records, response_s, sized(0.02, 0.005))
    counts = records.batch_sizes[0]
    assert counts @ np.arange(len(counts)) / counts.sum() == pytest.approx(batch, rel=0.02)


@pytest.mark.sized
@pytest.mark.parametrize(("size", "rate"), [(1, 0.8), (2, 1.6), (4, 3.2), (8, 2.0)])
def test_exponential_steps_of_any_size(size, rate):
    """M/M[1,B]/1 without late joining."""
    system = cases.make_system(batching_query([1.0] * size, rate=rate, scv=1.0))
    records = run(system, cases.fixed([0]), sized(150_000, 2_000_000))
    assert_mean(records, memoryless_batches(rate, size, 1.0)[0], sized(0.04, 0.01))


@pytest.mark.sized
@pytest.mark.parametrize(("rate", "delay_s"), [(1.0, 1.0), (2.0, 3.0)])
def test_a_delay(rate, delay_s):
    system = cases.make_system(batching_query(RESNET50[:8], "delay", delay_s, rate=rate))
    records = run(system, cases.fixed([0]), sized(100_000, 2_000_000))
    assert_mean(records, bulk_queue(rate, tuple(RESNET50[:8]), delay_s).time_s, sized(0.02, 0.005))


@st.composite
def one_executor(draw):
    """Arrivals at instants without ties, several keys, any rule."""
    keys = []
    for _ in range(draw(st.integers(1, 3))):
        most = draw(st.integers(1, 4))
        more = st.floats(0.0, 0.5)
        steps = np.cumsum([draw(st.floats(0.1, 1.0)), *(draw(more) for _ in range(most - 1))]).tolist()
        rule = draw(st.sampled_from(["greedy", "delay", "triton", "static"]))
        preferred = draw(st.sets(st.integers(1, most), max_size=2)) if rule == "triton" else ()
        delay_s = draw(st.floats(0.05, 2.0)) if rule == "delay" else draw(st.sampled_from([0.0, 0.7]))
        keys.append(batch_loop.Key(tuple(steps), rule, delay_s, tuple(sorted(preferred))))
    gaps = [[draw(st.floats(0.01, 1.5)) for _ in range(draw(st.integers(2, 12)))] for _ in keys]
    return keys, [np.cumsum(g).tolist() for g in gaps], draw(st.booleans())


@pytest.mark.parametrize("engine", ENGINES)
@examples(120)
@given(one_executor())
def test_an_independent_loop_starts_the_same_batches(engine, drawn):
    keys, instants, busy = drawn
    every = sorted((t, k) for k, row in enumerate(instants) for t in row)
    assume(len({t for t, _ in every}) == len(every))
    queries = [
        batching_query(k.step_s, k.rule, k.delay_s, 1.0, row, preferred=k.preferred, name=f"q{i}")
        for i, (k, row) in enumerate(zip(keys, instants, strict=True))
    ]
    stream = BackgroundStream(0.5, 0.4, 1.0) if busy else BackgroundStream()
    system = cases.make_system(*queries, background_compute=stream)
    jobs = len(every)
    # A job that waits for ever would keep the cohort from being complete: the run is cut off by its tail.
    records = simulate_run(
        system,
        *cases.by_class([[0]] * len(keys)),
        RunOptions(jobs=jobs, warmup=0, engine=engine, timeline_jobs=jobs, tail_jobs=1),
    )
    items = background_items(stream, RandomStreams(system.seed, 0), "executor", "0")
    background = [next(items) for _ in range(200)] if busy else []
    expected = {
        (round(step.start_s, 9), tuple(sorted(step.members)))
        for step in batch_loop.run(every, keys, background)
        if step.key >= 0 and step.end_s <= LONG_S
    }
    seen = {
        (round(step[0].start_s, 9), tuple(sorted(t.job for t in step)))
        for step in steps_of(records.timeline.tasks).values()
        if step[0].end_s <= LONG_S  # then everything arrives once more
    }
    assert seen == expected


CHAIN = cases.task_graph([0.2, 0.3, 0.1], [(0, [1], 1.0), (1, [2], 1.0)])


@pytest.mark.parametrize("rule", ["greedy", "delay"])
def test_a_chain_on_one_executor_is_one_long_task(rule):
    """A batch runs on through the chain, so its jobs end when those of the contracted chain do."""
    steps = np.array([[[0.2, 0.3, 0.1]], [[0.25, 0.3, 0.15]], [[0.3, 0.4, 0.2]]])
    long = Batching(steps, rule, 0.4)
    short = Batching(steps.sum(axis=2, keepdims=True), rule, 0.4)
    chain = replace(cases.query(CHAIN, 2.5), batching=long)
    contracted = replace(cases.query(cases.task_graph([0.6]), 2.5), batching=short)
    ends = [
        run(cases.make_system(q), cases.fixed([0] * len(q.tasks)), 3000).completion_s
        for q in (chain, contracted)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["opportunistic", "spark-fair"])
def test_a_picked_batch_does_not_run_on_without_the_members_that_are_on_their_way(name, engine):
    """At a third of what two executors can serve; a member left behind would hold its executor for good."""
    fork = cases.query(cases.task_graph([[1.0, 1.0, 1.0]], [(0, [2], 0.3), (1, [2], 0.3)]), 0.2)
    steps = np.array([[[b] * 3] for b in (1.0, 1.5, 2.0)])
    system = cases.make_system(replace(fork, batching=Batching(steps, "greedy")), servers=(0, 1))
    chosen = get_scheduler(name)
    records = run(system, (chosen, chosen.prepare(system, None, {})), 300, engine, warmup=0)
    assert records.state == "stable"
    assert records.tally.completed.sum() == 300


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_batches_of_one_change_nothing(discipline):
    fork = cases.query(cases.FORK, 1.2, 0.5)
    alone = replace(fork, batching=Batching(fork.tasks.compute_s[None]))
    options = {
        "servers": (0, 0, 1, 2),
        "discipline": discipline,
        "latency_s": 0.01,
        "background_compute": BackgroundStream(0.5, 0.2, 1.0),
        "background_network": BackgroundStream(2.0, 0.1, 1.0),
    }
    one, other = (run(cases.make_system(q, **options), cases.uniform(5), 2000) for q in (fork, alone))
    np.testing.assert_array_equal(one.completion_s, other.completion_s)
    np.testing.assert_array_equal(one.executor_busy_s, other.executor_busy_s)


def test_rows_of_one_model_share_batches_whatever_their_order():
    instants = [[0.0, 0.2, 5.0], [0.1, 0.3, 5.1]]
    rows = [
        replace(batching_query([1.0, 1.1, 1.2, 1.3], "delay", 0.5, 1.0, of, name=name), replica="model")
        for of, name in zip(instants, "ab", strict=True)
    ]
    for pair in (rows, rows[::-1]):
        records = run(cases.make_system(*pair), cases.by_class([[0], [0]]), 6, warmup=0, timeline_jobs=6)
        steps = steps_of(records.timeline.tasks).values()
        assert sorted((step[0].start_s, len(step)) for step in steps) == [(0.3, 4), (5.5, 2)]


@pytest.mark.parametrize("engine", ENGINES)
@examples(60)
@given(st.data(), st.booleans())
def test_what_holds_of_every_batch(engine, data, run_on):
    """Members start and end together, no batch is too large, none starts early, and the parts add up."""
    system = data.draw(batched(systems(False, "fifo"), False))
    query = replace(system.queries[0], batching=data.draw(batching(False, system.queries[0].tasks.compute_s)))
    system = replace(system, queries=(query, *system.queries[1:]))
    records = run(system, cases.uniform(6), 30, engine, warmup=0, timeline_jobs=30, run_on=run_on)
    done = ~np.isnan(records.completion_s)
    parts, jct = records.parts_s[done], records.completion_time_s[done]
    np.testing.assert_allclose(parts.sum(axis=1), jct, rtol=1e-9, atol=1e-9)
    assert parts.min(initial=0) >= 0
    steps = steps_of(records.timeline.tasks)
    for (executor, number), step in steps.items():
        of = system.queries[step[0].query].batching
        assert len({(t.start_s, t.end_s, t.members, t.task) for t in step}) == 1
        assert len(step) <= step[0].members <= (of.max_batch if of else 1)
        before = steps.get((executor, number - 1), ())
        runs_on = run_on and {t.job for t in before} == {t.job for t in step}
        if of and of.rule in ("delay", "static") and len(step) == step[0].members and not runs_on:
            full = step[0].members == of.max_batch
            late = of.rule == "delay" and max(t.start_s - t.ready_s for t in step) >= of.delay_s - 1e-9
            assert full or late
