"""ESG_1Q: the k best configurations of a group within a time, in one interface.

A path has one configuration for each function. The answer is, of every first configuration, the cheapest
path in time that begins with it, and of these paths the k cheapest: only the first configuration is ever
used, so that paths which differ in later ones alone would be no alternatives.

All variants return the same paths, in order of (cost, time, numbers of the configurations); they differ in
how many paths they look at:

* ``thinned``: best-first with both blades over what an answer can hold (:func:`.tables.undominated`);
* ``two-blades``: the same over all configurations, children made lazily;
* ``stages``: stage by stage with both blades, as in the slides;
* ``best-first``: best-first without blades; full paths that take too long are dropped;
* ``exhaustive``: every path.

The compiled searches are in :mod:`.searches`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.arrays import Bools, Floats
from nona.errors import SimulationError
from nona.serverless.policies.esg.tables import (
    Heap,
    Paths,
    Tables,
    heap_for,
    make_tables,
    on_grid,
    room_for,
    undominated,
)

VARIANTS = ("thinned", "two-blades", "stages", "best-first", "exhaustive")
DEFAULT = VARIANTS[0]
FIRST_ROOM = 4096
MOST_ROOM = 1 << 24  # open paths; more than any search of three functions with 256 configurations has


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Paths of a search, best first.

    ``paths``: one configuration, by number, per function of the group; no two paths begin with the same one.
    ``cost_usd``, ``time_s``: of each path: US dollars a job, seconds.
    ``looked``: paths looked at: every partial or full path to which a configuration was added, cut or not.
    ``opened``: those of them that no blade cut.
    ``feasible``: whether the paths keep within the time; if none does, ``paths`` holds the fastest one.
    """

    paths: tuple[tuple[int, ...], ...]
    cost_usd: tuple[float, ...]
    time_s: tuple[float, ...]
    looked: int
    opened: int
    feasible: bool


class Scratch:
    """Memory that searches use one after the other, so that none is claimed while searching.

    ``room`` is the number of open paths that it holds for now.
    """

    def __init__(self) -> None:
        self.room = FIRST_ROOM
        self._lists: dict[tuple[str, int], Paths] = {}
        self._heaps: dict[int, Heap] = {}

    def list(self, name: str, size: int) -> Paths:
        key = (name, size)
        if key not in self._lists:
            self._lists[key] = room_for(size)
        return self._lists[key]

    def open(self, name: str) -> Paths:
        """A list with room for all open paths."""
        return self.list(name, self.room)

    def heap(self) -> Heap:
        """The heap, with room for all open paths."""
        if self.room not in self._heaps:
            self._heaps[self.room] = heap_for(self.room)
        return self._heaps[self.room]

    def grow(self) -> None:
        """Four times the room; what was in it is gone."""
        self._lists = {key: kept for key, kept in self._lists.items() if key[1] != self.room}
        self._heaps = {}
        self.room *= 4
        if self.room > MOST_ROOM:
            raise SimulationError(
                "ESG: the search has more open paths than fit in memory; make the group smaller, or use "
                "the search with both blades."
            )


