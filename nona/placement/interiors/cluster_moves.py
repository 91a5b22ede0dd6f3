"""Local search: whole groups of tasks move to another server while that makes a configuration cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np

from nona.compiled import compiled


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
    """Cost of a configuration that is not local, up to what all of these have in common.

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
