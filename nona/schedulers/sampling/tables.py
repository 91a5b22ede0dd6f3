"""Tables of configurations: what the schedulers that place whole sub-graphs decide from.

``local``, ``spread`` and ``expert`` are distributions with a single configuration per sub-graph;
``nona`` and ``nona-d2`` sample the distribution that the placement found. All share
:func:`nona.schedulers.sampling.policy.place_by_table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.placement.result.configuration import Configuration, SubGraphPlacement
from nona.schedulers.base import Prepared
from nona.schedulers.sampling.pools import Pools, make_pools
from nona.system import System

Ints = NDArray[np.int64]


class Tables(NamedTuple):
    """Configurations of all query classes in flat arrays; x[i]…x[i+1] delimits the i-th row.

    ``graphs`` (Q+1,) delimits the sub-graphs of a query class, ``configurations`` (G+1,) the
    configurations of a sub-graph, ``parts`` (C+1,) the parts of a configuration, ``tasks`` (P+1,)
    the entries of a part in ``task``. ``cumulative`` (C,) adds up the probabilities within a
    sub-graph. ``root_part`` and ``sink_part`` (C,) are places in ``parts``; −1: the root's server
    gets no part; the sink stays with the root. ``first`` (Q,) is the task at the head, ``sink``
    (G,) that at the end of each sub-graph, −1 where virtual. ``draw`` (G,) is the place of a
    sub-graph's first uniform draw; ``choices`` is 1, or 2 to compare two candidates by queue.

    The fields from ``entries`` on are those of :class:`nona.schedulers.sampling.pools.Pools`: where executors
    are drawn from.
    """

    graphs: Ints
    configurations: Ints
    cumulative: NDArray[np.float64]
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
    pool_share: NDArray[np.float64]
    pool_start: Ints
    executor: Ints
    place: Ints
    server_place: Ints
    server_size: Ints


@dataclass(slots=True)
class _Flat:
    """The columns of :class:`Tables` while they grow."""

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
    shares: NDArray[np.float64] | None = None,
) -> Prepared:
    """Flatten a distribution over configurations per sub-graph into :class:`Tables`.

    Parameters
    ----------
    queries
        For each query class of ``system``, a :class:`SubGraphPlacement` per sub-graph.
    choices
        1, or 2: draw two candidates wherever an executor is drawn.
    shares
        (Q, K) Probability that an executor drawn for a query class is of each executor class; by
        default all executors are drawn alike.

    Raises
    ------
    SimulationError
        When the parts do not partition an interior, or probabilities or shares do not add up to 1.
    """
    flat = _Flat()
    most = choices
    for query, subgraphs in zip(system.queries, queries, strict=True):
        at = choices
        for number, placed in enumerate(subgraphs):
            _check(query.name, number, placed)
            among, remote = flat.add_subgraph(placed, at)
            at += (among > 1) + remote * choices
        flat.graphs.append(len(flat.sink))
        most = max(most, at)
    return Prepared(_tables(flat, system, choices, make_pools(system, shares)), most)


def _tables(flat: _Flat, system: System, choices: int, pools: Pools) -> Tables:
    def ints(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return Tables(
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


def _check(query: str, number: int, placed: SubGraphPlacement) -> None:
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
