"""Systems, views and ready lists for the tests of the schedulers."""

from dataclasses import replace

import numpy as np

from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition, SubGraph
from nona.queries.placement.result import Configuration, Placement, SubGraphPlacement
from nona.queries.placement.results import PredictedTimes, Prediction
from nona.queries.schedulers.base import Ready, SystemView
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import BackgroundStream, QueryClass, System
from tests.core.filled import filled


def fork_join_chain(name, widths, seed=0, rate=10.0):
    """Cut tasks with ``widths[k]`` parallel tasks between the k-th and the next."""
    rng = np.random.default_rng(seed)
    edges, cuts, subgraphs, n = [], [0], [], 1
    for width in widths:
        root, interior, sink = cuts[-1], tuple(range(n, n + width)), n + width
        for t in interior:
            edges += [(root, t, float(rng.uniform(1e4, 1e6))), (t, sink, float(rng.uniform(1e4, 1e6)))]
        if not interior:
            edges.append((root, sink, 1e5))
        subgraphs.append(SubGraph(root, sink, interior))
        cuts.append(sink)
        n = sink + 1
    tasks = TaskGraph.from_edges(name, rng.uniform(1e-3, 1e-2, n).tolist(), edges)
    return QueryClass(name, tasks, Decomposition(tuple(cuts), tuple(subgraphs)), rate)


def slides_query():
    """The example of the slides on Nona: 2, 10, 8, 2 ms; 9 ms by way of task 2, 1 ms by way of 3."""
    edges = [(0, 1, 9e6), (0, 2, 1e6), (1, 3, 9e6), (2, 3, 1e6)]
    tasks = TaskGraph.from_edges("slides", [2e-3, 10e-3, 8e-3, 2e-3], edges)
    return QueryClass("slides", tasks, Decomposition((0, 3), (SubGraph(0, 3, (1, 2)),)), 1.0)


def system_of(queries, executor_server=tuple(range(8)), seed=3):
    """One executor class, 1 GB/s, some background."""
    return System(
        executor_server=np.array(executor_server, dtype=np.int64),
        executor_class=np.zeros(len(executor_server), dtype=np.int64),
        class_names=("gpu",),
        capacity=1e9,
        latency_s=0.0,
        discipline="fifo",
        background_compute=BackgroundStream(10.0, 5e-3, 1.0),
        background_network=BackgroundStream(100.0, 1e6, 1.0),
        queries=tuple(queries),
        seed=seed,
    )


def two_speeds(classes=(0, 1, 1, 0), slow_memory=1e12):
    """Executors of two ``classes``, the second half as fast; each query holds 2 MB."""
    query = fork_join_chain("a", [3], 1)
    times = np.vstack([query.tasks.compute_s, 2 * query.tasks.compute_s])
    query = replace(query, tasks=replace(query.tasks, compute_s=times), weight_bytes=2e6)
    return replace(
        system_of([query], range(len(classes))),
        executor_class=np.array(classes),
        class_names=("fast", "slow"),
        class_memory_bytes=np.array([1e12, slow_memory]),
    )


def quiet(system):
    return replace(system, background_compute=BackgroundStream(), background_network=BackgroundStream())


def bound(scheduler, system, tables, view, u, query=0):
    """Executors of the tasks of one decision; what is not decided is −1."""
    out = np.full(len(system.queries[query].tasks), -1, dtype=np.int64)
    scheduler.decide(0.0, query, view, tables, np.asarray(u), out)
    return out


def picked(scheduler, tables, view, ready, u):
    """The place in the list and the executor, or None."""
    out = np.full(2, -1, dtype=np.int64)
    said = scheduler.decide(0.0, view, ready, tables, np.asarray(u), out)
    return (int(out[0]), int(out[1])) if said else None


def run_of(system, name, placement=None, options=None, **size):
    scheduler = get_scheduler(name)
    return simulate_run(
        system, scheduler, scheduler.prepare(system, placement, options or {}), RunOptions(**size)
    )


def random_configuration(interior, rng):
    """A random set partition with random root and sink parts (−1 among them)."""
    label = {}
    for t in interior:
        label.setdefault(int(rng.integers(0, len(interior))), []).append(t)
    parts = tuple(sorted(map(tuple, label.values())))
    root_part = int(rng.integers(-1, len(parts)))
    return Configuration(parts, root_part, int(rng.integers(-1, len(parts))) if root_part >= 0 else root_part)


def random_placement(system, seed=1, most=4):
    rng = np.random.default_rng(seed)
    queries = []
    for query in system.queries:
        row = []
        for s in query.decomposition.subgraphs:
            found = {random_configuration(s.interior, rng) for _ in range(most)}
            configurations = tuple(sorted(found, key=repr))
            row.append(SubGraphPlacement(s, configurations, rng.dirichlet(np.ones(len(configurations)))))
        queries.append(tuple(row))
    share = filled(PredictedTimes)
    prediction = filled(Prediction, queries=(share,) * len(queries))
    return Placement(tuple(queries), prediction, "random", 0.0)


def random_view(system, rng, busiest=4):
    """A view with every field drawn at random, the network's among them."""
    return SystemView(
        system.executor_server,
        system.executor_class,
        rng.integers(0, busiest, system.executors),
        rng.exponential(0.01, system.executors),
        *rng.exponential([1e9, 1e-4, 1e-3, 1e-2, 1e6]).tolist(),
        np.floor(rng.exponential(2e8, 2 * system.servers)) * rng.integers(0, 2, 2 * system.servers),
    )


def ready_rows(n, open_jobs, **columns):
    """``n`` ready tasks; what is not given is 0, in batches of one, of jobs without a home."""
    none = np.zeros(n, dtype=np.int64)
    reals = np.zeros(n)
    of = Ready(
        n, none, none, none, reals, none, none - 1, open_jobs, none, none + 1, reals, none, none[:0] - 1
    )
    return of._replace(**{k: np.array(v, dtype=getattr(of, k).dtype) for k, v in columns.items()})


def random_ready(system, rng, longest=6):
    n, most = int(rng.integers(0, longest)), max(len(q.tasks) for q in system.queries)
    query = rng.integers(0, len(system.queries), n)
    task = np.array([rng.integers(0, len(system.queries[q].tasks)) for q in query], dtype=np.int64)
    job = rng.integers(0, 20, n)
    return ready_rows(
        *(n, int(len(set(job.tolist())) + rng.integers(0, 3))),
        job=job, query=query, task=task, since_s=np.sort(rng.exponential(1.0, n)),
        job_running=rng.integers(0, 4, n), home=rng.integers(-1, system.executors, n), batch_first=task,
        batch_size=rng.integers(1, 4, n), job_draw=rng.random(n), base=np.arange(n) * most,
        places=rng.integers(-1 - system.executors, -1, n * most),  # all complete, somewhere
    )  # fmt: skip
