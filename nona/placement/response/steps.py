"""Executors that batch, as walked jobs meet them: how long a task waits, and who shares its step.

A visit is what a job runs at one executor without leaving it: tasks, each of which is ready by the end of the
one before. Steps take tasks of equal class and number. One whose members all have the same task ready here
runs on; else those that stay wait as others do. Of each executor class one executor is simulated with all
visits that the walked jobs bring to it; a job that comes meets what one of the visits there met.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nona.arrays import Floats, Ints
from nona.placement.batch_waits import (
    WARM_UP,
    ExecutorVisits,
    Kind,
    Met,
    background_kinds,
    kind_of,
    take_steps,
)
from nona.placement.response.sample_paths import near, ranges
from nona.system import System

Key = tuple[int, int, int, int]  # row of the bank, query class, task before or FIRST, task
FIRST, LAST = -1, -2


@dataclass(frozen=True, eq=False)
class Visitors:
    """Tasks of one kind that were simulated: waits in seconds, and members of their steps.

    Waits are those since the visit came, or since the task before it in the chain ended, which may be later
    than the task itself began.

    Tasks that begin visits stand in ascending order of the waits, or where ``bursty`` of their jobs' ranks
    within bursts. Others stand in ascending order of ``before``, the members of the step before.
    """

    wait_s: Floats
    members: Ints
    before: Ints
    bursty: bool = False


class Steps:
    """The steps that tasks meet: those simulated, or at first an idle executor and steps of usual sizes."""

    def __init__(self, met: Met, resources: int, visitors: Mapping[Key, Visitors] | None = None) -> None:
        self._met, self._resources, self._visitors = met, resources, visitors or {}

    def first(
        self, query: int, task: int, row: Ints, within: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Ints]:
        """Waits and members for visits that begin with ``task`` at the rows of the bank."""
        wait_s, members = np.zeros(len(row)), np.ones(len(row), dtype=np.int64)
        for number in np.unique(row).tolist():
            here = np.flatnonzero(row == number)
            visitors = self._visitors.get((number, query, FIRST, task))
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

    def following(
        self, query: int, task: int, row: Ints, last: Ints, members: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Ints]:
        """Waits and members for ``task`` of visits whose step with ``last`` had ``members``.

        They are those of a simulated task after a step of that size; where there is none the step runs on.
        """
        wait_s, members = np.zeros(len(row)), members.copy()
        if not len(row):
            return wait_s, members
        pairs, which = _unique_pairs(row, last)
        for n, (number, before) in enumerate(pairs):
            visitors = self._visitors.get((number, query, before, task))
            if visitors is None:
                continue
            here = np.flatnonzero(which == n)
            low = np.searchsorted(visitors.before, members[here])
            high = np.searchsorted(visitors.before, members[here], side="right")
            here, low, high = here[high > low], low[high > low], high[high > low]
            at = rng.integers(low, high)
            wait_s[here], members[here] = visitors.wait_s[at], visitors.members[at]
        return wait_s, members


def _unique_pairs(first: Ints, second: Ints) -> tuple[list[tuple[int, int]], Ints]:
    """Return the different pairs of two arrays (N,), and which of them stands at each place (N,)."""
    low, width = int(second.min()), int(np.ptp(second)) + 1
    codes, at = np.unique(first * width + (second - low), return_inverse=True)
    return [(code // width, code % width + low) for code in codes.tolist()], at


Chain = tuple[tuple[int, int], ...]  # task, and the place of the one with whose end it was ready


class Chains:
    """Numbers the chains of tasks that visits of one query class run; 0 is the one without tasks."""

    def __init__(self) -> None:
        self._chains: list[Chain] = [()]
        self._number: dict[Chain, int] = {(): 0}

    def extended(self, number: Ints, task: int, since: Ints) -> Ints:
        """Return the numbers (N,) of chains that go on with ``task``.

        It was ready when the task ``since`` (N,) of the chain ended, for ``LAST`` when its last one did, and
        for one that is not in it when the visit began.
        """
        pairs, at = _unique_pairs(number, since)
        return np.array([self._of(self._chains[n], task, other) for n, other in pairs])[at]

    def last(self, number: Ints) -> Ints:
        """Return the last task of each chain, ``FIRST`` where there is none."""
        return np.array([((FIRST, FIRST), *chain)[-1][0] for chain in self._chains])[number]

    def __getitem__(self, number: int) -> Chain:
        return self._chains[number]

    def _of(self, chain: Chain, task: int, since: int) -> int:
        tasks = [t for t, _ in chain]
        place = len(chain) - 1 if since == LAST else tasks.index(since) if since in tasks else -1
        chain = (*chain, (task, place))
        if chain not in self._number:
            self._number[chain] = len(self._chains)
            self._chains.append(chain)
        return self._number[chain]


@dataclass(frozen=True, eq=False)
class Coming:
    """Visits of one class to one executor: when, in seconds, and with which chains of tasks.

    ``rank`` within bursts where there are any.
    """

    query: int
    time_s: Floats
    chain: Ints
    chains: Chains
    rank: Floats | None


def visitors_of(
    system: System, row: int, k: int, coming: Sequence[Coming], length_s: float, rng: np.random.Generator
) -> dict[Key, Visitors]:
    """Simulate one executor of class ``k`` over ``length_s``; what comes early is left out of the result."""
    chains: dict[int, set[Chain]] = {}
    for it in coming:
        own = {it.chains[n] for n in np.unique(it.chain).tolist()}
        chains.setdefault(system.batched_with[it.query], set()).update(own)
    kinds, numbers = list[Kind](), dict[int, dict[int, int]]()
    for j, own in chains.items():
        runs, query = _runs(own), system.queries[j]
        numbers[j] = {run[0]: len(kinds) + n for n, run in enumerate(runs)}
        kinds += [kind_of(query, query.step_s[:, k, list(run)]) for run in runs]
    lists = [_TaskList.of(it, numbers[system.batched_with[it.query]]) for it in coming]
    for background in background_kinds(system):
        time_s = rng.random(int(background.rate * length_s)) * length_s
        lists.append(_TaskList.alone(time_s, len(kinds)))
        kinds.append(background)
    start = np.cumsum([0, *(len(tasks.kind) for tasks in lists)]).tolist()
    visits = ExecutorVisits(
        np.concatenate([tasks.time_s for tasks in lists]),
        np.concatenate([tasks.kind for tasks in lists]),
        np.concatenate([tasks.begin + own for tasks, own in zip(lists, start, strict=False)]),
        np.concatenate(
            [tasks.after + own * (tasks.after >= 0) for tasks, own in zip(lists, start, strict=False)]
        ),
    )
    begin_s, end_s, members = take_steps(kinds, visits, rng)
    result = dict[Key, Visitors]()
    for it, tasks, begin, end in zip(coming, lists, start, start[1:], strict=False):
        here = slice(begin, end)
        ran = begin_s[here], end_s[here], members[here]
        result |= {
            (row, it.query, *pair): visitors
            for pair, visitors in _by_pair(tasks, ran, it.rank, WARM_UP * length_s)
        }
    return result


def _by_pair(
    tasks: _TaskList, ran: tuple[Floats, Floats, Ints], rank: Floats | None, from_s: float
) -> Iterator[tuple[tuple[int, int], Visitors]]:
    """The steps that tasks of visits from ``from_s`` on met, by the task before and their own."""
    begin_s, end_s, members = ran
    since_s = np.where(tasks.last == FIRST, tasks.time_s[tasks.visit], np.append(np.nan, end_s[:-1]))
    wait_s, before = begin_s - since_s, np.append(0, members[:-1])
    kept = (tasks.time_s[tasks.visit] >= from_s) & np.isfinite(wait_s)
    order = wait_s if rank is None else rank[tasks.visit]
    pairs, which = _unique_pairs(tasks.last, tasks.task)
    for n, pair in enumerate(pairs):
        here = np.flatnonzero(kept & (which == n))
        here = here[np.argsort((order if pair[0] == FIRST else before)[here], kind="stable")]
        if len(here):
            yield pair, Visitors(wait_s[here], members[here], before[here], rank is not None)


def _runs(chains: set[Chain]) -> list[tuple[int, ...]]:
    """Tasks that run on in all visits, so that they are one kind of work.

    The second task has its turn when the first ends, and the third follows it in one visit only:

    >>> _runs({((0, -1), (1, 0), (2, 1)), ((0, -1), (1, 0))})
    [(0, 1), (2,)]
    """
    sequences = {tuple(t for t, _ in chain) for chain in chains}
    if len(sequences) == 1:
        return list(sequences)
    following, before, feeds = (defaultdict[int, set[int]](set) for _ in range(3))
    for chain in chains:
        for (task, _), (after, _) in pairwise(((FIRST, FIRST), *chain, (LAST, FIRST))):
            following[task].add(after)
            before[after].add(task)
        for task, place in chain:
            feeds[chain[place][0] if place >= 0 else FIRST].add(task)
    onward = {
        task: next(iter(after))
        for task, after in following.items()
        if task != FIRST and len(after) == 1 and feeds[task] == after and before[next(iter(after))] == {task}
    }
    runs = []
    for task in sorted(following.keys() - {FIRST} - set(onward.values())):
        run = [task]
        while run[-1] in onward:
            run.append(onward[run[-1]])
        runs.append(tuple(run))
    return runs


@dataclass(frozen=True, eq=False)
class _TaskList:
    """The tasks of all visits of one class: their kinds, those before them in the chains, their visits.

    ``time_s`` and ``begin`` are of the visits; ``after`` and ``begin`` count within the list.
    """

    time_s: Floats
    begin: Ints
    kind: Ints
    after: Ints
    last: Ints
    task: Ints
    visit: Ints

    @classmethod
    def alone(cls, time_s: Floats, kind: int) -> _TaskList:
        """Visits of one task each."""
        visit, none = np.arange(len(time_s)), np.full(len(time_s), FIRST)
        return cls(time_s, visit, np.full(len(time_s), kind), none, none, none, visit)

    @classmethod
    def of(cls, coming: Coming, numbers: Mapping[int, int]) -> _TaskList:
        """The first tasks of the runs of every visit; ``numbers`` are the kinds of these."""
        unique, at = np.unique(coming.chain, return_inverse=True)
        rows, size = list[tuple[int, int, int, int]](), []
        for n in unique.tolist():
            chain, places = coming.chains[n], list[int]()
            before = len(rows)
            for i, (task, place) in enumerate(chain):
                if task in numbers:
                    since = places[place] if place >= 0 else FIRST
                    rows.append((numbers[task], since, chain[i - 1][0] if i else FIRST, task))
                places.append(len(rows) - before - 1)
            size.append(len(rows) - before)
        first, count = np.cumsum([0, *size])[:-1][at], np.array(size)[at]
        kind, after, last, task = np.array(rows)[ranges(first, count)].T
        begin = np.cumsum(count) - count
        visit = np.repeat(np.arange(len(at)), count)
        after = np.where(after >= 0, begin[visit] + after, FIRST)
        return cls(coming.time_s, begin, kind, after, last, task, visit)
