"""What the loop runs on: jobs, background and uniforms, drawn ahead in the readable engine's order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.compiled.memory.arrays import Arrays
from nona.simulation.reference.pick import uniform_blocks
from nona.simulation.workload.draws import background_blocks
from nona.simulation.workload.jobs import Workload
from nona.system import System

Block = tuple[NDArray[np.float64], NDArray[np.float64]]
JOBS_AT_ONCE = 16_384  # what is drawn at a time, jobs and background: a crossing costs as much as many events
JOBS_IN_TAIL = 1024  # fewer are wanted once those that are expected have come
PICK_BLOCKS = 8


class Feed:
    """The next jobs and pick uniforms of one run.

    ``at_once`` jobs at least make a chunk, until the ``expected`` ones of the run have come.
    """

    def __init__(self, workload: Workload, uniforms: int, picks: bool, at_once: int, expected: int) -> None:
        self._chunks, self.at_once, self._left = workload.chunks(), at_once, expected
        self._rows = uniform_blocks(workload.streams, uniforms) if picks else iter(())

    def jobs(self, s: Arrays) -> dict[str, Any]:
        """The next chunk of jobs."""
        chunks, offsets, jobs, draws = [], [], 0, 0
        wanted = min(self.at_once, max(self._left, JOBS_IN_TAIL))
        while jobs < wanted:
            chunk = next(self._chunks)
            chunks.append(chunk)
            offsets.append(np.where(chunk.offsets < 0, -1, chunk.offsets + draws))
            jobs += len(chunk.arrival_s)
            draws += len(chunk.services)
        self._left -= jobs
        s.clock["feed_at"], s.clock["feed_jobs"] = 0, jobs
        return {
            "feed_s": np.concatenate([c.arrival_s for c in chunks]),
            "feed_query": np.concatenate([c.query for c in chunks]),
            "feed_draws": np.concatenate(offsets),
            "feed_draw": np.concatenate([c.services for c in chunks]),
            "feed_uniforms": np.concatenate([c.uniforms for c in chunks]),
        }

    def pick_rows(self, s: Arrays) -> dict[str, Any]:
        """The uniforms of the next picks."""
        rows = np.concatenate([next(self._rows) for _ in range(PICK_BLOCKS)])
        s.clock["pick_at"], s.clock["pick_rows"] = 0, len(rows)
        return {"pick_uniforms": rows}


class Background:
    """Background items of executors and links, drawn ahead.

    The loop may go on until the instant at which the first of them runs out of items. Every time it
    gets as many as ``jobs`` jobs will need.
    """

    def __init__(self, system: System, streams: RandomStreams, board: bool, jobs: int) -> None:
        compute = system.background_compute
        self._executors = _Items(
            [background_blocks(compute, streams, "executor", str(e)) for e in range(system.executors)], board
        )
        self._links = _Items(
            [
                _per_capacity(background_blocks(stream, streams, *name), capacity)
                for (name, stream), capacity in zip(
                    system.link_streams, system.link_capacity.tolist(), strict=True
                )
            ],
            False,
        )
        self._ahead_s = jobs / max(system.total_rate, 1e-9)

    @property
    def horizon_s(self) -> float:
        """Up to here all background is drawn."""
        return min(self._executors.horizon_s, self._links.horizon_s)

    def refill(self, s: Arrays) -> dict[str, Any]:
        """Top up what runs out soon; all background up to now must have been absorbed."""
        x, links, until_s = s.executors, s.links, float(s.clock["wanted_s"][0]) + self._ahead_s
        needed = np.minimum(x["absorbed"], x["served"])
        if self._executors.keep_ends:
            needed = np.minimum(needed, x["ended"])
        for r in self._executors.refill(until_s, needed - x["dropped"]):
            x["dropped"][r] = needed[r]
        for r in self._links.refill(until_s, links["at"]):
            links["at"][r] = 0
        rows = np.arange(len(x))
        x["next_s"] = self._executors.time_s[rows, x["absorbed"] - x["dropped"]]
        rows = np.arange(len(links))
        links["next_s"] = self._links.time_s[rows, links["at"]]
        links["next_work_s"] = self._links.work_s[rows, links["at"]]
        return {
            "background_s": self._executors.time_s,
            "background_work_s": self._executors.work_s,
            "background_end_s": self._executors.end_s,
            "link_background_s": self._links.time_s,
            "link_background_work_s": self._links.work_s,
        }


class _Items:
    """Rows of (instant, work), each fed from its own stream; ``filled`` of each row are drawn.

    ``end_s`` is for the loop to write into.
    """

    def __init__(self, sources: list[Iterator[Block]], keep_ends: bool) -> None:
        self.sources, self.keep_ends = sources, keep_ends
        self.filled = np.zeros(len(sources), dtype=np.int64)
        self.last_s = np.zeros(len(sources))
        self.time_s, self.work_s = np.full((len(sources), 1), math.inf), np.zeros((len(sources), 1))
        self.end_s = np.zeros((len(sources), 1 if keep_ends else 0))

    @property
    def horizon_s(self) -> float:
        """The instant at which the first row runs out."""
        return float(self.last_s.min(initial=math.inf))

    def refill(self, until_s: float, drop: NDArray[np.int64]) -> list[int]:
        """Draw until each row goes beyond ``until_s``; the rows that got items lose their first ``drop``."""
        short = np.flatnonzero(self.last_s <= until_s).tolist()
        fresh = {r: block for r in short if (block := _beyond(self.sources[r], until_s)) is not None}
        self.last_s[[r for r in short if r not in fresh]] = math.inf  # there is no background
        kept = self.filled - drop
        self._widen(max((int(kept[r]) + len(block[0]) for r, block in fresh.items()), default=0))
        for r, (times, works) in fresh.items():
            n, old = int(kept[r]), slice(int(drop[r]), int(self.filled[r]))
            for rows in (
                (self.time_s, self.work_s, self.end_s) if self.keep_ends else (self.time_s, self.work_s)
            ):
                rows[r, :n] = rows[r, old].copy()
            self.filled[r] = end = n + len(times)
            self.time_s[r, n:end], self.work_s[r, n:end] = times, works
            self.last_s[r] = times[-1]
        return list(fresh)

    def _widen(self, width: int) -> None:
        more = width - self.time_s.shape[1]
        if more > 0:
            self.time_s, self.work_s = (
                np.pad(rows, ((0, 0), (0, more))) for rows in (self.time_s, self.work_s)
            )
            if self.keep_ends:
                self.end_s = np.pad(self.end_s, ((0, 0), (0, more)))


def _beyond(source: Iterator[Block], until_s: float) -> Block | None:
    """Blocks of a stream until the last item comes after ``until_s``; ``None`` where it has none."""
    blocks = []
    for block in source:
        blocks.append(block)
        if block[0][-1] > until_s:
            break
    if not blocks:
        return None
    return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def _per_capacity(blocks: Iterator[Block], capacity: float) -> Iterator[Block]:
    """Sizes in bytes to seconds of the link alone."""
    for times, sizes in blocks:
        yield times, sizes / capacity