class GroupSearch:
    """A group of n functions made ready for searches.

    ``time_s``, ``job_cost`` (n, C): seconds, and US dollars a job, of each function in each configuration.
    ``usable`` (n, C): which configurations may be chosen; all that take a finite time if left out.
    ``scratch``: memory to share with other groups.

    >>> time, cost = np.array([[4.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 3.0], [1.0, 2.0]])
    >>> result = GroupSearch(time, cost).search(limit_s=5.0, k=2)
    >>> result.paths, result.cost_usd, result.time_s
    (((0, 1), (1, 0)), (3.0, 4.0), (5.0, 5.0))
    >>> GroupSearch(time, cost).search(limit_s=9.0, k=2).paths  # (0, 0), (0, 1), (1, 0), (1, 1) by cost
    ((0, 0), (1, 0))
    >>> GroupSearch(time, cost).search(limit_s=2.0)
    SearchResult(paths=((1, 1),), cost_usd=(5.0,), time_s=(3.0,), looked=0, opened=0, feasible=False)
    """

    def __init__(
        self,
        time_s: Floats,
        job_cost: Floats,
        usable: Bools | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        kept = np.isfinite(time_s) & np.isfinite(job_cost)
        if usable is not None:
            kept &= usable
        time, step = on_grid(time_s, kept)
        self._rounded = (time, on_grid(job_cost, kept)[0], kept)
        self.tables = make_tables(*self._rounded, grace_s=step * len(time_s))
        self.longest_s = self.tables.longest_s
        self._thin: dict[int, Tables] = {}
        self._scratch = scratch or Scratch()

    def search(self, limit_s: float, k: int = 5, variant: str = DEFAULT) -> SearchResult:
        """The ``k`` cheapest paths of at most ``limit_s`` seconds that begin differently; or fewer.

        Raises ``SimulationError`` for a variant that does not exist, ``k`` below 1, or more paths than fit in
        memory.
        """
        if variant not in VARIANTS or k < 1:
            raise SimulationError(
                f"ESG: k={k} must be at least 1 and the search {variant!r} one of {', '.join(VARIANTS)}."
            )
        tables = self.searched(variant, k)
        best = self._scratch.list("best", k)
        count, looked, opened = -1, 0, 0
        while count < 0:
            count, looked, opened = self._run(tables, limit_s + tables.grace_s, variant, best)
            if count < 0:
                self._scratch.grow()
        if not count:
            return self._fastest(looked, opened)
        rows = best.sums[:count].tolist()
        codes = best.codes[:count].tolist()
        return SearchResult(
            tuple(tables.path(code) for code in codes),
            tuple(row[0] for row in rows),
            tuple(row[1] for row in rows),
            int(looked),
            int(opened),
            True,
        )

    def least_costs(self, limits_s: Sequence[float], variant: str = DEFAULT) -> list[tuple[float, int]]:
        """For each limit (US dollars a job of the cheapest path in time, −1 if none is; paths looked at).

        What ``search`` finds with ``k`` of 1, many times in one call.
        """
        if variant in ("stages", "exhaustive"):
            every = [self.search(limit_s, 1, variant) for limit_s in limits_s]
            return [(answer.cost_usd[0] if answer.feasible else -1.0, answer.looked) for answer in every]
        from nona.serverless.policies.esg.searches import least_costs  # numba takes a while to import

        tables, scratch = self.searched(variant, 1), self._scratch
        limits, blades = np.array(limits_s, dtype=np.float64) + tables.grace_s, variant != "best-first"
        costs, looked = np.zeros(len(limits)), np.zeros(len(limits), dtype=np.int64)
        lists = scratch.list("completions", 1), scratch.list("best", 1)
        while least_costs(tables, limits, blades, scratch.heap(), lists, costs, looked) < len(limits):
            scratch.grow()
        return list(zip(costs.tolist(), looked.tolist(), strict=True))

    def _run(self, tables: Tables, limit_s: float, variant: str, best: Paths) -> tuple[int, int, int]:
        from nona.serverless.policies.esg import searches  # numba takes a while to import

        scratch, completions = self._scratch, self._scratch.list("completions", len(best.codes))
        if variant == "exhaustive":
            n = len(tables.choices)
            trail = searches.Trail(room_for(n + 1), np.zeros(n, dtype=np.int64))
            return searches.every_path(tables, limit_s, trail, best)
        if variant == "stages":
            lists = scratch.open("old"), scratch.open("new")
            return searches.stage_by_stage(tables, limit_s, lists, completions, best)
        limits = searches.Limits(limit_s, variant != "best-first")
        return searches.best_first(tables, limits, scratch.heap(), completions, best)

    def searched(self, variant: str, k: int) -> Tables:
        """The tables over which a variant searches for ``k`` paths."""
        if variant != "thinned":
            return self.tables
        if k not in self._thin:
            time_s, job_cost, usable = self._rounded
            kept = undominated(time_s, job_cost, usable, k)
            self._thin[k] = make_tables(time_s, job_cost, kept, self.tables.grace_s)
        return self._thin[k]

    def _fastest(self, looked: int, opened: int) -> SearchResult:
        t = self.tables
        path = t.path(int(t.fast_code[0]))
        cost, time = float(t.fast_usd[0]), float(t.least_s[0])
        return SearchResult((path,), (cost,), (time,), int(looked), int(opened), False)


def compile_searches() -> None:
    """Run each form of the search once, before anybody waits; numba keeps what it compiles."""
    time, cost = np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    group = GroupSearch(time, cost)
    for variant in VARIANTS:
        group.search(3.0, 1, variant)
