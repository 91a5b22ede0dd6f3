"""``nona``, ``nona-d2``, ``local``, ``spread``: configurations sampled from tables.

These are objects and not functions made by functions, so that equal schedulers are equal, also in another
process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nona.core.arrays import Ints
from nona.core.registry import ChartStyle
from nona.queries.placement.capacity import default_shares
from nona.queries.placement.fixed import place_fixed
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import (
    NetworkView,
    Scheduler,
    SchedulerTables,
    SystemView,
    required_placement,
)
from nona.queries.schedulers.sampling_tables import ConfigurationTables, build_tables
from nona.queries.system import System


class Used(NamedTuple):
    """Executors that a sub-graph uses already: the ``root``, and those of the parts ``begin``…``end``.

    ``clash``: some of the parts share a server, so that it must not be counted twice.
    """

    root: int
    begin: int
    end: int
    clash: bool


def _entry_of(value: float, query: int, t: ConfigurationTables) -> int:
    """Return the entry in ``t.pool`` that a uniform draw stands for: the class is drawn by its share."""
    entry = t.entries[query]
    last = t.entries[query + 1] - 1
    while entry < last and value >= t.pool_share[entry]:
        entry += 1
    return int(entry)


def _rank_of(value: float, query: int, entry: int, left: int, t: ConfigurationTables) -> int:
    """⌊v·left⌋, v being what is left of the draw once the class is drawn: uniform on [0, 1) again."""
    if t.entries[query + 1] - t.entries[query] > 1:
        low = t.pool_share[entry - 1] if entry > t.entries[query] else 0.0
        value = (value - low) / (t.pool_share[entry] - low)
    return min(int(value * left), left - 1)


def _is_new(part: int, view: SystemView, t: ConfigurationTables, out: Ints, used: Used, whole: bool) -> bool:
    """Return whether neither root nor an earlier part is on the executor (``whole``: server) of ``part``."""
    root = used.root
    e = out[t.task[t.tasks[part]]]
    server = view.executor_server[e]
    if e == root or (whole and server == view.executor_server[root]):
        return False
    for p in range(used.begin, part):
        other = out[t.task[t.tasks[p]]]
        if other == e or (whole and view.executor_server[other] == server):
            return False
    return True


def _free_in(
    base: int, size: int, view: SystemView, t: ConfigurationTables, out: Ints, used: Used, whole: bool
) -> int:
    """Count the pool's ``size`` executors that are unused; ``whole``: those on unused servers."""
    root, clash = used.root, used.clash
    left = size
    if whole:
        left -= t.server_size[base + root]
    elif t.place[base + root] >= 0:
        left -= 1
    for p in range(used.begin, used.end):
        e = out[t.task[t.tasks[p]]]
        if e != root and (not clash or _is_new(p, view, t, out, used, whole=whole)):
            if whole:
                left -= t.server_size[base + e]
            elif t.place[base + e] >= 0:
                left -= 1
    return int(left)


def _free_place(
    rank: int, base: int, view: SystemView, t: ConfigurationTables, out: Ints, used: Used, whole: bool
) -> int:
    """Return the place in a pool of the ``rank``-th executor that the sub-graph does not use yet.

    In use are the executors of ``used``, each with its server's executors of the pool if ``whole``. The
    answer is the least x with x = rank + number of used places in the runs that start at or before x, found
    by iteration.
    """
    root, end, clash = used.root, used.end, used.clash
    x = rank
    while True:
        y = rank
        for p in range(used.begin, end + 1):
            e = root if p == end else out[t.task[t.tasks[p]]]
            if p < end and (e == root or (clash and not _is_new(p, view, t, out, used, whole=whole))):
                continue
            if whole:
                if t.server_place[base + e] <= x:
                    y += t.server_size[base + e]
            elif 0 <= t.place[base + e] <= x:
                y += 1
        if y == x:
            return x
        x = y


