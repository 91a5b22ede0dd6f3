"""Messages of configurations: which tensors cross the link, how large, and when.

A message is one tensor to one destination server. When a task ends, all messages of its outputs
are requested at once: a *batch*. The batch waits for the link as one, and its messages are served
by tensor, then by target, so under FIFO a message is through when all before it in
its batch are; under processor sharing message i has received its bytes after Σ_j min(s_j, s_i)/C
on an otherwise idle link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.queries.placement.configurations import SubgraphShape
from nona.queries.system import Discipline


@dataclass(frozen=True, slots=True)
class Route:
    """Seconds per byte of a message over several links, averaged over the pairs of servers.

    Messages are pipelined: one of s bytes is through ``own``·s after its turn at the first link, the
    slowest link on its way deciding. Each byte before it in its batch delays it by ``queued``: that
    of the slowest link which both cross.
    """

    own: float
    queued: float


@dataclass(frozen=True, slots=True)
class PlacementLink:
    """The link between servers as the placement sees it, or all links on a message's way.

    ``crosses`` is False in a system of one server, where no message needs the link. With ``route``
    there are several links; ``capacity`` is then that of the core, the unit of link seconds.
    """

    capacity: float
    latency_s: float
    discipline: Discipline = "fifo"
    crosses: bool = True
    route: Route | None = None

    @property
    def speed(self) -> float:
        """Bytes/s of a single message on its way: of the slowest link, on average over the servers.

        >>> PlacementLink(100.0, 0.0).speed, PlacementLink(100.0, 0.0, route=Route(0.125, 0.0)).speed
        (100.0, 8.0)
        """
        return self.capacity if self.route is None else 1.0 / self.route.own


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of n configurations of a shape with E edges.

    ``remote`` (E, n): whether the two ends of an edge are on different servers.
    ``through_s`` (E, n): seconds from a batch's turn at the link until this edge's tensor is through, latency
        included; 0 where the edge stays on its server.
    ``stretched_s`` (E, n): the seconds of it that processor sharing stretches; unused under FIFO.
    ``load_s``, ``square_s2`` (n,): link seconds of one query, D(c)/C, and the sum over batches of (link
        seconds)². With one batch per task the link is an M/G/1 queue of batches, so its second moment is that
        of the batches (batch arrivals: Gross et al., Fundamentals of Queueing Theory, section 3.1).
    ``bundle_s2`` (n,): the sum over bundles of (link seconds)², a bundle being what of a batch goes to one
        server: what meets at that server's card. Only where there are several links; else 0.
    """

    remote: Bools
    through_s: Floats
    stretched_s: Floats
    load_s: Floats
    square_s2: Floats
    bundle_s2: Floats


def messages(shape: SubgraphShape, labels: Ints, link: PlacementLink) -> Messages:
    """Messages of every configuration in ``labels`` (n, m+1); see :class:`Messages`."""
    n = len(labels)
    server = np.concatenate([np.zeros((1, n), dtype=np.int64), labels.T])
    remote = server[shape.source] != server[shape.target]
    through, stretched = np.zeros(remote.shape), np.zeros(remote.shape)
    load, square, bundle = np.zeros(n), np.zeros(n), np.zeros(n)
    if link.crosses:
        for edges in shape.edges_of:
            sent, first = _sent(shape, edges, server, remote)
            batch = _batch(sent, first, remote[list(edges)], link.discipline) / link.capacity
            stretched[list(edges)] = batch[:-1]
            load += batch[-1]
            square += batch[-1] ** 2
            if link.route is not None and edges:
                bundle += (sent * _bundle_bytes(shape, edges, server, sent)).sum(axis=0) / link.capacity**2
                own = np.where(remote[list(edges)], np.take_along_axis(sent, first, axis=0), 0.0)
                done = batch[:-1] * link.capacity
                stretched[list(edges)] = link.route.queued * (done - own) + link.route.own * own
        through = np.where(remote, stretched + link.latency_s, 0.0)
    return Messages(remote, through, stretched, load, square, bundle)


def _bundle_bytes(shape: SubgraphShape, edges: tuple[int, ...], server: Ints, sent: Floats) -> Floats:
    """Bytes of the bundle that each edge's message belongs to, (edges, n)."""
    goal = server[shape.target[list(edges)]]
    total = np.zeros(sent.shape)
    for own, to in zip(sent, goal, strict=True):
        total += np.where(goal == to, own, 0.0)
    return total


def _sent(shape: SubgraphShape, edges: tuple[int, ...], server: Ints, remote: Bools) -> tuple[Floats, Ints]:
    """Bytes of the message that an edge starts, 0 if an earlier edge did; and which edge starts its own."""
    n = server.shape[1]
    sent = np.zeros((len(edges), n))
    first = np.zeros((len(edges), n), dtype=np.int64)
    for i, e in enumerate(edges):
        first[i] = i
        for j in range(i - 1, -1, -1):
            if shape.tensor[edges[j]] == shape.tensor[e]:
                same = server[shape.target[edges[j]]] == server[shape.target[e]]
                first[i] = np.where(same, j, first[i])
        sent[i] = np.where(remote[e] & (first[i] == i), shape.size[e], 0.0)
    return sent, first


def _batch(sent: Floats, first: Ints, remote: Bools, discipline: Discipline) -> Floats:
    """Bytes served until each edge's message is through, (edges, n); last row: bytes of the batch."""
    served = np.zeros((len(sent) + 1, sent.shape[1]))
    if not len(sent):
        return served
    if discipline == "fifo":
        done = np.cumsum(sent, axis=0)
    else:
        done = np.stack([np.minimum(sent, own).sum(axis=0) for own in sent])
    served[:-1] = np.where(remote, np.take_along_axis(done, first, axis=0), 0.0)
    served[-1] = sent.sum(axis=0)
    return served


@dataclass(frozen=True, eq=False)
class ShapeCandidates:
    """Configurations of one shape, ready to be evaluated.

    ``exhaustive`` says that they are all there are (up to symmetry); ``note`` says what else.
    """

    shape: SubgraphShape
    labels: Ints
    link: PlacementLink
    exhaustive: bool = True
    note: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def messages(self) -> Messages:
        """The messages of the configurations."""
        return messages(self.shape, self.labels, self.link)

    @cached_property
    def local(self) -> Bools:
        """By configuration (n,), true where it keeps everything on the root's server."""
        result: Bools = (self.labels == 0).all(axis=1)
        return result

    @cached_property
    def sink_visit(self) -> Bools:
        """By configuration (n,), true where the sink queues again at its server."""
        return ~self.local & self.shape.has_sink

    @cached_property
    def plans(self) -> dict[int, object]:
        """Configurations as :mod:`nona.queries.placement.spans` walks them, made when first needed."""
        return {}

    @cached_property
    def envelopes(self) -> dict[float, object]:
        """Lines of the link's wait at recent server waits, see :mod:`nona.queries.placement.spans`."""
        return {}

    @cached_property
    def runs(self) -> dict[float, object]:
        """Blocks by an executor's busy probability, see :mod:`nona.queries.placement.queueing`."""
        return {}

    def select(self, rows: Ints) -> ShapeCandidates:
        """Return the configurations of these rows only."""
        return ShapeCandidates(self.shape, self.labels[rows], self.link, self.exhaustive, self.note)
