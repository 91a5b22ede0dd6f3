"""Small systems built by hand for the placement tests."""

import numpy as np

from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import decompose
from nona.queries.system import BackgroundStream, QueryClass, System


def task_graph(compute_s, edges, classes=(1.0,)):
    """Tasks with times (times a factor for each executor class) and edges (u, v, bytes[, tensor])."""
    tensors, sizes, rows = {}, [], []
    for e in sorted(edges, key=lambda e: (e[0], e[1])):
        key = (e[0], e[3] if len(e) > 3 else f"{e[0]}-{e[1]}")
        if key not in tensors:
            tensors[key] = len(sizes)
            sizes.append(e[2])
        rows.append((e[0], e[1], tensors[key]))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return TaskGraph(
        name="g",
        task_ids=tuple(f"t{i}" for i in range(len(compute_s))),
        compute_s=np.outer(classes, np.asarray(compute_s, dtype=float)),
        weight_bytes=np.zeros(len(compute_s)),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_tensor=columns[:, 2].copy(),
        tensor_source=np.array([u for u, _ in tensors], dtype=np.int64),
        tensor_bytes=np.array(sizes, dtype=float),
    )


def query(compute_s, edges, rate, classes=(1.0,), **more):
    tasks = task_graph(compute_s, edges, classes)
    return QueryClass("q", tasks, decompose(tasks.dag), rate, **more)


def slides(rate=1e-6):
    """The example of the slides on a link of 1 byte per second of capacity 1."""
    return query([0.002, 0.010, 0.008, 0.002], [(0, 1, 9.0), (0, 2, 1.0), (1, 3, 9.0), (2, 3, 1.0)], rate)


def system(*queries, servers=8, compute=None, network=None, classes=1, per_server=1, **more):
    executors = servers * per_server
    return System(
        executor_server=np.arange(executors) // per_server,
        executor_class=np.arange(executors) % classes,
        class_names=tuple(f"class{k}" for k in range(classes)),
        background_compute=compute or BackgroundStream(),
        background_network=network or BackgroundStream(),
        queries=queries,
        **({"capacity": 1000.0, "latency_s": 0.0, "discipline": "fifo"} | more),
    )


def random_query(rng, rate, diamonds=2, width=3, bytes_=1.0, classes=(1.0,), **more):
    """A chain of fork-joins whose branches have random times and tensors."""
    compute, edges, last = [rng.uniform(0, 0.003)], [], 0
    for _ in range(diamonds):
        branches = range(last + 1, last + 1 + int(rng.integers(2, width + 1)))
        sink = branches[-1] + 1
        shared = rng.random() < 0.5
        size = rng.exponential(bytes_)
        for b in branches:
            compute.append(rng.uniform(0.001, 0.01))
            edges.append((last, b, size, "shared") if shared else (last, b, rng.exponential(bytes_)))
            edges.append((b, sink, rng.exponential(bytes_)))
        if rng.random() < 0.4:
            edges.append((last, sink, rng.exponential(bytes_)))
        compute.append(rng.uniform(0, 0.003))
        last = sink
    return query(compute, edges, rate, classes, **more)


def random_system(seed, *, queries=2, load=0.5, network=0.0, **more):
    """Random fork-joins on 8 executors whose compute load is ``load``."""
    rng = np.random.default_rng(seed)
    width = int(more.pop("width", 3))
    factors = (1.0, 1.7, 0.6)[: int(more.get("classes", 1))]
    found = [
        random_query(rng, float(rng.uniform(0.5, 2)), width=width, classes=factors) for _ in range(queries)
    ]
    servers = int(more.pop("servers", 8))
    work = sum(q.rate * q.tasks.compute_s.sum() for q in found)
    scale = load * servers / work
    scaled = [QueryClass(f"q{i}", q.tasks, q.decomposition, q.rate * scale) for i, q in enumerate(found)]
    capacity = float(more.pop("capacity", 1000.0))
    background = BackgroundStream(network * capacity / 2.0, 2.0, 1.0)
    return system(*scaled, servers=servers, capacity=capacity, network=background, **more)
