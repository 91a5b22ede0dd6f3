"""How ESG splits an application's SLO: groups of stages between dominators, in proportion to their lengths.

The *average normalised length* of a stage is the mean over all configurations of its time as a share of
the times of all stages in that configuration. The DAG is reduced to a chain: what lies between two
consecutive dominators becomes a pseudo-node, as long as its longest branch; branches are reduced in the
same way. Stages that follow each other in a chain form groups of at most g; a group's share of the SLO is
its part of the chain's length, and every branch inherits the share of its pseudo-node. Where neither
dominators nor components part a piece any further, its levels become the chain, so that no path through it
gets more than its share. While a call runs, what is *left* of its SLO is distributed over what is left.

Source: Hui et al., ESG, HPDC 2024, as its slides describe it (dominator tree, groups, shares); the formula
of the length and the treatment of pieces that do not nest are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.dominators import decompose
from nona.decomposition.subgraph import VIRTUAL
from nona.graph.dag import Dag

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fork:
    """A pseudo-node: branches that run side by side, each a chain."""

    branches: tuple[Chain, ...]


#: A chain of stages, by number, and of pseudo-nodes.
Chain = tuple[int | Fork, ...]


@dataclass(frozen=True)
class SloShares:
    """Groups and shares of one application; S stages.

    Attributes
    ----------
    chain
        The reduced DAG.
    group
        Of each stage: the stages of its group from it on, which are searched together.
    length : (S,)
        Average normalised lengths.
    scaled : (S,)
        The same within branches scaled so that each is as long as its pseudo-node.
    rest : (S,)
        Scaled length from a stage to the end of the application.
    """

    chain: Chain
    group: tuple[tuple[int, ...], ...]
    length: Floats
    scaled: Floats
    rest: Floats

    def of_slo(self, stages: Sequence[int]) -> float:
        """Share of the whole SLO that ``stages`` of one group get."""
        return float(self.scaled[list(stages)].sum() / self.rest.max())

    def of_rest(self, stage: int) -> float:
        """Share of what is left when ``stage`` is served that the rest of its group gets."""
        return float(min(1.0, self.scaled[list(self.group[stage])].sum() / self.rest[stage]))


def average_normalised_lengths(time_s: Floats) -> Floats:
    """(S,) lengths from the times (S, C) of the stages; they add up to 1.

    Configurations in which some stage cannot run are left out.

    >>> average_normalised_lengths(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [0.375, 0.625]
    """
    finite = time_s[:, np.isfinite(time_s).all(axis=0)]
    lengths: Floats = (finite / finite.sum(axis=0)).mean(axis=1)
    return lengths


def distribute(dag: Dag, length: Floats, most: int = 3) -> SloShares:
    """Groups of at most ``most`` stages and their shares, for stages of the lengths given.

    >>> diamond = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    >>> shares = distribute(diamond, np.array([0.2, 0.4, 0.1, 0.3]))
    >>> shares.chain
    (0, Fork(branches=((1,), (2,))), 3)
    >>> round(shares.of_slo([1]), 9) == round(shares.of_slo([2]), 9) == round(0.4 / 0.9, 9)
    True
    """
    chain = reduced(dag)
    group: list[tuple[int, ...]] = [()] * len(dag)
    scaled, rest = np.zeros(len(dag)), np.zeros(len(dag))
    _share(chain, 1.0, 0.0, length, scaled, rest)
    _group(chain, most, group)
    return SloShares(chain, tuple(group), length, scaled, rest)


def reduced(dag: Dag) -> Chain:
    """The DAG as a chain of stages and pseudo-nodes. O(depth · (S + arcs) log S).

    >>> reduced(Dag.from_edges(5, [(0, 1), (0, 2), (1, 3), (3, 4), (2, 4)]))
    (0, Fork(branches=((1, 3), (2,))), 4)
    >>> reduced(Dag.from_edges(4, [(0, 2), (0, 3), (1, 3)]))
    (Fork(branches=((0,), (1,))), Fork(branches=((2,), (3,))))
    """
    return _reduced(dag, list(range(len(dag))))


def _reduced(whole: Dag, stages: list[int]) -> Chain:
    """The chain of the DAG that ``stages`` span."""
    dag = _induced(whole, stages)
    found = decompose(dag)
    chain: list[int | Fork] = []
    if found.cuts and found.cuts[0] != VIRTUAL:
        chain.append(stages[found.cuts[0]])
    for piece in found.subgraphs:
        if piece.interior:
            chain += _piece(whole, dag, stages, [int(v) for v in piece.interior])
        if piece.sink != VIRTUAL:
            chain.append(stages[piece.sink])
    return tuple(chain)


def _piece(whole: Dag, dag: Dag, stages: list[int], interior: list[int]) -> list[int | Fork]:
    """What lies between two dominators: its components side by side; one that is all of it, by levels."""
    parts = _components(dag, interior)
    if len(parts) > 1:
        return [Fork(tuple(_reduced(whole, [stages[v] for v in part]) for part in parts))]
    if len(interior) < len(dag):
        return list(_reduced(whole, [stages[v] for v in interior]))
    return [_side_by_side([stages[v] for v in level]) for level in _levels(dag)]


def _side_by_side(stages: list[int]) -> int | Fork:
    return stages[0] if len(stages) == 1 else Fork(tuple((s,) for s in stages))


def _levels(dag: Dag) -> list[list[int]]:
    level = dag.levels()
    return [[v for v in range(len(dag)) if level[v] == k] for k in range(max(level) + 1)]


def _induced(dag: Dag, stages: list[int]) -> Dag:
    at = {s: i for i, s in enumerate(stages)}
    return Dag.from_edges(
        len(stages), [(at[s], at[t]) for s in stages for t in dag.successors[s] if t in at], dag.name
    )


def _components(dag: Dag, nodes: list[int]) -> list[list[int]]:
    """Nodes that hang together without the others, in increasing order."""
    left, parts = set(nodes), []
    for first in nodes:
        if first not in left:
            continue
        left.remove(first)
        part = [first]
        for v in part:  # the list grows while it is read
            near = [u for u in (*dag.predecessors[v], *dag.successors[v]) if u in left]
            left.difference_update(near)
            part += near
        parts.append(sorted(part))
    return parts


def _weight(element: int | Fork, length: Floats) -> float:
    if isinstance(element, Fork):
        return max(sum(_weight(e, length) for e in branch) for branch in element.branches)
    return float(length[element])


def _share(chain: Chain, factor: float, after: float, length: Floats, scaled: Floats, rest: Floats) -> None:
    """Fill ``scaled`` and ``rest`` for a chain scaled by ``factor`` with ``after`` behind it."""
    for element in reversed(chain):
        weight = factor * _weight(element, length)
        if isinstance(element, Fork):
            for branch in element.branches:
                own = sum(_weight(e, length) for e in branch)
                _share(branch, weight / own, after, length, scaled, rest)
            after += weight
        else:
            after += weight
            scaled[element], rest[element] = weight, after


def _group(chain: Chain, most: int, group: list[tuple[int, ...]]) -> None:
    """Cut runs of stages into groups of at most ``most``; a pseudo-node ends a group."""
    run: list[int] = []
    for element in (*chain, Fork(())):
        if isinstance(element, Fork):
            for at, stage in enumerate(run):
                group[stage] = tuple(run[at : (at // most + 1) * most])
            run = []
            for branch in element.branches:
                _group(branch, most, group)
        else:
            run.append(element)
