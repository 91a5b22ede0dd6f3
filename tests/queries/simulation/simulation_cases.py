"""Small task graphs, systems and schedulers for the tests of the simulation."""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition
from nona.queries.schedulers.base import NetworkView, NoTables, Scheduler, SchedulerTables
from nona.queries.system import BackgroundStream, QueryClass, System
from nona.scenario.arrivals import Arrivals

NO_CUTS = Decomposition((), ())


def task_graph(compute_s, tensors=(), name="graph"):
    """``tensors``: (source, targets, bytes) each."""
    times = np.atleast_2d(np.array(compute_s, dtype=float))
    edges = sorted((s, t, k) for k, (s, targets, _) in enumerate(tensors) for t in targets)
    columns = np.array(edges, dtype=np.int64).reshape(-1, 3)
    n = times.shape[1]
    return TaskGraph(
        name=name,
        task_ids=tuple(f"t{i}" for i in range(n)),
        compute_s=times,
        weight_bytes=np.zeros(n),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_tensor=columns[:, 2].copy(),
        tensor_source=np.array([t[0] for t in tensors], dtype=np.int64),
        tensor_bytes=np.array([t[2] for t in tensors], dtype=float),
    )


# One task, three beside each other, and one that joins them.
FORK = task_graph(
    [0.2, 0.5, 0.3, 0.4, 0.1], [(0, [1, 2, 3], 0.05), (1, [4], 0.02), (2, [4], 0.02), (3, [4], 0)]
)


def query(graph, rate=1.0, scv=0.0, arrivals=None, name="q"):
    return QueryClass(name, graph, NO_CUTS, rate, arrivals=arrivals or Arrivals(), service_scv=scv)


def make_system(*queries, servers=(0,), **changes):
    """One executor per entry of ``servers``, all of one class, on a link of 1 byte/s without latency."""
    place, kind = np.array(servers, dtype=np.int64), np.zeros(len(servers), dtype=np.int64)
    plain = System(
        place, kind, ("gpu",), 1.0, 0.0, "fifo", BackgroundStream(), BackgroundStream(), queries, 11
    )
    return replace(plain, **changes)


def scheduler(decide, kind="bind", view=NetworkView.N0, reads_queues=False, uniforms=0, tables=None):
    prepared, name = SchedulerTables(tables, uniforms), decide.__name__.strip("_")
    made = Scheduler(
        name=name,
        kind=kind,
        network_view=view,
        decide=decide,
        build=lambda *_: prepared,
        reads_queues=reads_queues,
        **dict.fromkeys(("summary", "source", "adaptation"), ""),
    )
    return made, prepared


def fixed(places):
    return scheduler(fixed_places, tables=Places(np.array(places, dtype=np.int64), np.array([0])))


def by_class(places):
    """Every job of query class k on executors ``places[k]``."""
    tables = Places(np.concatenate(places), np.cumsum([0, *map(len, places[:-1])]))
    return scheduler(fixed_places, tables=tables)


class Places(NamedTuple):
    """Where the tasks of each class go, and where each class begins; with one beginning, of every class."""

    executor: NDArray[np.int64]
    begin: NDArray[np.int64]


def fixed_places(now, query, view, tables, u, out):
    """A plain function over arrays, so that it can be compiled."""
    begin = tables.begin[min(query, len(tables.begin) - 1)]
    for t in range(min(len(out), len(tables.executor) - begin)):
        out[t] = tables.executor[begin + t]


def uniform(draws):
    return scheduler(uniform_places, uniforms=draws, tables=NoTables())


def uniform_places(now, query, view, tables, u, out):
    for t in range(min(len(out), len(u))):
        out[t] = int(u[t] * len(view.executor_server))


def shortest_queue(reads=True):
    """Every task where queue, then backlog, is shortest; the job's own earlier tasks count."""

    def shortest(now, query, view, tables, u, out):
        length = view.queue_length.copy()
        for t in range(len(out)):
            out[t] = np.lexsort((view.backlog_s.round(9), length))[0]
            length[out[t]] += 1

    return scheduler(shortest, reads_queues=reads)


def first_fit(drawn=False):
    """Pick: the task that became ready first, on the first free executor or on a drawn one."""

    def first(now, view, ready, tables, u, out):
        free = np.flatnonzero(view.queue_length == 0)
        out[0] = 0
        out[1] = free[int(u[0] * len(free))] if drawn else free[0]
        return True

    return scheduler(first, "pick", reads_queues=True, uniforms=1)


def newest_capped(cap):
    """Pick: the newest ready task whose job holds fewer than ``cap`` executors, at its home if free."""

    def capped(now, view, ready, tables, u, out):
        for i in range(ready.n - 1, -1, -1):
            if ready.job_running[i] < cap:
                home = ready.home[i]
                free = np.flatnonzero(view.queue_length == 0)
                out[0], out[1] = i, home if home in free else free[-1]
                return True
        return False

    return scheduler(capped, "pick", reads_queues=True, uniforms=1)


SCHEDULERS = {
    "uniform": lambda: uniform(8),
    "shortest": shortest_queue,
    "first": first_fit,
    "drawn": lambda: first_fit(drawn=True),
    "capped": lambda: newest_capped(1),
}


def same(a, b):
    """Fail unless two records agree in every field but the seconds that they took."""
    for f in fields(a):
        if f.name == "seconds":
            continue
        x, y = getattr(a, f.name), getattr(b, f.name)
        if isinstance(x, np.ndarray):
            assert x.tobytes() == y.tobytes(), f.name
        elif f.name != "tally":
            assert x == y, f.name
    assert a.digest() == b.digest()


def same_runs(a, b):
    assert list(a) == list(b)
    for name in a:
        for one, other in zip(a[name], b[name], strict=True):
            same(one, other)
