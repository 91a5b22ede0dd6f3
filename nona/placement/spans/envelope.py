"""The span of a configuration as a maximum of few lines in the link's wait.

At a fixed server wait the span is convex and piecewise linear in the link's wait w. Its lines are
found by the method of Eisner and Severance: where the two outermost lines meet, evaluate; if the
span is higher there, the line found is a new one, and the two sides are searched in turn. The
number of evaluations is about twice the number of lines. All configurations are searched at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.candidates import Candidates
from nona.placement.spans.longest_paths import LINK, spans

Floats = NDArray[np.float64]
_TOLERANCE = 1e-12
_KEPT = 4  # server waits whose lines are kept
_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Envelope:
    """Lines of n configurations: span(w) = max over its lines of ``const`` + ``slope``·w.

    Lines are sorted by configuration; those of c are ``start[c]`` … ``start[c+1]`` − 1.
    """

    start: NDArray[np.int64]
    const: Floats
    slope: Floats

    def __call__(self, link_wait: float) -> Floats:
        """(n,) spans at one wait."""
        result: Floats = np.maximum.reduceat(self.const + self.slope * link_wait, self.start[:-1])
        return result

    def tangents(self, link_wait: float) -> tuple[Floats, Floats]:
        """(n,) spans at one wait, and the slopes of the lines that are active there (the steepest)."""
        values = self.const + self.slope * link_wait
        top = np.maximum.reduceat(values, self.start[:-1])
        active = values >= np.repeat(top, np.diff(self.start))
        return top, np.maximum.reduceat(np.where(active, self.slope, 0.0), self.start[:-1])

    def places(self, columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lines of some configurations, and where those of each begin among them."""
        counts = self.start[columns + 1] - self.start[columns]
        ends = np.cumsum(counts)
        at = np.repeat(self.start[columns] - (ends - counts), counts) + np.arange(counts.sum())
        return at, ends - counts

    def of(self, columns: NDArray[np.int64], link_wait: float | Floats) -> Floats:
        """Spans of some configurations only, at one wait or at one for each of them."""
        if not len(columns):
            return np.zeros(0)
        at, starts = self.places(columns)
        if isinstance(link_wait, np.ndarray):
            link_wait = np.repeat(link_wait, self.start[columns + 1] - self.start[columns])
        result: Floats = np.maximum.reduceat(self.const[at] + self.slope[at] * link_wait, starts)
        return result


def envelope(candidates: Candidates, server_wait_s: float) -> Envelope:
    """The lines of every configuration at ``server_wait_s``, exact for all waits that matter.

    They are exact up to the wait at which everything that crosses the link takes 1000 times the
    local span longer; beyond it they remain a lower bound. The last few are kept with the candidates:
    a bound solves many problems that differ in other columns only.
    """
    kept = candidates.envelopes
    found = kept.get(server_wait_s)
    if not isinstance(found, Envelope):
        found = _envelope(candidates, server_wait_s)
        while len(kept) >= _KEPT:
            del kept[next(iter(kept))]
        kept[server_wait_s] = found
    return found


def _envelope(candidates: Candidates, server_wait_s: float) -> Envelope:
    every = np.arange(len(candidates))
    ends = [
        _lines(candidates, wait, server_wait_s, every)
        for wait in (np.zeros(len(every)), _far(candidates, server_wait_s))
    ]
    found = [(every, *line) for line in ends]
    rows, (lc, ls), (rc, rs) = every, *ends
    for _ in range(_ROUNDS):
        kept = np.flatnonzero(rs - ls > _TOLERANCE * (1.0 + np.abs(rs)))
        if not len(kept):
            break
        rows, lc, ls, rc, rs = rows[kept], lc[kept], ls[kept], rc[kept], rs[kept]
        meet = np.maximum((lc - rc) / (rs - ls), 0.0)
        const, slope = _lines(candidates, meet, server_wait_s, rows)
        up = np.flatnonzero(const + slope * meet > (lc + ls * meet) * (1 + _TOLERANCE) + 1e-300)
        found.append((rows[up], const[up], slope[up]))
        rows = np.tile(rows[up], 2)
        lc, ls = np.concatenate([lc[up], const[up]]), np.concatenate([ls[up], slope[up]])
        rc, rs = np.concatenate([const[up], rc[up]]), np.concatenate([slope[up], rs[up]])
    return _sorted(len(every), found)


def _lines(
    c: Candidates, link_wait: Floats, server_wait_s: float, rows: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    span, path = spans(c, link_wait, server_wait_s, rows)
    const = span - path[LINK] * link_wait
    # The subtraction loses digits at large waits, the path's own terms do not.
    return np.where(path[LINK] > 0, path[0] + path[1] + path[3] * server_wait_s, const), path[LINK]


def _far(c: Candidates, server_wait_s: float) -> Floats:
    """A wait so large that every configuration's last line is active."""
    kept = c.messages
    if c.link.discipline == "fifo":
        unit = np.ones(len(c))
    else:
        moved = np.where(kept.stretched_s > 0, kept.stretched_s, np.inf)
        unit = np.minimum(moved.min(axis=0, initial=np.inf), 1e9)
    longest = c.shape.local_s + kept.through_s.sum(axis=0) + (c.shape.m + 1) * server_wait_s
    far: Floats = 1e3 * (longest + 1e-9) / unit
    return far


def _sorted(n: int, found: list[tuple[NDArray[np.int64], Floats, Floats]]) -> Envelope:
    rows, const, slope = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((const, slope, rows))
    rows, const, slope = rows[order], const[order], slope[order]
    twin = np.zeros(len(rows), dtype=bool)
    twin[1:] = (rows[1:] == rows[:-1]) & (slope[1:] == slope[:-1]) & (const[1:] == const[:-1])
    rows, const, slope = rows[~twin], const[~twin], slope[~twin]
    return Envelope(np.searchsorted(rows, np.arange(n + 1)), const, slope)
