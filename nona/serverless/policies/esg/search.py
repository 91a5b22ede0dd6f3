"""ESG_1Q: the k best configurations of a group within a time.

A path has one configuration for each function. The answer is, of every first configuration, the cheapest
path in time that begins with it, and of these paths the k cheapest, in order of (cost, time, numbers of the
configurations): only the first configuration is ever used, so that paths which differ in later ones alone
would be no alternatives.

The search is best first with both blades (:mod:`.searches`, compiled) over what an answer can hold
(:func:`.tables.undominated`). It is the fastest of the exact forms, which the tests hold beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Bools, Floats
from nona.core.errors import SimulationError
from nona.serverless.policies.esg.tables import (
    GroupTables,
    Paths,
    heap_for,
    make_tables,
    on_grid,
    room_for,
    undominated,
)

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

    ``heap`` has room for all open paths.
    """

    def __init__(self) -> None:
        self.heap = heap_for(FIRST_ROOM)
        self._lists: dict[tuple[str, int], Paths] = {}

    def list(self, name: str, size: int) -> Paths:
        """Return a reusable list of paths of this name and size."""
        key = (name, size)
        if key not in self._lists:
            self._lists[key] = room_for(size)
        return self._lists[key]

    def grow(self) -> None:
        """Four times the room; what was in it is gone."""
        room = 4 * len(self.heap.places)
        if room > MOST_ROOM:
            raise SimulationError(
                "ESG: the search has more open paths than fit in memory; make the group smaller."
            )
        self.heap = heap_for(room)


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
        self._thin: dict[int, GroupTables] = {}
        self._scratch = scratch or Scratch()

    def search(self, limit_s: float, k: int = 5) -> SearchResult:
        """Return the ``k`` cheapest paths of at most ``limit_s`` seconds that begin differently; or fewer.

        Raises ``SimulationError`` for ``k`` below 1, or more open paths than fit in memory.
        """
        from nona.serverless.policies.esg.searches import best_first  # numba takes a while to import

        if k < 1:
            raise SimulationError(f"ESG: k={k} must be at least 1.")
        tables, scratch = self.searched(k), self._scratch
        best, completions = scratch.list("best", k), scratch.list("completions", k)
        count, looked, opened = -1, 0, 0
        while count < 0:
            count, looked, opened = best_first(
                tables, limit_s + tables.grace_s, scratch.heap, completions, best
            )
            if count < 0:
                scratch.grow()
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

    def searched(self, k: int) -> GroupTables:
        """Return the tables over which a search for ``k`` paths goes."""
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
    """Search once, before anybody waits; numba keeps what it compiles."""
    time, cost = np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    GroupSearch(time, cost).search(3.0, 1)