def _executor_at(
    rank: int, pool: int, level: int, view: SystemView, t: ConfigurationTables, out: Ints, used: Used
) -> int:
    """Return the ``rank``-th executor of a pool on unused servers (level 2), unused (1), or any (0)."""
    if level > 0:
        base = pool * len(view.executor_server)
        rank = _free_place(rank, base, view, t, out, used, whole=level == 2)
    return int(t.executor[t.pool_start[pool] + rank])


def _remote_executor(
    u: Any, at: int, query: int, view: SystemView, t: ConfigurationTables, out: Ints, used: Used
) -> int:
    """Return an executor for the next part: on an unused server; else an unused executor; else any.

    Its class is drawn by the shares of the query class, and kept; within it the draw is uniform over
    the executors that qualify. With two choices the one with the shorter queue.
    """
    chosen, first_pool, first_rank = -1, -1, -1
    for choice in range(t.choices):
        value = u[at + choice]
        entry = _entry_of(value, query, t)
        pool = int(t.pool[entry])
        base = pool * len(view.executor_server)
        size = t.pool_start[pool + 1] - t.pool_start[pool]
        level = 2
        left = _free_in(base, size, view, t, out, used, whole=True)
        if left <= 0:
            level = 1
            left = _free_in(base, size, view, t, out, used, whole=False)
        if left <= 0:
            level = 0
            left = size
        if pool == first_pool:
            left -= 1
            if left < 1:
                return chosen
        rank = _rank_of(value, query, entry, left, t)
        if pool == first_pool and rank >= first_rank:
            rank += 1
        e = _executor_at(rank, pool, level, view, t, out, used)
        if chosen < 0:
            chosen, first_pool, first_rank = e, pool, rank
        elif view.queue_length[e] < view.queue_length[chosen]:
            chosen = e
    return chosen


def _first_executor(u: Any, query: int, view: SystemView, t: ConfigurationTables) -> int:
    """Draw the executor of a job's first task: class by the shares, then uniformly; of two, the emptier."""
    chosen, first_pool, first_rank = -1, -1, -1
    for choice in range(t.choices):
        entry = _entry_of(u[choice], query, t)
        pool = int(t.pool[entry])
        left = t.pool_start[pool + 1] - t.pool_start[pool]
        if pool == first_pool:
            left -= 1
            if left < 1:
                return chosen
        rank = _rank_of(u[choice], query, entry, left, t)
        if pool == first_pool and rank >= first_rank:
            rank += 1
        e = int(t.executor[t.pool_start[pool] + rank])
        if chosen < 0:
            chosen, first_pool, first_rank = e, pool, rank
        elif view.queue_length[e] < view.queue_length[chosen]:
            chosen = e
    return chosen


def place_by_table(
    now: float, query: int, view: SystemView, t: ConfigurationTables, u: Any, out: Ints
) -> None:
    """Sample a configuration for each sub-graph and write the executor of each task into ``out``.

    The root of the first sub-graph goes to an executor drawn by the query class's shares. In each
    sub-graph the part ``root_part`` stays there, the other parts go to servers of their own, and the
    sink joins the part ``sink_part``: that executor is the root of the next sub-graph.
    """
    root = _first_executor(u, query, view, t)
    several = t.entries[query + 1] - t.entries[query] > 1
    if t.first[query] >= 0:
        out[t.first[query]] = root
    for g in range(t.graphs[query], t.graphs[query + 1]):
        at = t.draw[g]
        c = t.configurations[g]
        last = t.configurations[g + 1] - 1
        if c < last:
            while c < last and u[at] >= t.cumulative[c]:
                c += 1
            at += 1
        begin = t.parts[c]
        sink = root
        clash = False  # whether two parts share a server, so that it must not be counted twice
        for p in range(begin, t.parts[c + 1]):
            e = root
            used = Used(root, begin, p, clash)
            if p != t.root_part[c]:
                e = _remote_executor(u, at, query, view, t, out, used)
                at += t.choices
            if p == t.sink_part[c]:
                sink = e
            for i in range(t.tasks[p], t.tasks[p + 1]):
                out[t.task[i]] = e
            if several and not clash and e != root:
                clash = not _is_new(p, view, t, out, used, whole=True)
        root = sink
        if t.sink[g] >= 0:
            out[t.sink[g]] = root


