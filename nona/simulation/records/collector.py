"""What engines hand their jobs to: it keeps what is recorded and adds up the rest.

Jobs lie in blocks of consecutive numbers. A block is folded into the sums, and dropped, once all
before it are folded and nothing more can change it. So the outcome does not depend on the pieces in
which arrivals and completions come, and memory grows with what is recorded and what is in flight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.simulation.records.collected import UNKNOWN, Busy, Collected, Progress, Real, Whole
from nona.simulation.records.tally import PARTS, Tally, tally_of
from nona.simulation.sizes import RunSize
from nona.system import System

BLOCK = 4096


class _Block:
    """``BLOCK`` consecutive jobs, of which ``arrived`` are there and ``done`` complete."""

    __slots__ = ("arrival_s", "arrived", "completion_s", "done", "latest_s", "parts_s", "query")

    def __init__(self) -> None:
        self.query = np.zeros(BLOCK, dtype=np.int64)
        self.arrival_s = np.zeros(BLOCK)
        self.completion_s = np.full(BLOCK, math.nan)
        self.parts_s = np.full((BLOCK, len(PARTS)), math.nan)
        self.arrived = self.done = 0
        self.latest_s = -math.inf


class Collector:
    """Takes the jobs of one run; ``watched``: :meth:`progress` will be asked for.

    ``blocks`` holds what is not folded yet, by number of the block.
    """

    def __init__(self, system: System, size: RunSize, watched: bool = False) -> None:
        self.size, self.slo_s = size, [q.slo_s for q in system.queries]
        self.blocks: dict[int, _Block] = {}
        self._folded = 0
        self._watched = watched
        self._fresh: list[tuple[Whole, Real, Real]] = []
        self._arrived = self._completed = self._measured = self._filled = self._early = 0
        self._latest_arrival_s = -math.inf
        self._window = [math.inf, math.inf]
        self._inside_s = 0.0
        self._tally = Tally.empty(len(self.slo_s))
        self.every = -(-size.jobs // size.record_jobs)
        rows = -(-size.jobs // self.every)
        self._query = np.zeros(rows, dtype=np.int64)
        self._arrival_s, self._completion_s = np.full(rows, math.nan), np.full(rows, math.nan)
        self._parts_s = np.full((rows, len(PARTS)), math.nan)
        self._traced = size.traced()
        self._traced_arrival_s = np.full(len(self._traced), math.nan)

    def arrivals(self, first_number: int, query: Whole, arrival_s: Real) -> None:
        """Jobs ``first_number``, ``first_number + 1``, … have arrived, in this order.

        Raises
        ------
        SimulationError
            When a number is left out or comes twice.
        """
        if first_number != self._arrived:
            raise SimulationError(
                f"Collector: arrivals from job {first_number} must continue from job {self._arrived}; hand "
                "over each job once, in order."
            )
        at = 0
        while at < len(query):
            number, place = divmod(self._arrived, BLOCK)
            block = self.blocks[number] if place else self._new(number)
            n = min(BLOCK - place, len(query) - at)
            block.query[place : place + n] = query[at : at + n]
            block.arrival_s[place : place + n] = arrival_s[at : at + n]
            block.arrived += n
            self._arrived += n
            at += n
        if len(query):
            self._note_window(first_number, arrival_s)
            self._latest_arrival_s = float(arrival_s[-1])
        self._fold_what_is_ready()

    def _new(self, number: int) -> _Block:
        self.blocks[number] = block = _Block()
        return block

    def _note_window(self, first_number: int, arrival_s: Real) -> None:
        for k, number in enumerate((self.size.first, self.size.last)):
            if first_number <= number < first_number + len(arrival_s):
                self._window[k] = float(arrival_s[number - first_number])

    def completions(self, number: Whole, completion_s: Real, parts_s: Real) -> None:
        """Jobs are complete, each after its arrival was handed over; ``parts_s`` is (n, 5).

        Raises
        ------
        SimulationError
            For a job that has not arrived, or was complete before.
        """
        blocks = number // BLOCK
        for b in np.unique(blocks).tolist():
            mine = blocks == b
            place = number[mine] - b * BLOCK
            block = self.blocks.get(b)
            if block is None or place.max() >= block.arrived or block.done + len(place) > BLOCK:
                raise SimulationError(
                    f"Collector: a job from {b * BLOCK} on is complete before its arrival was handed over, "
                    "or twice; hand over each job once."
                )
            block.completion_s[place] = completion_s[mine]
            block.parts_s[place] = parts_s[mine]
            block.done += len(place)
            block.latest_s = max(block.latest_s, float(completion_s[mine].max()))
            self._note_fresh(block, b, place)
        self._completed += len(number)
        self._fold_what_is_ready()

    def _note_fresh(self, block: _Block, b: int, place: Whole) -> None:
        measured = place[self._is_measured(place + b * BLOCK)]
        self._measured += len(measured)
        if self._watched and len(measured):
            rows = (block.query[measured], block.arrival_s[measured], block.completion_s[measured])
            self._fresh.append(rows)

    def _is_measured(self, number: Whole) -> NDArray[np.bool_]:
        measured: NDArray[np.bool_] = (number >= self.size.first) & (number <= self.size.last)
        return measured

    def progress(self, busy: Busy = UNKNOWN) -> Progress:
        """How far the run is, with the measured jobs completed since the last call."""
        size, fresh = self.size, self._fresh
        self._fresh = []
        share = (min(size.first, self._completed) + self._measured) / (size.first + size.jobs)
        empty = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        query, arrival_s, completion_s = (np.concatenate(c) for c in zip(empty, *fresh, strict=True))
        return Progress(min(1.0, share), query, arrival_s, completion_s, busy)

    def _fold_what_is_ready(self) -> None:
        """Fold the blocks that nothing can change, not even where the window begins and ends."""
        while (block := self.blocks.get(self._folded)) is not None and block.done == BLOCK:
            if self._window[1] == math.inf and block.latest_s > self._latest_arrival_s:
                return
            self._fold(block)

    def _fold(self, block: _Block) -> None:
        base, n = self._folded * BLOCK, block.arrived
        arrival_s, completion_s = block.arrival_s[:n], block.completion_s[:n]
        leaves = np.where(np.isnan(completion_s), np.inf, completion_s)
        inside = np.minimum(leaves, self._window[1]) - np.maximum(arrival_s, self._window[0])
        self._inside_s += float(np.sum(inside[inside > 0]))
        self._filled += int(np.count_nonzero(~np.isnan(completion_s)))
        self._early += int(np.count_nonzero(completion_s < arrival_s))
        low, high = max(self.size.first - base, 0), min(self.size.last + 1 - base, n)
        if low < high:
            self._record(block, base, low, high)
        del self.blocks[self._folded]
        self._folded += 1

    def _record(self, block: _Block, base: int, low: int, high: int) -> None:
        """Rows ``low`` to ``high`` of the block are measured: add them up, keep every k-th."""
        query, arrival_s = block.query[low:high], block.arrival_s[low:high]
        completion_s, parts_s = block.completion_s[low:high], block.parts_s[low:high]
        self._tally = self._tally.merged(tally_of(query, completion_s - arrival_s, parts_s, self.slo_s))
        offset = base + low - self.size.first
        begin = -offset % self.every
        rows = slice((offset + begin) // self.every, (offset + high - low - 1) // self.every + 1)
        self._query[rows] = query[begin :: self.every]
        self._arrival_s[rows] = arrival_s[begin :: self.every]
        self._completion_s[rows] = completion_s[begin :: self.every]
        self._parts_s[rows] = parts_s[begin :: self.every]
        begin, end = np.searchsorted(self._traced, [base + low, base + high])
        self._traced_arrival_s[begin:end] = block.arrival_s[self._traced[begin:end] - base]

    def finish(self) -> Collected:
        """Fold what is left; the run must have reached the last measured arrival."""
        while self._folded in self.blocks:
            self._fold(self.blocks[self._folded])
        return Collected(
            first=self.size.first,
            jobs=self.size.jobs,
            every=self.every,
            query=self._query,
            arrival_s=self._arrival_s,
            completion_s=self._completion_s,
            parts_s=self._parts_s,
            tally=self._tally,
            arrived=self._arrived,
            completed=self._completed,
            filled=self._filled,
            early=self._early,
            inside_s=self._inside_s,
            window_s=(self._window[0], self._window[1]),
            traced=self._traced,
            traced_arrival_s=self._traced_arrival_s,
        )
