"""The way of a message over several links, and how often it crosses each.

A part goes to an executor drawn uniformly over those of servers that its sub-graph does not use
yet. With p_s the share of the executors that stand on server s, a message from s goes to d with
probability p_d/(1 − p_s); half of the messages run the other way, back to where the sub-graph
began. So the pair (s, d), s ≠ d, has the probability ½(u_s·p_d + p_s·u_d), u = p/(1 − p), which is
1/(S(S − 1)) where all servers are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.cluster.topology import NONE, Topology
from nona.core.arrays import Floats, Ints
from nona.queries.placement.messages import PlacementLink, Route
from nona.queries.system import Discipline, System


@dataclass(frozen=True, eq=False)
class LinkCrossings:
    """For each of L links, the number of its crossings, and the stages before it.

    ``share`` (L,): probability that a message crosses the link.
    ``both`` (L,): probability that two messages of one batch, to different servers, both cross it.
    ``ahead`` (L,): seconds per byte of the slowest link before it, 0 where there is none: so far apart do the
        messages of a batch arrive.
    """

    share: Floats
    both: Floats
    ahead: Floats


@dataclass(frozen=True, eq=False)
class ServerDraws:
    """The probabilities of S servers.

    ``p`` as above, ``source`` that a message comes from each, ``near`` that it does and stays in the rack.
    """

    p: Floats
    source: Floats
    near: Floats

    @staticmethod
    def from_shares(p: Floats, rack: Ints) -> ServerDraws:
        """Return the draws for shares ``p`` of the executors and the rack of each server."""
        if len(p) < 2 or p.max() > 1.0 - 1e-9:  # one server has all executors: no message leaves it
            return ServerDraws(p, np.zeros(len(p)), np.zeros(len(p)))
        u = p / (1.0 - p)
        _, of = np.unique(rack, return_inverse=True)
        in_rack, u_rack = np.bincount(of, weights=p)[of], np.bincount(of, weights=u)[of]
        source = 0.5 * (u * (1.0 - p) + p * (u.sum() - u))
        near = 0.5 * (u * (in_rack - p) + p * (u_rack - u))
        return ServerDraws(p, source, near)


def draws_of(system: System, shares: Floats | None = None) -> Floats:
    """(S,) Chance that a part lands on each server, averaged over the queries.

    Formula: Σ_j w_j Σ_k s_jk·(executors of class k on the server)/n_k, with ``shares`` s (J, K) and
    the rates' weights w; by default, and where they leave but one server, executors are drawn
    uniformly.
    """
    servers, kinds = system.servers, len(system.class_names)
    uniform: Floats = np.bincount(system.executor_server, minlength=servers) / system.executors
    if shares is None or not len(shares):
        return uniform
    rates = np.array([q.rate for q in system.queries])
    weights = rates / rates.sum() if rates.sum() > 0 else np.full(len(rates), 1.0 / len(rates))
    there = np.zeros((servers, kinds))
    np.add.at(there, (system.executor_server, system.executor_class), 1.0)
    total = np.maximum(there.sum(axis=0), 1.0)
    drawn = (there / total) @ (weights @ shares)
    result: Floats = drawn / drawn.sum()
    return result if result.max() < 1.0 - 1e-9 else uniform


def crossings(topology: Topology, p: Floats) -> LinkCrossings:
    """Crossing probabilities of every link; ``p`` (S,) are the shares of the executors.

    Four servers in racks of two: of the three others one is in the same rack.

    >>> from nona.cluster.topology import make_topology
    >>> t = make_topology(4, 100.0, nic=10.0, rack_size=2, uplink=20.0)
    >>> found = crossings(t, np.full(4, 0.25))
    >>> [(t.link_names[k], round(float(found.share[k]), 4)) for k in (0, 1, 5)]
    [('core', 0.6667), ('rack 0 up', 0.3333), ('server 0 out', 0.25)]
    """
    draws = ServerDraws.from_shares(p, topology.rack)
    far = draws.source - draws.near
    share, both, ahead = (np.zeros(topology.links) for _ in range(3))
    slow = _seconds_per_byte(topology)
    two_far = draws.source * _both_far(topology, p)
    for links, weight, pair, before in (
        (topology.out_link, draws.source, draws.source, np.zeros(len(p))),
        (topology.up_link, far, two_far, slow["out"]),
        (topology.down_link, far, np.zeros(len(p)), slow["core"]),
        (topology.in_link, draws.source, np.zeros(len(p)), slow["core"]),
    ):
        has = links != NONE
        share += np.bincount(links[has], weights=weight[has], minlength=topology.links)
        both += np.bincount(links[has], weights=pair[has], minlength=topology.links)
        ahead += np.bincount(links[has], weights=(weight * before)[has], minlength=topology.links)
    share[topology.core], both[topology.core] = far.sum(), two_far.sum()
    ahead[topology.core] = far @ slow["up"]
    ahead = np.divide(ahead, share, out=np.zeros_like(ahead), where=share > 0)
    both += _both_down(topology, draws)
    return LinkCrossings(share, both, ahead)


def _seconds_per_byte(t: Topology) -> dict[str, Floats]:
    """(S,) Of the slowest link up to the card out, the uplink and the core, from each server."""

    def seconds_on(links: Ints) -> Floats:
        return np.where(links == NONE, 0.0, 1.0 / t.link_capacity[links])

    out = seconds_on(t.out_link)
    up = np.maximum(out, seconds_on(t.up_link))
    everywhere = np.maximum(up, 1.0 / t.link_capacity[t.core])
    # A down link sees what comes over the core, from any server alike.
    return {"out": out, "up": up, "core": np.full(len(out), everywhere.mean())}


def _both_far(t: Topology, p: Floats) -> Floats:
    """(S,) That two different destinations of a batch from each server are both outside its rack."""
    values, kind = np.unique(p, return_inverse=True)
    _, of = np.unique(t.rack, return_inverse=True)
    inside = np.zeros((int(of.max()) + 1, len(values)))
    np.add.at(inside, (of, kind), 1.0)
    outside = inside.sum(axis=0) - inside
    mass = 1.0 - np.bincount(of, weights=p)
    return _second_too(p[:, None], values, outside[of], mass[of][:, None])


def _both_down(t: Topology, draws: ServerDraws) -> Floats:
    """(L,) That two messages of a batch, to different servers, come down the same link."""
    both = np.zeros(t.links)
    values, kind = np.unique(draws.p, return_inverse=True)
    for link in np.unique(t.down_link[t.down_link != NONE]).tolist():
        below = np.flatnonzero(t.down_link == link)
        racks = np.unique(t.rack[below])
        elsewhere = ~np.isin(t.rack, racks)
        # Sources in a rack of the link's own reach only those of its servers that are in other racks.
        for sources, targets in [
            (elsewhere, below),
            *((t.rack == r, below[t.rack[below] != r]) for r in racks.tolist() if len(racks) > 1),
        ]:
            weight = np.bincount(kind[sources], weights=draws.source[sources], minlength=len(values))
            count = np.bincount(kind[targets], minlength=len(values)).astype(float)
            mass = float(draws.p[targets].sum())
            both[link] += float(weight @ _second_too(values[:, None], values, count, mass))
    return both


def _second_too(source: Floats, values: NDArray[Any], count: Floats, mass: NDArray[Any] | float) -> Floats:
    """Σ over first targets of p/(1 − p_s)·(mass − p)/(1 − p_s − p), targets counted by their share p."""
    left = 1.0 - source - values
    chance = values * np.maximum(mass - values, 0.0) / (1.0 - source)
    possible = left > 1e-12
    total: Floats = (count * np.where(possible, chance / np.where(possible, left, 1.0), 0.0)).sum(axis=-1)
    return total


def link_of(system: System, shares: Floats | None = None) -> PlacementLink:
    """Return the link of ``system``, or the route over its links; ``shares`` as in the placement's model."""
    stream, draws = system.background_network, draws_of(system, shares)
    busy = stream.load(system.capacity)
    return link_between(system.capacity, system.latency_s, system.discipline, system.topology, draws, busy)


