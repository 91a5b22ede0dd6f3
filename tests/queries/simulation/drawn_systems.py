"""Random systems for hypothesis: graphs, clusters, background, one link or several."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from simulation_cases import make_system, query, task_graph

from nona.cluster.topology import NONE, Topology
from nona.queries.pools import StagePool, make_pools
from nona.queries.system import BackgroundStream, Batching
from nona.scenario.arrivals import Arrivals


@st.composite
def graphs(draw, times, sizes, classes):
    n = draw(st.integers(1, 6))
    compute = [[draw(times) for _ in range(n)] for _ in range(classes)]
    tensors = []
    for source in range(n - 1):
        for _ in range(draw(st.integers(0, 2))):
            targets = draw(st.sets(st.integers(source + 1, n - 1), min_size=1, max_size=3))
            tensors.append((source, sorted(targets), draw(sizes)))
    return task_graph(compute, draw(st.permutations(tensors)))


@st.composite
def systems(draw, grid, discipline):
    """On a grid everything happens at whole seconds, so that ties abound."""
    times = st.integers(0, 3).map(float) if grid else st.floats(0.1, 2.0)
    sizes = st.integers(0, 2).map(float) if grid else st.floats(0.1, 2.0)
    executors = draw(st.integers(1, 5))
    classes = draw(st.integers(1, 2))
    instants = sorted(draw(st.lists(st.integers(0, 40).map(float), min_size=3, max_size=6)))
    trace = Arrivals("trace", times_s=(*instants, 60.0), scale_to_rate=False)
    arrivals = trace if grid else Arrivals()
    scvs = st.just(0.0) if grid else st.sampled_from([0.0, 0.5, 1.0])
    names = "ab"[: draw(st.integers(1, 2))]
    queries = [query(draw(graphs(times, sizes, classes)), 0.1, draw(scvs), arrivals, n) for n in names]
    busy = not grid and draw(st.booleans())
    return make_system(
        *queries,
        servers=[draw(st.integers(0, 2)) for _ in range(executors)],
        executor_class=np.array([draw(st.integers(0, classes - 1)) for _ in range(executors)]),
        class_names=("x", "y")[:classes],
        latency_s=float(draw(st.integers(0, 1))) if grid else draw(st.sampled_from([0.0, 0.3])),
        capacity=1.0 if grid else 2.0,
        discipline=discipline,
        background_compute=BackgroundStream(0.4, 0.5, draw(st.sampled_from([0.0, 1.0])))
        if busy
        else BackgroundStream(),
        background_network=BackgroundStream(0.3, 0.7, 1.0) if busy else BackgroundStream(),
        seed=draw(st.integers(0, 1000)),
    )


@st.composite
def topologies(draw, servers, core, grid):
    """Any legal one: some servers may lack a card, cards may be shared, racks may lack an uplink."""
    capacities = st.sampled_from([0.5, 1.0, 2.0, 4.0]) if grid else st.floats(0.5, 5.0)
    made = [core]

    def role(groups, may_lack):
        numbers = []
        for _ in range(groups):
            if may_lack and draw(st.booleans()):
                numbers.append(NONE)
            else:
                numbers.append(len(made))
                made.append(draw(capacities))
        return numbers

    racks = draw(st.integers(1, servers))
    rack = np.array([draw(st.integers(0, racks - 1)) for _ in range(servers)], dtype=np.int64)
    alone = np.bincount(rack, minlength=racks)[rack] == 1
    up, down = np.array(role(racks, True)), np.array(role(racks, True))
    out, into = np.array(role(servers, False)), np.array(role(servers, True))
    out[alone & (np.arange(servers) % 2 == 1)] = NONE  # a link that no server uses is legal too
    return Topology(
        tuple(f"l{i}" for i in range(len(made))), np.array(made), 0, out, up[rack], down[rack], into, rack
    )


@st.composite
def linked(draw, grid):
    system = draw(systems(grid, "fifo"))
    return replace(system, topology=draw(topologies(system.servers, system.capacity, grid)))


@st.composite
def batching(draw, grid, times_s):
    """Any rule for tasks that alone take ``times_s`` (classes, T)."""
    most = draw(st.integers(1, 5))
    more = st.integers(0, 1).map(float) if grid else st.floats(0.0, 0.5)
    steps = np.cumsum(
        [times_s, *([[draw(more) for _ in row] for row in times_s] for _ in range(most - 1))], axis=0
    )
    delays = st.integers(0, 3).map(float) if grid else st.floats(0.0, 2.0)
    return Batching(
        steps,
        draw(st.sampled_from(["greedy", "delay", "triton", "static"])),
        draw(delays),
        tuple(sorted(draw(st.sets(st.integers(1, most), max_size=2)))),
        draw(st.integers(0, 2)),
    )


@st.composite
def batched(draw, drawn, grid):
    """A drawn system of which some executors' tasks run in batches; rows of one model may share them."""
    system = draw(drawn)
    queries = [
        replace(q, batching=draw(batching(grid, q.tasks.compute_s))) if draw(st.booleans()) else q
        for q in system.queries
    ]
    if draw(st.booleans()):
        twin = replace(queries[0], name="twin", replica="model")
        queries = [replace(queries[0], replica="model"), twin, *queries[1:]]
    return replace(system, queries=tuple(queries))


@st.composite
def pooled(draw, drawn, grid):
    """A drawn system whose executors run several tasks at once, with pools for some of its tasks."""
    system = draw(drawn)
    tasks = sum(len(q.tasks) for q in system.queries)
    servers = system.executor_server.tolist()
    speed = st.sampled_from([(), (1.0, 1.0, 1.0), (1.0, 0.5)] if grid else [(), (1.0, 0.6), (1.0, 0.9, 0.4)])
    stages = []
    for number in range(draw(st.integers(0, 2))):
        of_stage = tuple(sorted(draw(st.sets(st.integers(0, tasks - 1), min_size=1))))
        for server in sorted(draw(st.sets(st.sampled_from(servers), min_size=1))):
            there = [-1, *(e for e, s in enumerate(servers) if s == server)]
            gpus = draw(st.lists(st.sampled_from(there), min_size=1, max_size=3))
            if any(set(of_stage) & set(other.tasks) for other in stages if other.stage != str(number)):
                continue
            stages.append(StagePool("row", str(number), of_stage, server, tuple(gpus)))
    pools = make_pools(
        system.executor_server,
        system.executor_class,
        tasks,
        [draw(st.integers(1, 3)) for _ in servers],
        [draw(speed) for _ in servers],
        stages,
    )
    return replace(system, pools=pools)


@st.composite
def closed(draw, drawn, grid):
    """A drawn system of which some query classes come from users who send again.

    None of these wait for full batches, which a scenario refuses: users may never fill them.
    """
    system = draw(drawn)
    think = st.integers(0, 3).map(float) if grid else st.floats(0.0, 2.0)
    queries = [
        replace(
            q,
            users=draw(st.integers(1, 4)),
            think_s=draw(think),
            arrivals=Arrivals(),
            batching=replace(q.batching, rule="greedy")
            if q.batching and q.batching.rule == "static"
            else q.batching,
        )
        if number == 0 or draw(st.booleans())
        else q
        for number, q in enumerate(system.queries)
    ]
    return replace(system, queries=tuple(queries))
