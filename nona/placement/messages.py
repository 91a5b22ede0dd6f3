"""Messages of configurations: which tensors cross the link, how large, and when they are through.

A message is one tensor to one destination server. When a task ends, all messages of its outputs
are requested at once: a *batch*. The batch waits for the link as one, and its messages are served
in the order of the task graph's edges, so under FIFO a message is through when all before it in
its batch are; under processor sharing message i has received its bytes after Σ_j min(s_j, s_i)/C
on an otherwise idle link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations import Labels
from nona.placement.shape import Shape
from nona.system import Discipline

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Link:
    """The bottleneck link as the placement sees it.

    ``crosses`` is False in a system of one server, where no message needs the link.
    """

    capacity: float
    latency_s: float
    discipline: Discipline = "fifo"
    crosses: bool = True


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of n configurations of a shape with E edges.

    Attributes
    ----------
    remote : (E, n)
        Whether the two ends of an edge are on different servers.
    through_s : (E, n)
        Seconds from a batch's turn at the link until this edge's tensor is through, latency
        included; 0 where the edge stays on its server.
    stretched_s : (E, n)
        The seconds of it that processor sharing stretches; unused under FIFO.
    load_s, square_s2 : (n,)
        Link seconds of one query, D(c)/C, and the sum over batches of (link seconds)². With one
        batch per task the link is an M/G/1 queue of batches, so its second moment is that of
        the batches (batch arrivals: Gross et al., Fundamentals of Queueing Theory, section 3.1).
    """

    remote: NDArray[np.bool_]
    through_s: Floats
    stretched_s: Floats
    load_s: Floats
    square_s2: Floats


def messages(shape: Shape, labels: Labels, link: Link) -> Messages:
    """Messages of every configuration in ``labels`` (n, m+1); see :class:`Messages`."""
    n = len(labels)
    server = np.concatenate([np.zeros((1, n), dtype=np.int64), labels.T])
    remote = server[shape.source] != server[shape.target]
    through, stretched = np.zeros(remote.shape), np.zeros(remote.shape)
    load, square = np.zeros(n), np.zeros(n)
    if link.crosses:
        for edges in shape.edges_of:
            batch = _batch(shape, edges, server, remote, link.discipline) / link.capacity
            stretched[list(edges)] = batch[:-1]
            load += batch[-1]
            square += batch[-1] ** 2
        through = np.where(remote, stretched + link.latency_s, 0.0)
    return Messages(remote, through, stretched, load, square)


def _batch(
    shape: Shape, edges: tuple[int, ...], server: Labels, remote: NDArray[np.bool_], discipline: Discipline
) -> Floats:
    """Bytes served until each edge's message is through, (edges, n); last row: bytes of the batch."""
    n = server.shape[1]
    sent = np.zeros((len(edges), n))  # bytes of the message that an edge starts; 0 if an earlier edge did
    first = np.zeros((len(edges), n), dtype=np.int64)  # the edge that starts its message
    for i, e in enumerate(edges):
        first[i] = i
        for j in range(i - 1, -1, -1):
            if shape.tensor[edges[j]] == shape.tensor[e]:
                same = server[shape.target[edges[j]]] == server[shape.target[e]]
                first[i] = np.where(same, j, first[i])
        sent[i] = np.where(remote[e] & (first[i] == i), shape.size[e], 0.0)
    served = np.zeros((len(edges) + 1, n))
    if not edges:
        return served
    if discipline == "fifo":
        done = np.cumsum(sent, axis=0)
    else:
        done = np.stack([np.minimum(sent, own).sum(axis=0) for own in sent])
    served[:-1] = np.where(remote[list(edges)], np.take_along_axis(done, first, axis=0), 0.0)
    served[-1] = sent.sum(axis=0)
    return served