def link_between(
    capacity: float,
    latency_s: float,
    discipline: Discipline,
    topology: Topology | None,
    p: Floats,
    busy: float = 0.0,
) -> PlacementLink:
    """Return the link between servers drawn with probabilities ``p`` (S,); unused where there is but one.

    ``busy``: utilisation of every link by background.
    """
    crosses, route = len(p) > 1, None
    if topology is not None and topology.links > 1 and crosses:
        route = route_of(topology, p, busy)
    return PlacementLink(capacity, latency_s, discipline, crosses, route)


def route_of(topology: Topology, p: Floats, busy: float = 0.0) -> Route:
    """Seconds per byte, averaged over the pairs of servers of :mod:`nona.queries.placement.link_routes`.

    A message within a rack crosses both cards, one to another rack also the uplink, the core and
    the downlink. The messages of a batch have the source's card in common, and those that leave the
    rack the uplink and the core: of two, one that leaves meets the other there with probability
    π2/q of the core.

    >>> from nona.cluster.topology import make_topology
    >>> two_racks = make_topology(4, 100.0, nic=10.0, rack_size=2, uplink=5.0)
    >>> found = route_of(two_racks, np.full(4, 0.25))  # two messages of three leave the rack
    >>> round(found.own, 6), round(found.queued, 6)
    (0.166667, 0.1)
    """
    crossed = crossings(topology, p)
    share = float(crossed.share[topology.core])
    together = float(crossed.both[topology.core]) / share if share > 0 else 0.0
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


def _links(t: Topology) -> tuple[Ints, ...]:
    return t.out_link, t.up_link, t.down_link, t.in_link


def _slowness(t: Topology, links: Ints) -> Floats:
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


def _numbered(a: Floats, b: Floats) -> Ints:
    place = {kind: i for i, kind in enumerate(_kinds(a, b))}
    return np.array([place[k] for k in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.int64)
