"""The parts of a completion time: they add up, are what the intervals say, and what theory says."""

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation_cases import SCHEDULERS, first_fit, fixed, make_system, query, task_graph
from sizes import examples

from nona.cluster.topology import Topology
from nona.queries.simulation.collected import PARTS
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import BackgroundStream
from nona.scenario.arrivals import Arrivals


def recomputed(system, records, picked):
    """(n, 5) Parts of the jobs of the timeline. For picked tasks every tensor must have one reader."""
    timeline = records.timeline
    messages = {}
    for m in timeline.messages:
        messages.setdefault(m.job, {})[m.tensor, m.destination] = m
    rows = []
    for job, tasks in groupby(timeline.tasks, key=lambda t: t.job):
        arrival_s = records.arrival_s[job - timeline.tasks[0].job]
        rows.append(_one(system, {t.task: t for t in tasks}, messages.get(job, {}), arrival_s, picked))
    return np.array(rows)


def _one(system, tasks, messages, arrival_s, picked):
    graph = system.queries[tasks[0].query].tasks
    edges = np.column_stack([graph.edge_tensor, graph.edge_source, graph.edge_target]).tolist()
    edges.sort()
    server = {t: int(system.executor_server[i.executor]) for t, i in tasks.items()}
    compute = transfer = link = wait = own = 0.0
    task = max(tasks, key=lambda t: (tasks[t].end_s, t))  # ends at one instant go by number
    while True:
        here, inputs = tasks[task], [(k, s) for k, s, t in edges if t == task]
        compute += here.end_s - here.start_s
        wait += here.start_s - here.ready_s
        others = [i for t, i in tasks.items() if t != task and i.executor == here.executor]
        own += _within(others, here.ready_s, here.start_s)
        remote = [(messages[k, server[task]], s) for k, s in inputs if server[s] != server[task]]
        last = [(m, s) for m, s in remote if m.delivered_s == here.ready_s]
        since = here.ready_s  # until when the last message was on its way, from which instant
        if picked:
            since = remote[0][0].request_s if remote else here.ready_s
            source = max((s for _, s in inputs), key=lambda s: (tasks[s].end_s, -s), default=None)
            before_s = arrival_s if source is None else tasks[source].end_s
            wait += since - before_s
            own += _within(others, before_s, since)
        else:
            ended = [s for _, s in inputs if server[s] == server[task] and tasks[s].end_s == here.ready_s]
            source = ended[0] if ended else last[-1][1] if inputs else None
            since = arrival_s if source is None else tasks[source].end_s
        if last and here.ready_s > since:
            message, producer = last[-1]
            alone = system.isolated_s(graph.tensor_bytes[message.tensor], server[producer], server[task])
            transfer += min(alone, here.ready_s - since)
            link += max(0.0, here.ready_s - since - alone)
        if source is None:
            return [compute, transfer, link, wait - own, own, 0.0]
        task = source


def _within(intervals, begin_s, end_s):
    """Seconds between two instants in which one of the tasks runs; on one executor none overlap."""
    instants = sorted({begin_s, end_s, *(t for i in intervals for t in (i.start_s, i.end_s))})
    return sum(
        b - a
        for a, b in pairwise(instants)
        if begin_s <= a and b <= end_s and any(i.start_s <= a and b <= i.end_s for i in intervals)
    )


CLOSE = {"rtol": 1e-9, "atol": 1e-9}
NETWORKS = ("fifo", "processor-sharing", "several links")


def several_links():
    """Three servers, the third in a rack of its own; every server has a card in and out."""
    names = "core", "out 0", "out 1", "out 2", "in 0", "in 1", "in 2", "up", "down"
    roles = [[1, 2, 3], [-1, -1, 7], [-1, -1, 8], [4, 5, 6], [0, 0, 1]]  # out, up, down, in, rack
    return Topology(names, np.array([2.0] + [1.5] * 6 + [1.2] * 2), 0, *map(np.array, roles))


def network_of(name):
    several = name == "several links"
    return {"discipline": "fifo" if several else name, "topology": several_links() if several else None}


