"""The way of a message over several links, as the placement's transfers see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.messages import Link, Route
from nona.placement.waits.link_crossings import crossings, draws_of
from nona.system import Discipline, System
from nona.topology import NONE, Topology

Floats = NDArray[np.float64]


def link_of(system: System, shares: Floats | None = None) -> Link:
    """The link of ``system``, or the route over its links; ``shares`` as in the placement's model."""
    stream, draws = system.background_network, draws_of(system, shares)
    busy = stream.rate * stream.mean / system.capacity
    return link_between(system.capacity, system.latency_s, system.discipline, system.topology, draws, busy)


def link_between(
    capacity: float,
    latency_s: float,
    discipline: Discipline,
    topology: Topology | None,
    p: Floats,
    busy: float = 0.0,
) -> Link:
    """The link between servers drawn with probabilities ``p`` (S,); unused where there is but one.

    ``busy``: utilisation of every link by background.
    """
    crosses, route = len(p) > 1, None
    if topology is not None and topology.links > 1 and crosses:
        route = route_of(topology, p, busy)
    return Link(capacity, latency_s, discipline, crosses, route)


def route_of(topology: Topology, p: Floats, busy: float = 0.0) -> Route:
    """Seconds per byte, averaged over the pairs of servers of :mod:`nona.placement.waits.link_crossings`.

    A message within a rack crosses both cards, one to another rack also the uplink, the core and
    the downlink. The messages of a batch have the source's card in common, and those that leave the
    rack the uplink and the core: of two, one that leaves meets the other there with probability
    π2/q of the core.

    Examples
    --------
    >>> from nona.topology import make_topology
    >>> two_racks = make_topology(4, 100.0, nic=10.0, rack_size=2, uplink=5.0)
    >>> found = route_of(two_racks, np.full(4, 0.25))  # two messages of three leave the rack
    >>> round(found.own, 6), round(found.queued, 6)
    (0.166667, 0.1)
    """
    found = crossings(topology, p)
    share = float(found.share[topology.core])
    together = float(found.both[topology.core]) / share if share > 0 else 0.0
    near, far = _pairs(topology, p)
    out, up, down, into = (_slowness(topology, links) for links in _links(topology))
    first, last = _kinds(out, up), _kinds(down, into)
    core = 1.0 / float(topology.link_capacity[topology.core])
    own = queued = 0.0
    for a, (card, rack) in enumerate(first):
        for b, (rack_in, card_in) in enumerate(last):
            own += near[a, b] * max(card, card_in) + far[a, b] * max(card, rack, core, rack_in, card_in)
            above = max(card, together * rack + busy * card)
            above = max(above, together * core + busy * max(card, rack))
            queued += near[a, b] * card + far[a, b] * above
    return Route(float(own), float(queued))


def quickest_link(system: System, link: Link) -> Link:
    """``link`` with a route no slower than that between any two servers, whichever are drawn."""
    t = system.topology
    if t is None or link.route is None:
        return link
    out, up, down, into = (_slowness(t, links) for links in _links(t))
    core = 1.0 / float(t.link_capacity[t.core])
    first, last = np.maximum(np.maximum(out, up), core), np.maximum(down, into)
    own = max(float(first.min()), float(last.min()))
    racks, size = np.unique(t.rack, return_counts=True)
    for rack in racks[size > 1].tolist():
        there = t.rack == rack
        own = min(own, max(float(out[there].min()), float(into[there].min())))
    return replace(link, route=Route(own, min(own, float(out.min()))))


def _links(t: Topology) -> tuple[NDArray[np.int64], ...]:
    return t.out_link, t.up_link, t.down_link, t.in_link


def _slowness(t: Topology, links: NDArray[np.int64]) -> Floats:
    """(S,) Seconds per byte of each server's link of one role, 0 where it has none."""
    return np.where(links == NONE, 0.0, 1.0 / t.link_capacity[links])


def _kinds(a: Floats, b: Floats) -> list[tuple[float, float]]:
    return sorted(set(zip(a.tolist(), b.tolist(), strict=True)))


def _pairs(t: Topology, p: Floats) -> tuple[Floats, Floats]:
    """Probability of each kind of source with each kind of destination, in one rack and between two."""
    out, up, down, into = (_slowness(t, links) for links in _links(t))
    number = [_numbered(out, up), _numbered(down, into)]
    _, rack = np.unique(t.rack, return_inverse=True)
    u = p / (1.0 - p)
    shape = (
        (int(rack.max()) + 1, int(number[0].max()) + 1),
        (
            int(rack.max()) + 1,
            int(number[1].max()) + 1,
        ),
    )
    near = np.zeros((shape[0][1], shape[1][1]))
    everywhere = near.copy()
    for x, y in ((u, p), (p, u)):
        a, b = np.zeros(shape[0]), np.zeros(shape[1])
        np.add.at(a, (rack, number[0]), x)
        np.add.at(b, (rack, number[1]), y)
        same = np.zeros_like(near)
        np.add.at(same, (number[0], number[1]), x * y)
        near += 0.5 * (a.T @ b - same)
        everywhere += 0.5 * (np.outer(a.sum(axis=0), b.sum(axis=0)) - same)
    return near, everywhere - near


def _numbered(a: Floats, b: Floats) -> NDArray[np.int64]:
    place = {kind: i for i, kind in enumerate(_kinds(a, b))}
    return np.array([place[k] for k in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.int64)
