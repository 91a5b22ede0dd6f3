"""The time a configuration takes: the longest path with its waits, for many configurations at once.

From the end of the root, each task of a part runs after the one before it in the part and after
its inputs. An input from another server arrives after W_n (wait of a message at the link) and its
transfer, and its task then waits W_c in the queue of its executor; a task whose last input was
made on its own executor runs on without queueing. With u over the predecessors of v::

    f(v) = p(v) + max( f(task before v in its part),
                       max over u of f(u) + [other server]·(W_n + transfer(u, v) + W_c) )
    span = max over u into the sink of f(u) + [other server]·(W_n + transfer(u, sink)), + W_c

where the last W_c, the sink queueing again, is left out when all is local or the sink is virtual.
This is equation 10 and 11 of the project page (nona.csail.mit.edu) where interior tasks do not
depend on each other, and their extension to tasks that do. It is piecewise linear, convex and
increasing in both waits. All paths count with their waits: to follow only the path that is
longest without waits would make traffic beside that path look free. Under processor sharing a
transfer is stretched by 1 + w, w = ρ/(1 − ρ), in place of the wait.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.candidates import Candidates

Floats = NDArray[np.float64]
COMPUTE, TRANSFER, LINK, VISITS = range(4)


def spans(
    candidates: Candidates,
    link_wait: Floats | float,
    server_wait_s: float,
    rows: NDArray[np.int64] | None = None,
) -> tuple[Floats, Floats]:
    """Span of each configuration from the root's end to the sink's start, and its longest path.

    Parameters
    ----------
    link_wait
        W_n in seconds under FIFO, the stretch w under processor sharing; scalar or (n,).
    server_wait_s
        W_c, mean wait of one visit to an executor.
    rows
        Which configurations; all by default.

    Returns
    -------
    span_s : (n,)
    path : (4, n)
        Of a longest path: compute seconds, transfer seconds, coefficient of ``link_wait``
        (messages under FIFO, transfer seconds under processor sharing), number of visits. So
        ``span = path[0] + path[1] + path[2]·link_wait + path[3]·server_wait_s``.
    """
    walk = _Walk(candidates, link_wait, server_wait_s, rows)
    for v in range(1, candidates.shape.m + 1):
        walk.run_task(v)
    return walk.finish()


def ends(candidates: Candidates, rows: NDArray[np.int64]) -> Floats:
    """(m + 1, n) When root and interior tasks of some configurations end if nobody waits, seconds."""
    walk = _Walk(candidates, 0.0, 0.0, rows)
    for v in range(1, candidates.shape.m + 1):
        walk.run_task(v)
    return np.array([done[0] for done in walk.done])


class _Walk:
    """The recursion of the module's head over (1 + 4, n) arrays: value, then the path's four terms."""

    def __init__(
        self, c: Candidates, link_wait: Floats | float, server_wait_s: float, rows: NDArray[np.int64] | None
    ) -> None:
        chosen = slice(None) if rows is None else rows
        self.c, self.shape = c, c.shape
        self.labels = c.labels[chosen].T
        self.sink_visit = c.sink_visit[chosen]
        n = self.labels.shape[1]
        self.columns = np.arange(n)
        self.link_wait, self.server_wait_s = (
            np.broadcast_to(np.asarray(link_wait, dtype=float), (n,)),
            server_wait_s,
        )
        self.never = np.zeros((5, n))
        self.never[0] = -np.inf
        self.at_once = np.zeros((5, n))
        self.done: list[Floats] = [self.at_once]
        self.last = np.tile(self.never[:, None, :], (1, int(self.labels.max(initial=0)) + 1, 1))
        if self.shape.has_root:
            self.last[:, 0, :] = 0.0
        kept = c.messages
        self.remote = kept.remote[:, chosen]
        self.through = kept.through_s[:, chosen]
        fifo = c.link.discipline == "fifo"
        self.slope = self.remote * float(c.link.crosses) if fifo else kept.stretched_s[:, chosen]

    def _visit(self, path: Floats, where: NDArray[np.bool_]) -> Floats:
        out = path.copy()
        out[0] += where * self.server_wait_s
        out[1 + VISITS] += where
        return out

    def _arrival(self, edge: int, visit: bool) -> Floats:
        """The path through ``edge``: its transfer and waits added to the end of its source."""
        out = self.done[self.shape.source[edge]].copy()
        out[1 + TRANSFER] += self.through[edge]
        out[1 + LINK] += self.slope[edge]
        out[0] += self.through[edge] + self.slope[edge] * self.link_wait
        return self._visit(out, self.remote[edge]) if visit else out

    def run_task(self, v: int) -> None:
        label = self.labels[v - 1]
        best = self.last[:, label, self.columns]
        for edge in self.shape.edges_into[v]:
            best = _longer(best, self._arrival(edge, visit=True))
        if not self.shape.edges_into[v]:
            # A source of the graph (its root is virtual) queues; a source on the root's own
            # server that depends on nothing behind a real root cannot exist.
            best = _longer(best, self._visit(self.at_once, np.ones(len(self.columns), dtype=bool)))
        best[:2] += self.shape.mean_s[v - 1]
        self.last[:, label, self.columns] = best
        self.done.append(best)

    def finish(self) -> tuple[Floats, Floats]:
        best = self.at_once
        for edge in self.shape.edges_into[self.shape.m + 1]:
            best = _longer(best, self._arrival(edge, visit=False))
        if not self.shape.has_sink:
            for v in range(1, self.shape.m + 1):
                best = _longer(best, self.done[v])
        best = self._visit(best, self.sink_visit)
        return best[0], best[1:]


def _longer(a: Floats, b: Floats) -> Floats:
    return np.where(b[0] > a[0], b, a)
