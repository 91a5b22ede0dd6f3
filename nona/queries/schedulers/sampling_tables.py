"""Tables of configurations, and the pools of executors they are drawn from.

A query class whose shares are those of a uniform draw has one pool, all executors. Otherwise it has
a pool for each executor class of positive share: the class is drawn first, then an executor in it.

``local``, ``spread`` and ``expert`` are distributions with a single configuration per sub-graph;
``nona`` and ``nona-d2`` sample the distribution that the placement found. All share
:func:`nona.queries.schedulers.sampling.place_by_table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.queries.placement.result import Configuration, SubGraphPlacement
from nona.queries.schedulers.base import SchedulerTables
from nona.queries.system import System

_ALL = -1
_SAME = 1e-12


class Pools(NamedTuple):
    """P pools, and which of them each of Q query classes draws from; E executors.

    ``entries`` (Q+1,) delimits the entries of a query class in ``pool``, the number of a pool, and
    ``pool_share``, the probabilities added up (the last is 1). ``pool_start`` (P+1,) delimits the pools
    in ``executor``, which lists the executors of each server by server. At p·E + e, ``place`` is the
    place of executor e in pool p, −1 if it is not in it, ``server_place`` where the executors of its
    server start there, and ``server_size`` how many they are.
    """

    entries: Ints
    pool: Ints
    pool_share: Floats
    pool_start: Ints
    executor: Ints
    place: Ints
    server_place: Ints
    server_size: Ints


def _make_pools(system: System, shares: Floats | None = None) -> Pools:
    """Return the pools for ``shares`` (Q, K), by default one of all executors."""
    if shares is not None:
        _check(system, np.asarray(shares, dtype=float))
    numbers: dict[int, int] = {}
    entries, pool, cumulative = [0], [], []
    for j in range(len(system.queries)):
        row = None if shares is None else np.asarray(shares[j], dtype=float)
        if row is None or np.abs(row - system.class_weights).max() <= _SAME:
            chosen, up = [_ALL], np.ones(1)
        else:
            chosen = np.flatnonzero(row > 0).tolist()
            up = np.cumsum(row[chosen])
            up = up / up[-1]
        pool += [numbers.setdefault(k, len(numbers)) for k in chosen]
        cumulative += up.tolist()
        entries.append(len(pool))
    columns = [_pool(system, k) for k in numbers]
    return Pools(
        np.array(entries, dtype=np.int64),
        np.array(pool, dtype=np.int64),
        np.array(cumulative, dtype=float),
        np.cumsum([0, *(len(c[0]) for c in columns)]).astype(np.int64),
        *(np.concatenate([c[i] for c in columns]) for i in range(4)),
    )


def _pool(system: System, k: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Executors of class ``k`` (or all) server by server; places, places of servers, and their sizes."""
    servers = system.executor_server
    inside = np.ones(len(servers), dtype=bool) if k == _ALL else system.executor_class == k
    members = np.flatnonzero(inside)
    order = members[np.argsort(servers[members], kind="stable")].astype(np.int64)
    place = np.full(len(servers), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    size = np.bincount(servers[members], minlength=system.servers)
    start = np.concatenate([[0], np.cumsum(size)[:-1]])
    return order, place, start[servers].astype(np.int64), size[servers].astype(np.int64)


def _check(system: System, shares: Floats) -> None:
    if shares.shape != system.uniform_shares.shape:
        raise SimulationError(
            f"Class shares: {shares.shape} must be (query classes, executor classes) = "
            f"{system.uniform_shares.shape}; solve the placement for this system."
        )
    for query, row in zip(system.queries, shares, strict=True):
        bad = not np.all(row >= 0) or abs(row.sum() - 1) > 1e-6 or (row[system.class_counts == 0] > 0).any()
        if bad:
            listed: Sequence[float] = row.tolist()
            raise SimulationError(
                f"Class shares of {query.name!r}: {listed} must be at least 0, add up to 1 and be 0 where "
                "there is no executor; solve again."
            )


class ConfigurationTables(NamedTuple):
    """Configurations of all query classes in flat arrays; x[i]…x[i+1] delimits the i-th row.

    ``graphs`` (Q+1,) delimits the sub-graphs of a query class, ``configurations`` (G+1,) the
    configurations of a sub-graph, ``parts`` (C+1,) the parts of a configuration, ``tasks`` (P+1,)
    the entries of a part in ``task``. ``cumulative`` (C,) adds up the probabilities within a
    sub-graph. ``root_part`` and ``sink_part`` (C,) are places in ``parts``; −1: the root's server
    gets no part; the sink stays with the root. ``first`` (Q,) is the task at the head, ``sink``
    (G,) that at the end of each sub-graph, −1 where virtual. ``draw`` (G,) is the place of a
    sub-graph's first uniform draw; ``choices`` is 1, or 2 to compare two candidates by queue.

    The fields from ``entries`` on are those of :class:`nona.queries.schedulers.sampling_tables.Pools`: where
    executors are drawn from.
    """

    graphs: Ints
    configurations: Ints
    cumulative: Floats
    parts: Ints
    root_part: Ints
    sink_part: Ints
    tasks: Ints
    task: Ints
    first: Ints
    sink: Ints
    draw: Ints
    choices: int
    entries: Ints
    pool: Ints
    pool_share: Floats
    pool_start: Ints
    executor: Ints
    place: Ints
    server_place: Ints
    server_size: Ints


@dataclass(slots=True)
class _Flat:
    graphs: list[int] = field(default_factory=lambda: [0])
    configurations: list[int] = field(default_factory=lambda: [0])
    cumulative: list[float] = field(default_factory=list)
    parts: list[int] = field(default_factory=lambda: [0])
    root_part: list[int] = field(default_factory=list)
    sink_part: list[int] = field(default_factory=list)
    tasks: list[int] = field(default_factory=lambda: [0])
    task: list[int] = field(default_factory=list)
    sink: list[int] = field(default_factory=list)
    draw: list[int] = field(default_factory=list)

    def add_configuration(self, c: Configuration) -> int:
        """Append ``c``; the number of its parts that leave the root's server."""
        base = self.parts[-1]
        for part in c.parts:
            self.task.extend(part)
            self.tasks.append(len(self.task))
        self.parts.append(base + len(c.parts))
        self.root_part.append(base + c.root_part if c.root_part >= 0 else -1)
        self.sink_part.append(base + c.sink_part if c.sink_part >= 0 else -1)
        return len(c.parts) - (0 <= c.root_part < len(c.parts))

    def add_subgraph(self, placed: SubGraphPlacement, draw: int) -> tuple[int, int]:
        """Append a sub-graph; how many configurations it chooses from, and its most remote parts."""
        kept = [i for i, p in enumerate(placed.probabilities) if p > 0]
        weights = np.asarray(placed.probabilities, dtype=float)[kept]
        self.cumulative.extend((np.cumsum(weights) / weights.sum()).tolist())
        remote = max(self.add_configuration(placed.configurations[i]) for i in kept)
        self.configurations.append(len(self.cumulative))
        self.sink.append(placed.subgraph.sink)
        self.draw.append(draw)
        return len(kept), remote


def build_tables(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    choices: int = 1,
    shares: Floats | None = None,
    aligned: bool = False,
) -> SchedulerTables:
    """Flatten a distribution over configurations per sub-graph into :class:`ConfigurationTables`.

    ``queries``: for each query class of ``system``, a :class:`SubGraphPlacement` per sub-graph.
    ``choices``: 1, or 2: draw two candidates wherever an executor is drawn.
    ``shares``: (Q, K) Probability that an executor drawn for a query class is of each executor class; by
        default all executors are drawn alike.
    ``aligned``: keep draws for the most parts that a sub-graph may have, so that later sub-graphs find theirs
        at the same place whatever the placement: for comparisons with common random numbers.

    Raises ``SimulationError`` when the parts do not partition an interior, or probabilities or shares do not
    add up to 1.
    """
    flat = _Flat()
    most, others = choices, max(system.servers if system.servers > 1 else system.executors, 1) - 1
    for query, subgraphs in zip(system.queries, queries, strict=True):
        at = choices
        for number, placed in enumerate(subgraphs):
            _tables_check(query.name, number, placed)
            among, remote = flat.add_subgraph(placed, at)
            at += (among > 1) + remote * choices
            if aligned:
                spare = min(len(placed.subgraph.interior), others) - remote
                at += (among == 1) + max(spare, 0) * choices
        flat.graphs.append(len(flat.sink))
        most = max(most, at)
    return SchedulerTables(_tables(flat, system, choices, _make_pools(system, shares)), most)


def _tables(flat: _Flat, system: System, choices: int, pools: Pools) -> ConfigurationTables:
    def ints(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return ConfigurationTables(
        ints(flat.graphs),
        ints(flat.configurations),
        np.array(flat.cumulative, dtype=float),
        ints(flat.parts),
        ints(flat.root_part),
        ints(flat.sink_part),
        ints(flat.tasks),
        ints(flat.task),
        ints([q.decomposition.cuts[0] for q in system.queries]),
        ints(flat.sink),
        ints(flat.draw),
        choices,
        *pools,
    )


def _tables_check(query: str, number: int, placed: SubGraphPlacement) -> None:
    where = f"Placement of {query!r}, sub-graph {number}"
    p = np.asarray(placed.probabilities, dtype=float)
    if len(p) != len(placed.configurations) or not np.all(p >= 0) or abs(p.sum() - 1) > 1e-6:
        raise SimulationError(
            f"{where}: probabilities {p.tolist()} must be at least 0 and add up to 1; solve again."
        )
    interior = sorted(placed.subgraph.interior)
    for c in placed.configurations:
        listed = sorted(t for part in c.parts for t in part)
        if listed != interior or not all(c.parts) or max(c.root_part, c.sink_part) >= max(len(c.parts), 1):
            raise SimulationError(
                f"{where}: parts {c.parts} (root part {c.root_part}, sink part {c.sink_part}) must "
                f"partition the interior {interior}; give each task in one part."
            )
