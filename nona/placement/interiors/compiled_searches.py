"""Searches in compiled code: earliest starts, branch and bound, moves of groups.

Let e(v) bound the start of v from below, and consider a start at t. An ancestor u whose result cannot
be at another server by t must have run on v's own. Its result is there only after some edge of every
path u → v was crossed; over the edge (a, b) it arrives at v not before::

    κ_v(a, b) = e(a) + p(a) + d(a, b) + (longest chain from b to v, v left out)
    B_v(u)    = max over paths from u to v of the min of κ_v over the path's edges

so all u with B_v(u) > t share v's server, where they run one after the other, none before its e(u):
t ≥ C(u with B_v(u) > t), C the one-machine bound. e(v) is the least t that satisfies it; as the set
shrinks while t grows, it is the least over k of max(B of the (k+1)-th, C of the k first), B descending.

After C. H. Papadimitriou, M. Yannakakis, Towards an Architecture-Independent Analysis of Parallel
Algorithms (1990), and H. Jung, L. Kirousis, P. Spirakis, Lower Bounds and Efficient Algorithms for
Multiprocessor Scheduling of DAGs with Communication Delays (1993), with delays that differ by edge.

A node of the tree assigns the first tasks in topological order. Servers are numbered by first use, so
that no two nodes differ in names alone. What the assigned tasks cost never shrinks later: their ends,
the link's load, squared batches, and the squares of the blocks of work so far; to the ends the least
time from there to the sink is added (``tail_s``), to the blocks the squares of the single tasks left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nona.arrays import Floats
from nona.compiled import compiled


@compiled
def _machine(tasks: Any, start: Any, time_s: Any, chain: Any) -> float:
    """The latest end of the chains behind ``tasks`` that share one machine: max over release order."""
    ends = 0.0
    order = tasks[np.argsort(start[tasks])]
    total = 0.0
    for i in range(len(order) - 1, -1, -1):
        u = order[i]
        total += time_s[u]
        ends = max(ends, start[u] + total, start[u] + chain[u])
    return ends


@compiled
def _reached(
    v: int, start: Any, time_s: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> tuple[Floats, Floats]:
    """Return B_v (nodes,), −1e300 where no way leads to v; and the longest chain to v, with v."""
    reach, chain = np.full(len(time_s), -1e300), np.full(len(time_s), -1e300)
    chain[v] = 0.0
    reach[v] = 1e300
    for b in range(v, -1, -1):
        if reach[b] == -1e300:
            continue
        for at in range(into_at[b], into_at[b + 1]):
            e = into[at]
            a = source[e]
            chain[a] = max(chain[a], time_s[a] + chain[b])
            crossed = start[a] + time_s[a] + delay_s[e] + chain[b]
            reach[a] = max(reach[a], min(crossed, reach[b]))
    return reach, chain


@compiled
def _least(above: Any, reach: Any, begun: Any, time_s: Any, chain: Any) -> float:
    """The least t ≥ C(u of ``above`` with B_v(u) > t), none of them starting before ``begun``."""
    order = above[np.argsort(-reach[above])]
    low, high = 0, len(order)  # the least k with C of the k first ≥ B of the next
    while low < high:
        k = (low + high) // 2
        if _machine(order[:k], begun, time_s, chain) >= reach[order[k]]:
            high = k
        else:
            low = k + 1
    best = _machine(order[:low], begun, time_s, chain)
    if low < len(order):
        best = max(best, reach[order[low]])
    if low > 0:
        best = min(best, max(_machine(order[: low - 1], begun, time_s, chain), reach[order[low - 1]]))
    return best


@compiled
def earliest_starts(
    nodes: int, time_s: Any, first_s: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> Floats:
    """(nodes,) e(v). Nodes are in topological order; ``delay_s`` (E,) is the least delay of an edge that
    is crossed, up to its target's start; ``first_s`` (nodes,) bounds every start from below.

    The work is O(nodes·(edges + nodes·log nodes)).
    """
    start = np.zeros(nodes)
    for v in range(nodes):
        start[v] = first_s[v]
        if into_at[v + 1] == into_at[v]:
            continue
        reach, chain = _reached(v, start, time_s, into_at, into, source, delay_s)
        above = np.flatnonzero(reach[:v] != -1e300)
        start[v] = max(start[v], _least(above, reach, start, time_s, chain))
    return start


@compiled
def starts_elsewhere(
    nodes: int, time_s: Any, start: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> Floats:
    """(nodes,) Bounds on the start of every node on another server than that of node 0.

    As above, but what shares v's server is not node 0, and began there no sooner than this bound says;
    ``start`` are the earliest starts, wherever. Node 0 itself gets ``inf``.
    """
    away = np.zeros(nodes)
    away[0] = np.inf
    for v in range(1, nodes):
        away[v] = start[v]
        if into_at[v + 1] == into_at[v]:
            continue
        reach, chain = _reached(v, start, time_s, into_at, into, source, delay_s)
        above = np.flatnonzero(reach[1:v] != -1e300) + 1
        away[v] = max(away[v], _least(above, reach, away, time_s, chain), reach[0])
    return away


@compiled
def _through(f: Any, e: int, server: Any, placed: int) -> Any:
    """Return (seconds at the link until edge ``e``'s tensor is through, whether no earlier edge sent it)."""
    u, place = f.source[e], server[f.target[e]]
    home = server[u]
    sent = 0.0
    for at in range(f.out_at[u], f.out_at[u + 1]):
        other = f.out[at]
        end = f.target[other]
        if end > placed or server[end] == home:
            continue
        first = True
        for before in range(f.out_at[u], at):
            twin = f.out[before]
            goal = f.target[twin]
            if f.tensor[twin] == f.tensor[other] and goal <= placed and server[goal] == server[end]:
                first = False
        same = f.tensor[other] == f.tensor[e] and server[end] == place
        if f.fifo:
            if first:
                sent += f.link_s[other]
            if same:
                return sent
        elif first:
            sent += min(f.link_s[other], f.link_s[e])
    return sent


@compiled
def _is_new(f: Any, e: int, server: Any) -> bool:
    """Return whether no edge to an earlier task, or earlier in the list, sends edge ``e``'s message."""
    u, v = f.source[e], f.target[e]
    for at in range(f.out_at[u], f.out_at[u + 1]):
        other = f.out[at]
        end = f.target[other]
        same = f.tensor[other] == f.tensor[e] and server[end] == server[v]
        if same and (end < v or (end == v and other < e)):
            return False
    return True


@compiled
def _arrival(f: Any, v: int, server: Any, end_s: Any, placed: int) -> Any:
    """(when the last input of ``v`` is there and it may start, its own executor aside; another's input?)."""
    ready, cut = 0.0, False
    if v <= f.m and f.into_at[v] == f.into_at[v + 1]:
        ready = f.visit_s
    for at in range(f.into_at[v], f.into_at[v + 1]):
        e = f.into[at]
        u = f.source[e]
        arrives = end_s[u]
        if server[u] != server[v]:
            moved = f.queued * (_through(f, e, server, placed) - f.link_s[e]) + f.own * f.link_s[e]
            arrives += f.latency_s + (moved + f.wait if f.fifo else moved * (1.0 + f.wait))
            if v <= f.m:
                arrives += f.visit_s
            if u > 0:
                cut = True
        ready = max(ready, arrives)
    return ready, cut


@compiled
def span_of(f: Any, server: Any) -> float:
    """The span of a whole configuration, ``server`` (m+2,) with the root's 0 and the sink's."""
    end_s, free = np.zeros(f.m + 2), np.full(f.slots + 2, -1e300)
    if f.has_root:
        free[0] = 0.0
    away, latest = False, 0.0
    for v in range(1, f.m + 1):
        ready, _ = _arrival(f, v, server, end_s, f.m + 1)
        end_s[v] = max(ready, free[server[v]]) + f.time_s[v]
        free[server[v]] = end_s[v]
        away = away or server[v] != 0
        latest = max(latest, end_s[v])
    if f.has_sink:
        latest, _ = _arrival(f, f.m + 1, server, end_s, f.m + 1)
        if away or server[f.m + 1] != 0:
            latest += f.visit_s
    return latest


@compiled
def _carry(v: int, used: int, free: Any, batch: Any, block: Any, on_root: Any) -> None:
    """The state after the tasks before ``v`` as that of ``v``, to be added to."""
    for s in range(used + 1):
        free[v, s] = free[v - 1, s]
        on_root[v, s] = on_root[v - 1, s]
        for k in range(block.shape[1]):
            block[v, k, s] = block[v - 1, k, s]
    free[v, used + 1], on_root[v, used + 1] = -1e300, False  # a server not yet in use
    for k in range(block.shape[1]):
        block[v, k, used + 1] = 0.0
    for u in range(v + 1):
        batch[v, u] = batch[v - 1, u]


@compiled
def _squares_left(f: Any) -> Any:
    """(m+3,) Charge of the blocks that the tasks from each on have at least: those of single tasks."""
    left = np.zeros(f.m + 3)
    for v in range(f.m, 0, -1):
        left[v] = left[v + 1]
        for k in range(len(f.factor)):
            left[v] += f.factor[k] * f.class_s[k, v] ** 2
    return left


@compiled
def _root_charge(f: Any) -> float:
    """Charge of the root's own work, which every configuration has."""
    charge = 0.0
    for k in range(len(f.factor)):
        charge += f.factor[k] * (f.run_s[k] * f.root_s[k] + f.root_s[k] ** 2)
    return charge


@compiled
def search(f: Any, tail_s: Any, best: float, answer: Any, most: int) -> Any:
    """The best configuration that is not local and below ``best``, written into ``answer`` (m+2,).

    Returns its cost (``best`` if none is better), a bound on all of them, and the nodes looked at;
    after ``most`` nodes the rest of the tree is left to the bound.
    """
    m, classes = f.m, len(f.factor)
    server, used = np.zeros(m + 2, dtype=np.int64), np.zeros(m + 2, dtype=np.int64)
    following = np.zeros(m + 3, dtype=np.int64)
    end_s, free = np.zeros(m + 2), np.full((m + 2, f.slots + 2), -1e300)
    batch, block = np.zeros((m + 2, m + 2)), np.zeros((m + 2, classes, f.slots + 2))
    on_root = np.zeros((m + 2, f.slots + 2), dtype=np.bool_)
    latest, charge, bound = np.zeros(m + 2), np.zeros(m + 2), np.zeros(m + 2)
    left, on_root[0, 0] = _squares_left(f), True
    charge[0] = _root_charge(f)
    if f.has_root:
        free[0, 0] = 0.0
    last_visit = f.visit_s if f.has_sink else 0.0
    bound[0] = tail_s[0] + last_visit + charge[0] + left[1]
    open_bound, nodes, v = np.inf, 0, 1
    while v >= 1:
        if nodes >= most:
            for d in range(1, v + 1):
                open_bound = min(open_bound, bound[d - 1])
            break
        place = following[v]
        limit = min(used[v - 1] + 1, f.slots - 1) if v <= m else (used[m] if f.has_sink else 0)
        if place > limit or bound[v - 1] >= best:
            following[v] = 0
            v -= 1
            continue
        following[v] = place + 1
        nodes += 1
        server[v] = place
        if v == m + 1:
            if used[m] > 0:
                total = _whole(f, server, charge[m])
                if total < best:
                    best = total
                    answer[:] = server
            continue
        ready, cut = _arrival(f, v, server, end_s, v)
        _carry(v, used[v - 1], free, batch, block, on_root)
        charge[v] = charge[v - 1] + _sent(f, v, server, batch[v])
        charge[v] += _worked(f, v, place, cut, block[v], on_root[v])
        end_s[v] = max(ready, free[v, place]) + f.time_s[v]
        free[v, place] = end_s[v]
        latest[v] = max(latest[v - 1], end_s[v] + tail_s[v])
        used[v] = max(used[v - 1], place)
        bound[v] = max(bound[v - 1], max(latest[v], tail_s[0]) + last_visit + charge[v] + left[v + 1])
        if bound[v] < best:
            v += 1
            following[v] = 0
    return best, min(best, open_bound), nodes


@compiled
def _sent(f: Any, v: int, server: Any, batch: Any) -> float:
    """Charge of the messages that the place of ``v`` adds; ``batch`` (m+2,) is brought up to date."""
    added = 0.0
    for at in range(f.into_at[v], f.into_at[v + 1]):
        e = f.into[at]
        u = f.source[e]
        if server[u] != server[v] and _is_new(f, e, server):
            grown = batch[u] + f.link_s[e]
            added += f.load * f.link_s[e] + f.square * (grown**2 - batch[u] ** 2)
            batch[u] = grown
    return added


@compiled
def _worked(f: Any, v: int, place: int, cut: bool, block: Any, on_root: Any) -> float:
    """Charge of the work that ``v`` adds to the open block of its server."""
    added = 0.0
    if cut:
        on_root[place] = False
    for k in range(len(f.factor)):
        if cut:
            block[k, place] = 0.0
        before, time = block[k, place], f.class_s[k, v]
        squares = time * (2.0 * before + time)
        if on_root[place]:
            squares += time * (f.run_s[k] + 2.0 * f.root_s[k])
        added += f.factor[k] * squares
        block[k, place] = before + time
    return added


@compiled
def _whole(f: Any, server: Any, charge: float) -> float:
    """Cost of a whole configuration; ``charge`` is that of its interior."""
    batch = np.zeros(f.m + 2)
    for u in range(f.m + 2):
        for at in range(f.out_at[u], f.out_at[u + 1]):
            e = f.out[at]
            if f.target[e] <= f.m and server[u] != server[f.target[e]] and _is_new(f, e, server):
                batch[u] += f.link_s[e]
    return span_of(f, server) + charge + _sent(f, f.m + 1, server, batch)


@compiled
def _batches(f: Any, server: Any, sent_by: Any, arrives: Any) -> float:
    """Charge of all messages; ``arrives`` (E,) gets the seconds each edge takes, 0 on its own server.

    ``sent_by`` (tensors, servers) is scratch: when a tensor's message to a server is through.
    """
    charge = 0.0
    for u in range(f.m + 1):
        home, total, squares = server[u], 0.0, 0.0
        for at in range(f.out_at[u], f.out_at[u + 1]):
            e = f.out[at]
            place = server[f.target[e]]
            arrives[e] = 0.0
            if place == home:
                continue
            if sent_by[f.tensor[e], place] < 0.0:
                total += f.link_s[e]
                sent_by[f.tensor[e], place] = total if f.fifo else f.link_s[e]
            arrives[e] = sent_by[f.tensor[e], place]
        if not f.fifo and total > 0.0:
            for at in range(f.out_at[u], f.out_at[u + 1]):
                e = f.out[at]
                if server[f.target[e]] != home:
                    arrives[e] = _shared(f, u, e, server, sent_by)
        for at in range(f.out_at[u], f.out_at[u + 1]):
            e = f.out[at]
            if server[f.target[e]] != home:
                moved = f.queued * (arrives[e] - f.link_s[e]) + f.own * f.link_s[e]
                arrives[e] = f.latency_s + (moved + f.wait if f.fifo else moved * (1.0 + f.wait))
        for at in range(f.out_at[u], f.out_at[u + 1]):
            e = f.out[at]
            sent_by[f.tensor[e], server[f.target[e]]] = -1.0
        squares = total * total
        charge += f.load * total + f.square * squares
    return charge


@compiled
def _shared(f: Any, u: int, e: int, server: Any, sent_by: Any) -> float:
    """Processor sharing: seconds of the batch of ``u`` that go by until edge ``e``'s message is through."""
    gone, home = 0.0, server[u]
    for at in range(f.out_at[u], f.out_at[u + 1]):
        other = f.out[at]
        place = server[f.target[other]]
        if place == home:
            continue
        first = True
        for before in range(f.out_at[u], at):
            twin = f.out[before]
            if f.tensor[twin] == f.tensor[other] and server[f.target[twin]] == place:
                first = False
                break
        if first:
            gone += min(f.link_s[other], f.link_s[e])
    return gone


@compiled
def cost_of(f: Any, server: Any, sent_by: Any, arrives: Any, end_s: Any, free: Any, block: Any) -> float:
    """Return the cost of a configuration that is not local, up to the common part of all of these.

    ``server`` (m+2,); the other arrays are scratch: (tensors, servers) filled with −1, (E,), (m+2,),
    (servers,), (K + 1, servers), the last row of ``block`` marking the root's open block.
    """
    charge = _batches(f, server, sent_by, arrives)
    classes = len(f.factor)
    for s in range(len(free)):
        free[s] = -1e300
        for k in range(classes + 1):
            block[k, s] = 0.0
    if f.has_root:
        free[0] = 0.0
    block[classes, 0] = 1.0
    latest = 0.0
    for v in range(1, f.m + 1):
        place, ready, cut = server[v], 0.0, False
        if f.into_at[v] == f.into_at[v + 1]:
            ready = f.visit_s
        for at in range(f.into_at[v], f.into_at[v + 1]):
            e = f.into[at]
            u = f.source[e]
            if server[u] == place:
                ready = max(ready, end_s[u])
            else:
                ready = max(ready, end_s[u] + arrives[e] + f.visit_s)
                cut = cut or u > 0
        end_s[v] = max(ready, free[place]) + f.time_s[v]
        free[place] = end_s[v]
        latest = max(latest, end_s[v])
        if cut:
            block[classes, place] = 0.0
        for k in range(classes):
            if cut:
                block[k, place] = 0.0
            time = f.class_s[k, v]
            squares = time * (2.0 * block[k, place] + time)
            if block[classes, place] > 0.0:
                squares += time * (f.run_s[k] + 2.0 * f.root_s[k])
            charge += f.factor[k] * squares
            block[k, place] += time
    if f.has_sink:
        latest = f.visit_s
        for at in range(f.into_at[f.m + 1], f.into_at[f.m + 2]):
            e = f.into[at]
            latest = max(latest, end_s[f.source[e]] + arrives[e] + f.visit_s)
    return latest + charge


@compiled
def climb(f: Any, tensors: int, server: Any, group_at: Any, group: Any, most: int) -> Any:
    """Move groups while that lowers the cost; ``server`` (m+2,) is changed. Returns (cost, evaluations).

    The tasks of group g are ``group[group_at[g]:group_at[g+1]]``, the sink being m+1. Every group is
    tried on every server in use and on a new one, in turn, until none moves or after ``most`` trials.
    """
    sent_by = np.full((tensors + 1, f.slots + 1), -1.0)
    arrives, end_s = np.zeros(len(f.source) + 1), np.zeros(f.m + 2)
    free, block = np.zeros(f.slots + 1), np.zeros((len(f.factor) + 1, f.slots + 1))
    best = cost_of(f, server, sent_by, arrives, end_s, free, block)
    kept = np.zeros(f.m + 2, dtype=np.int64)
    tried, still, g, groups = 0, 0, 0, len(group_at) - 1
    while still < groups and tried < most:
        low, high = group_at[g], group_at[g + 1]
        for i in range(low, high):
            kept[i - low] = server[group[i]]
        most_used = 0
        for v in range(f.m + 2):
            most_used = max(most_used, server[v])
        moved = False
        for s in range(min(most_used + 2, f.slots)):
            same = True
            for i in range(low, high):
                same = same and server[group[i]] == s
            if same:
                continue
            for i in range(low, high):
                server[group[i]] = s
            cost = cost_of(f, server, sent_by, arrives, end_s, free, block)
            tried += 1
            if cost < best * (1.0 - 1e-12) - 1e-300:
                best, moved = cost, True
                for i in range(low, high):
                    kept[i - low] = s
            else:
                for i in range(low, high):
                    server[group[i]] = kept[i - low]
        still = 0 if moved else still + 1
        g = (g + 1) % groups
    return best, tried
