"""Messages on their way: over the one link, first come first served or shared, or over several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.resources import Network
from nona.placement.response.tracks import Tracks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_WAY = (("out_link", 0), ("up_link", 0), ("core", 0), ("down_link", 1), ("in_link", 1))


class Post(NamedTuple):
    """A message of each job: bytes (below 0: it has none), bytes served by its end if all of its task's
    messages share the link equally, labels of the servers it goes from and to."""

    size: Floats
    shared: Floats
    source: Ints
    target: Ints


def carry(network: Network, tracks: Tracks, post: Post, t: Floats, rng: np.random.Generator) -> Floats:
    """When messages that are asked for at ``t`` (N,) are there."""
    system = network.system
    if system.servers < 2:
        return t
    if len(network.sides):
        return _over_links(network, tracks, post, t) + system.latency_s
    there, core = post.size >= 0, np.full(len(t), len(tracks.row) - 1)
    work = np.maximum(post.size, 0.0) / system.capacity
    wait = tracks.send(core, t, work, there)
    if system.discipline == "fifo":
        return t + wait + work + system.latency_s
    alone = np.maximum(post.shared, 0.0) / system.capacity
    return t + shared_s(alone, network.waits.load, network.waits.message_s, rng) + system.latency_s


def shared_s(work_s: Floats, load: float, mean_s: float, rng: np.random.Generator) -> Floats:
    """Seconds of transfers of ``work_s`` under processor sharing.

    Formula: x·(1 + m + (n − m)·φ), n geometric with mean m = ρ/(1 − ρ), the transfers met at the start,
    φ = √(2(y − 1 + e^−y))/y, y = (1 − ρ)·x/s̄. Mean x/(1 − ρ) as in every M/G/1 queue, variance that of
    M/M/1 (E. G. Coffman, R. R. Muntz, H. Trotter, Journal of the ACM 17, 1970; recollected).

    >>> shared_s(np.array([2.0]), 0.0, 1.0, np.random.default_rng(0)).tolist()
    [2.0]
    """
    if not 0 < load < 1 or mean_s <= 0:
        return work_s
    mean = load / (1.0 - load)
    met = rng.geometric(1.0 - load, len(work_s)) - 1.0
    y = np.maximum((1.0 - load) * work_s / mean_s, 1e-9)
    fades = np.where(y > 1e-4, np.sqrt(np.maximum(2.0 * (y + np.expm1(-y)), 0.0)) / y, 1.0)
    result: Floats = work_s * (1.0 + mean + (met - mean) * fades)
    return np.maximum(result, work_s)


def _over_links(network: Network, tracks: Tracks, post: Post, t: Floats) -> Floats:
    """Link by link as in the simulator: the next is joined when a message has its turn at the one before.

    It is through when every link has had time for it.
    """
    there, size = post.size >= 0, np.maximum(post.size, 0.0)
    columns, through = np.arange(len(t)), t
    topology = network.system.topology
    rack = np.zeros(network.system.servers, dtype=np.int64) if topology is None else topology.rack
    apart = rack[tracks.place[post.source, columns]] != rack[tracks.place[post.target, columns]]
    for name, side in _WAY:
        if name != "core" and name not in network.sides:
            continue
        role = network.roles[network.sides.get(name, 0)]
        label = post.target if side else post.source
        which = label * network.width + network.offset.get(name, 0)
        if name == "core":
            which = np.full(len(t), len(tracks.row) - 1)
        where: Bools = there if name in ("out_link", "in_link") else there & apart
        work = size / role.capacity
        begins = t + tracks.send(which, t, work, where)
        through = np.where(where, np.maximum(through, begins + work), through)
        t = begins
    return through
