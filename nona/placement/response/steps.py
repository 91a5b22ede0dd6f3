"""Executors that batch, as walked jobs meet them: how long a visit waits, and who shares its steps.

A visit's tasks run on in a step each with the same members, so it is a kind of work of its own, named by its
query class and first task. Of each executor class one executor is simulated with all kinds that the walked
jobs bring to it; a job that comes meets what one of the visits there met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nona.arrays import Floats, Ints
from nona.placement.batch_waits import WARM_UP, Kind, Met, background_kinds, kind_of, take_steps
from nona.placement.response.sample_paths import near
from nona.system import QueryClass, System

Key = tuple[int, int, int]  # row of the bank, query class, first task


@dataclass(frozen=True, eq=False)
class Visitors:
    """Visits of one kind that were simulated: waits in seconds, and members of their steps.

    In ascending order of the waits; where ``bursty`` in the order of their jobs' ranks within bursts.
    """

    wait_s: Floats
    members: Ints
    bursty: bool = False


class Steps:
    """What visits meet: those that were simulated, or at first an idle executor and steps of usual sizes."""

    def __init__(self, met: Met, resources: int, visitors: Mapping[Key, Visitors] | None = None) -> None:
        self._met, self._resources, self._visitors = met, resources, visitors or {}

    def met(
        self, query: int, task: int, row: Ints, within: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Ints]:
        """Waits and members for visits that begin with ``task`` at the rows of the bank."""
        wait_s, members = np.zeros(len(row)), np.ones(len(row), dtype=np.int64)
        for number in np.unique(row).tolist():
            here = np.flatnonzero(row == number)
            visitors = self._visitors.get((number, query, task))
            if visitors is None:
                sizes = self._met.sizes[query][:, number % self._resources]
                if sizes.sum() > 0:
                    members[here] = rng.choice(len(sizes), len(here), p=sizes) + 1
                continue
            seen = len(visitors.wait_s)
            if visitors.bursty:
                at = near(within[here], seen, rng)
            else:
                at = ((rng.permutation(len(here)) + rng.random(len(here))) / len(here) * seen).astype(
                    np.int64
                )
            wait_s[here], members[here] = visitors.wait_s[at], visitors.members[at]
        return wait_s, members


class Parts:
    """Counts, for one query class, which tasks run in the visits that begin with each task.

    ``runs`` (K, T, T): executor class, first task, task.
    """

    def __init__(self, query: QueryClass, classes: int) -> None:
        self._query, self.classes, self.tasks = query, classes, len(query.tasks)
        self.runs = np.zeros((classes, self.tasks, self.tasks))

    def add(self, executor_class: Ints, first: Ints, task: int) -> None:
        """Jobs run ``task`` in visits that began with ``first``."""
        place = executor_class * self.tasks + first
        counts = np.bincount(place, minlength=self.classes * self.tasks)
        self.runs[:, :, task] += counts.reshape(self.classes, self.tasks)

    def kind(self, k: int, first: int, rate: float) -> Kind:
        """Return the kind of these visits: of ``rate``, with mean steps."""
        often = self.runs[k, first] / self.runs[k, first, first]
        return kind_of(self._query, self._query.step_s[:, k] * often, rate)


@dataclass(frozen=True, eq=False)
class Coming:
    """Arrivals of one class's visits at one executor, in seconds; ``rank`` within bursts where there are any.

    ``with_query``: the class with which it shares steps.
    """

    query: int
    with_query: int
    first: int
    kind: Kind
    time_s: Floats
    rank: Floats | None


def visitors_of(
    system: System, row: int, coming: Sequence[Coming], length_s: float, rng: np.random.Generator
) -> dict[Key, Visitors]:
    """Simulate one executor over ``length_s``; what comes early is left out of the result."""
    background = [
        Coming(-1, -1, -1, it, rng.random(int(it.rate * length_s)) * length_s, None)
        for it in background_kinds(system)
    ]
    everything = [*coming, *background]
    time_s = np.concatenate([it.time_s for it in everything])
    number = [len(it.time_s) for it in everything]
    kinds = {(it.with_query, it.first): it.kind for it in everything}
    together = [list(kinds).index((it.with_query, it.first)) for it in everything]
    wait_s, members = take_steps(list(kinds.values()), time_s, np.repeat(together, number), rng)
    came = np.repeat(np.arange(len(everything)), number)
    kept = (time_s >= WARM_UP * length_s) & (members > 0)
    result = {}
    for k, it in enumerate(coming):
        here = kept & (came == k)
        order = np.argsort(wait_s[here] if it.rank is None else it.rank[here[came == k]], kind="stable")
        if len(order):
            at = wait_s[here][order], members[here][order]
            result[row, it.query, it.first] = Visitors(*at, it.rank is not None)
    return result
