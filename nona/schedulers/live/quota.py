"""How many jobs ``nona-live`` may split where it does not read the link's queue."""

from __future__ import annotations

import numpy as np

from nona.schedulers.base import View
from nona.schedulers.live.policy import split_cost_s
from nona.schedulers.live.slots import find_slots, make_slots
from nona.schedulers.live.state import make_walk
from nona.schedulers.live.tables import Floats, LiveTables
from nona.system import System

MOST_USED = 0.8  # of what the background leaves of the links


def with_quota(system: System, t: LiveTables) -> LiveTables:
    """The tables with the share of jobs that the links can bear, were all split as on an idle cluster.

    Every role of links (cards, uplinks, core) carries at most 0.8 of what background leaves of it; the
    same share holds for all query classes.
    """
    sent = float(np.array([q.rate for q in system.queries]) @ idle_bytes(system, t))
    free = MOST_USED * (1 - t.expected.link_load) * carried_bytes_s(system)
    share = min(1.0, free / sent) if sent > 0 else 1.0
    return t._replace(quota=np.full(len(system.queries), share))


def idle_view(system: System) -> View:
    """What a scheduler sees of a cluster without a job."""
    n = system.executors
    return View(
        system.executor_server,
        system.executor_class,
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
        system.capacity,
        system.latency_s,
        0.0,
        0.0,
        0.0,
    )


def idle_bytes(system: System, t: LiveTables) -> Floats:
    """(Q,) Bytes that a job of each class sends on an idle cluster."""
    view = idle_view(system)
    sent = np.zeros(len(system.queries))
    for query in range(len(sent)):
        s, w = make_slots(t.most_slots), make_walk(t)
        job = find_slots(query, view, t, s, 0.0)
        if job.size > 1:
            split_cost_s(job, w, s, t)
            sent[query] = w.sent[6]
    return sent


def carried_bytes_s(system: System) -> float:
    """Bytes per second between servers drawn evenly that the links of every role can carry."""
    topology = system.topology
    if topology is None:
        return system.capacity
    roles = (topology.out_link, topology.in_link, topology.up_link, topology.down_link)
    links = [np.unique(role[role >= 0]) for role in roles]
    return min(
        float(topology.link_capacity[topology.core]),
        *(float(topology.link_capacity[k].min() * len(k)) for k in links if len(k)),
    )