@dataclass(frozen=True, slots=True)
class FromPreset:
    """Prepares the scheduler ``name``: the one configuration per sub-graph of the preset of that name."""

    name: str

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        """Return the tables of a fixed placement."""
        placed = [place_fixed(system, q, self.name) for q in system.queries]
        return build_tables(system, placed, shares=default_shares(system))


@dataclass(frozen=True, slots=True)
class FromPlacement:
    """Prepares the scheduler ``name``: the placement's probabilities, ``choices`` candidates per draw."""

    name: str
    choices: int = 1

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        """Return the tables of the solved placement."""
        solved = required_placement(self.name, placement)
        return build_tables(system, solved.queries, choices=self.choices, shares=solved.class_shares)


NONA = Scheduler(
    name="nona",
    kind="bind",
    family="placement",
    network_view=NetworkView.N1,
    summary="Samples a configuration per sub-graph; sends its parts to servers drawn by the class shares.",
    source=(
        "Pit-Claudel, Malak, Cohen, Médard, Ghobadi: Nona: A Stochastic Congestion-Aware Job Scheduler "
        "for Real-Time Inference Queries, IEEE CloudNet 2024"
    ),
    adaptation=(
        "Built from the public abstract, slides and project page; which part shares the root's and the "
        "sink's server is part of the configuration here. Online it observes nothing; offline the "
        "placement uses the link's capacity and the mean background load. First an executor class is drawn "
        "by the query class's shares; where executors are alike there is one class. Then an executor of it "
        "is drawn uniformly, among those on servers that the sub-graph does not use. With fewer servers "
        "than parts, it is an unused executor of that class, or else any of it."
    ),
    decide=place_by_table,
    build=FromPlacement("nona"),
    needs_placement=True,
    takes_lists=True,
    style=ChartStyle("#6366f1", "solid", "circle"),
)

NONA_D2 = Scheduler(
    name="nona-d2",
    kind="bind",
    family="placement",
    network_view=NetworkView.N1,
    summary="Places as nona, but sends each part to the less loaded of two random executors.",
    source=(
        "Ours: nona with the power of two choices (Mitzenmacher: The Power of Two Choices in Randomized "
        "Load Balancing, IEEE TPDS 2001)"
    ),
    adaptation=(
        "Not in the paper on Nona. Load is the number of tasks waiting, running or promised; the two "
        "candidates differ and both are on servers that the sub-graph does not use. The first root is "
        "drawn in the same way. Each candidate's class is drawn by the shares. The placement is that of "
        "nona, whose waits assume draws that ignore queues."
    ),
    decide=place_by_table,
    build=FromPlacement("nona-d2", choices=2),
    needs_placement=True,
    reads_queues=True,
    takes_lists=True,
    style=ChartStyle("#a06cf5", "dash", "circle-open"),
)

LOCAL = Scheduler(
    name="local",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job on one executor, drawn uniformly among those that hold its model.",
    source="Common practice; the one-server placement of the slides on Nona (CloudNet 2024)",
    adaptation="No message leaves the server; an executor runs one task at a time, so nothing is parallel.",
    decide=place_by_table,
    build=FromPreset("local"),
    takes_lists=True,
    style=ChartStyle("#0f9b8e", "solid", "square"),
)

SPREAD = Scheduler(
    name="spread",
    kind="bind",
    family="heuristic",
    network_view=NetworkView.N0,
    summary="Places every interior task on its own server; roots and sinks on the job's first server.",
    source="The distributed, network-unaware placement of the slides on Nona (CloudNet 2024)",
    adaptation=(
        "Interior tasks that depend on one another are separated too. Each dependency between them is a "
        "message from server to server, and the later task waits for it. Servers are drawn uniformly; "
        "with fewer servers than tasks, tasks are assigned to the servers in turn."
    ),
    decide=place_by_table,
    build=FromPreset("spread"),
    takes_lists=True,
    style=ChartStyle("#cf7a10", "solid", "diamond"),
)
