"""The tables of ``nona-live`` from a system and its placement."""

from __future__ import annotations

import numpy as np

from nona.placement.configurations import to_labels
from nona.placement.placement import Placement, SubGraphPlacement
from nona.schedulers.least_loaded import works_of
from nona.schedulers.live_tables import Floats, LiveTables
from nona.system import QueryClass, System

MOST_SLOTS = 8
MOST_CONFIGURATIONS = 4


def build_live(system: System, placement: Placement, live: bool, **changes) -> LiveTables:
    works = works_of(system)
    tasks, graphs, inputs, source, tensor, sizes, back, times = [0], [0], [0], [], [], [], [], []
    order, task, configurations, labels, label = [0], [], [0], [], []
    others, near = [], []
    room = system.servers - 1
    most_near = int(np.bincount(system.executor_server).max()) - 1
    for query, placed in zip(system.queries, placement.queries, strict=True):
        graph = query.tasks
        n = len(graph)
        tasks.append(tasks[-1] + n)
        times.append(graph.compute_s.T)
        reads = [[] for _ in range(n)]
        for a, b, k in sorted({*zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_tensor.tolist())}):
            reads[b].append((a, k, float(graph.tensor_bytes[k])))
        for r in reads:
            for a, k, size in r:
                source.append(a); tensor.append(k); sizes.append(size)
            inputs.append(len(source))
        back += _back(query)
        wide = 0
        start = _earliest(query)
        for sub, sp in zip(query.decomposition.subgraphs, placed, strict=True):
            listed = sorted(sub.interior, key=lambda i: (start[i], i))
            if sub.sink >= 0:
                listed.append(sub.sink)
            task += listed
            order.append(len(task))
            found = []
            if len(sub.interior) > 1 and _parallel(query, sub):
                for row in _rows(sp):
                    at = {i: v for i, v in zip((*sub.interior, sub.sink), row, strict=True)}
                    found.append([at[i] for i in listed])
                wide = max(wide, 2, *(max(f) for f in found)) if found else max(wide, 3)
                for f in found[:MOST_CONFIGURATIONS] or [[0] * len(listed)]:
                    labels.append(len(label))
                    label += f
            configurations.append(len(labels))
        graphs.append(len(order) - 1)
        others.append(min(wide, room, MOST_SLOTS))
        near.append(min(wide, most_near, MOST_SLOTS))
    rack, rack_s, core_s = _network(system)
    bg = system.background_network
    rho = bg.rate * bg.mean / system.capacity
    prediction = placement.prediction
    w = bg.rate * (bg.mean / system.capacity) ** 2 * (1 + bg.scv) / 2 / max(1 - rho, 0.05)
    price = prediction.congestion_price_s_per_byte
    cb = system.background_compute
    load = cb.rate * cb.mean
    wait = cb.rate * cb.mean**2 * (1 + cb.scv) / 2 / (1 - load)
    share = system.uniform_shares
    works_j = np.array([q.tasks.compute_s.sum(axis=1) @ share[j] for j, q in enumerate(system.queries)])
    rates = np.array([q.rate for q in system.queries])
    wide_j = 1.0 + np.array(others)
    hold = float(rates @ works_j**2) / max(float(rates @ works_j), 1e-300) / 2
    cv2 = np.array([q.arrivals.cv**2 if q.arrivals.process == "gamma" else 1.0 for q in system.queries])
    bursts = np.maximum(cv2 - 1, 0) / 2
    bursts_s = bursts * works_j / system.executors
    i = lambda v: np.array(v, dtype=np.int64)
    t = LiveTables(
        i(tasks), i(graphs), i([q.decomposition.cuts[0] for q in system.queries]),
        works.work_s, i(others), i(near), np.concatenate(times).ravel().astype(float), i(inputs), i(source), i(tensor),
        np.array(sizes, dtype=float), np.array(back, dtype=float), i(order), i(task), i(configurations), i(labels), i(label),
        rack, rack_s, core_s, system.latency_s, rho, w, system.capacity, price if np.isfinite(price) else 0.0,
        int(live and system.topology is None), load, max(prediction.compute_utilization - load, 0.0), 1.0, hold, bursts_s, bursts * wide_j, float(rates @ wide_j), 0.5, 1.5, 0.5, wait, 0.0, works.classes,
        max(len(q.tasks) for q in system.queries), max(len(q.tasks.tensor_bytes) for q in system.queries),
        1 + max(a + b for a, b in zip(others, near)),
    )
    return t._replace(**changes)


def _rows(sp: SubGraphPlacement):
    ranked = np.argsort(-np.asarray(sp.probabilities), kind="stable")
    for c in ranked.tolist():
        conf = sp.configurations[c]
        if not conf.is_local and sp.probabilities[c] > 0:
            yield list(to_labels(conf, sp.subgraph.interior))


def _parallel(query: QueryClass, sub) -> bool:
    g = query.tasks
    t = g.compute_s.mean(axis=0)
    inside = set(sub.interior)
    length = {}
    for i in sub.interior:
        length[i] = t[i] + max((length[p] for p in g.dag.predecessors[i] if p in inside), default=0.0)
    return max(length.values()) < 0.999 * sum(t[i] for i in sub.interior)


def _earliest(query: QueryClass):
    g = query.tasks
    t = g.compute_s.mean(axis=0)
    at = []
    for i in range(len(g)):
        at.append(max((at[p] + t[p] for p in g.dag.predecessors[i]), default=0.0))
    return at


def _back(query: QueryClass):
    g = query.tasks
    n = len(g)
    own = [0.0] * n
    for k in set(g.edge_tensor.tolist()):
        own[int(g.tensor_source[k])] += float(g.tensor_bytes[k])
    cuts = set(query.decomposition.cuts)
    back = [0.0] * n
    for i in reversed(range(n)):
        later = [s for s in g.dag.successors[i]]
        back[i] = own[i]
        if later and not any(s in cuts for s in later):
            back[i] = min(own[i], sum(back[s] for s in later))
    return back


def _network(system: System):
    n = system.servers
    if system.topology is None:
        each = np.full(n, 1 / system.capacity)
        return np.arange(n), each, each.copy()
    tp = system.topology
    def sec(*links):
        return max((1 / float(tp.link_capacity[k]) for k in links if k >= 0), default=0.0)
    rack_s = np.array([sec(tp.out_link[s], tp.in_link[s]) for s in range(n)])
    core_s = np.array([sec(tp.out_link[s], tp.in_link[s], tp.up_link[s], tp.down_link[s], tp.core) for s in range(n)])
    return tp.rack.astype(np.int64), rack_s, core_s
