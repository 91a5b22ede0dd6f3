"""Whether a sink that comes back to the root's server finds it still at work on the root's own part.

A task whose last input was made on its own executor runs on without queueing. So the sink of a
configuration that sends parts away but keeps one with the root, and itself, queues again only if some
output comes back after that part has ended. Otherwise the run of the root goes on, and is as long as if
nothing had been sent away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.candidates import Candidates
from nona.placement.spans.longest_paths import ends

Floats = NDArray[np.float64]


def runs_on(candidates: Candidates, busy: float, whole: NDArray[np.bool_]) -> Floats:
    """(n,) Probability r that the sink runs on after the work on the root's server.

    Formula: 1 where all is local; (1 − ρ)^k where the sink is on the root's server, the root's part is
    one block that ends no sooner, on an idle cluster, than the outputs of the k other servers arrive;
    else 0. With probability 1 − ρ a part finds its executor idle (Poisson arrivals see time averages);
    where one is busy, its wait is taken to be longer than the time to spare. Waits at the link, far
    shorter than those at servers, are left out.

    Parameters
    ----------
    busy
        ρ, utilisation of the executors.
    whole : (n,)
        Whether the root's part runs without queueing in between.

    Examples
    --------
    A branch of 2 ms is away while one of 10 ms stays; then the other way round:

    >>> from nona.contraction.task_graph import TaskGraph
    >>> from nona.decomposition.subgraph import SubGraph
    >>> from nona.placement.spans.messages import Link
    >>> from nona.placement.configurations.shape import shape_of
    >>> arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    >>> tasks = TaskGraph.from_edges("fork", [0.001, 0.002, 0.010, 0.001], arcs)
    >>> shape = shape_of(tasks, SubGraph(0, 3, (1, 2)), np.ones(1))
    >>> both = Candidates(shape, np.array([[1, 0, 0], [0, 1, 0]]), Link(1e9, 0.0))
    >>> runs_on(both, 0.25, np.ones(2, dtype=bool)).tolist()
    [0.75, 0.0]
    """
    shape, stays = candidates.shape, candidates.local.astype(float)
    at_home = candidates.labels[:, : shape.m] == 0
    rows = np.flatnonzero(
        whole & ~candidates.local & (candidates.labels[:, -1] == 0) & at_home.any(axis=1) & shape.has_sink
    )
    if not len(rows) or busy >= 1.0:
        return stays
    done = ends(candidates, rows)
    home = np.where(at_home[rows].T, done[1:], -np.inf).max(axis=0)
    back = np.zeros(len(rows))
    for edge in shape.edges_into[shape.m + 1]:
        arrival = done[shape.source[edge]] + candidates.messages.through_s[edge, rows]
        back = np.maximum(back, np.where(candidates.messages.remote[edge, rows], arrival, 0.0))
    in_time = rows[back <= home]
    stays[in_time] = (1.0 - busy) ** candidates.labels[in_time].max(axis=1)
    return stays