@st.composite
def systems(draw, shared, network):
    """``shared``: several tasks may read one tensor."""
    grid = draw(st.booleans())
    seconds = st.integers(0, 3).map(float) if grid else st.floats(0.1, 2.0)
    n = draw(st.integers(1, 6))
    compute = [[draw(st.integers(1, 3).map(float) if grid else seconds) for _ in range(n)]]
    tensors = []
    for source in range(n - 1):
        for _ in range(draw(st.integers(0, 3))):
            most = 3 if shared else 1
            targets = draw(st.sets(st.integers(source + 1, n - 1), min_size=1, max_size=most))
            tensors.append((source, sorted(targets), draw(seconds)))
    instants = sorted(draw(st.lists(st.integers(0, 30).map(float), min_size=3, max_size=6)))
    trace = Arrivals("trace", times_s=(*instants, 50.0), scale_to_rate=False)
    busy = not grid and draw(st.booleans())
    return make_system(
        query(task_graph(compute, tensors), 0.15, 0.0 if grid else 0.5, trace if grid else Arrivals()),
        servers=[0, 1, 2, *draw(st.lists(st.integers(0, 2), max_size=2))],
        latency_s=draw(st.sampled_from([0.0, 1.0])),
        capacity=2.0 if network == "several links" or not grid else 1.0,
        **network_of(network),
        background_compute=BackgroundStream(0.4, 0.5, 1.0) if busy else BackgroundStream(),
        background_network=BackgroundStream(0.3, 0.7, 1.0) if busy else BackgroundStream(),
        seed=draw(st.integers(0, 1000)),
    )


def run(system, made, jobs=8, **options):
    return simulate_run(system, *made, RunOptions(jobs=jobs, warmup=0, timeline_jobs=jobs, **options))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_parts_add_up_and_equal_those_of_the_intervals(name, network):
    picked = name in ("first", "drawn", "capped")

    @examples(15)
    @given(systems(not picked, network), st.booleans())
    def check(system, run_on):
        records = run(system, SCHEDULERS[name](), run_on=run_on)
        assert not np.isnan(records.completion_s).any()
        assert records.parts_s.min() >= 0
        np.testing.assert_allclose(records.parts_s.sum(axis=1), records.completion_time_s, **CLOSE)
        np.testing.assert_allclose(records.parts_s, recomputed(system, records, picked), **CLOSE)

    check()


@given(systems(True, "fifo"))
@examples(20)
def test_parts_of_picked_jobs_add_up_where_tasks_share_a_tensor(system):
    records = run(system, first_fit(drawn=True))
    assert records.parts_s.min() >= 0
    np.testing.assert_allclose(records.parts_s.sum(axis=1), records.completion_time_s, **CLOSE)


def test_one_queue_splits_into_service_and_wait():
    """M/D/1: compute is the service, the wait is ρ/(2(1−ρ)) of it (Pollaczek–Khinchine)."""
    system = make_system(query(task_graph([1.0]), 0.5))
    records = simulate_run(system, *fixed([0]), RunOptions(jobs=20_000, warmup=2000))
    mean = dict(zip(PARTS, records.tally.mean_parts_s[0].tolist(), strict=True))
    assert mean["compute"] == pytest.approx(1.0)
    assert (mean["transfer"], mean["link_wait"]) == (0.0, 0.0)
    assert mean["server_wait"] == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("sources", "parts"), [((2, 1), [3.0, 0, 0, 0, 0, 0]), ((1, 2), [2.0, 0, 0, 0, 1.0, 0])]
)
def test_of_inputs_made_here_at_one_instant_the_first_is_the_cause(sources, parts):
    """Task 1 ends at 2 s after waiting for task 0 on its executor, task 2 without waiting."""
    graph = task_graph([1.0, 1.0, 2.0, 1.0], [(s, [3], 1.0) for s in sources])
    system = make_system(
        query(graph, 1.0, 0.0, Arrivals("trace", times_s=(0.0, 1000.0), scale_to_rate=False)), servers=[0, 0]
    )
    assert run(system, fixed([0, 0, 1, 0]), jobs=1).parts_s[0].tolist() == parts
