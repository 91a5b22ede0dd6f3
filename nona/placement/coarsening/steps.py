"""The coarsening of a whole task graph, and its steps in the form of a contraction's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.contraction.contracted import ContractedGraph, Step
from nona.contraction.merging import NAME_WIDTH
from nona.contraction.rules import COST_AWARE, DEFAULT_RULE
from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import VIRTUAL, Decomposition, SubGraph
from nona.graph.text import quote
from nona.placement.coarsening.coarsen import coarsen
from nona.placement.coarsening.result import EDGE, SOURCE, Coarsening, Glue
from nona.placement.coarsening.union_find import Groups
from nona.placement.configurations.shape import shapes_of
from nona.placement.spans.messages import Link
from nona.units import format_time

NAME = COST_AWARE
CONDITION = (
    "u → v stays on one server if cutting it alone takes longer than running everything on one server; a "
    "task with less compute time than the transfer of its cheapest tensor stays with its producer."
)


def base_rule(rule: str) -> str:
    """The contraction rule behind ``rule``: the cost-aware one goes on from the default rule's result.

    >>> base_rule("cost-aware"), base_rule("direct")
    ('poset', 'direct')
    """
    return DEFAULT_RULE if rule == NAME else rule


def coarsen_tasks(
    tasks: TaskGraph,
    decomposition: Decomposition,
    link: Link,
    weights: NDArray[np.float64],
    *,
    share: float = 0.0,
) -> tuple[Coarsening, ...]:
    """:func:`~.coarsen.coarsen` for every sub-graph; equal ones are done once.

    ``weights`` (K,) is the share of each executor class, ``share`` what may be lost.
    """
    known: dict[bytes, Coarsening] = {}
    found = []
    for shape in shapes_of(tasks, decomposition.subgraphs, weights):
        if shape.signature not in known:
            known[shape.signature] = coarsen(shape, link, share=share)
        found.append(known[shape.signature])
    return tuple(found)


def with_glue(
    contracted: ContractedGraph, decomposition: Decomposition, coarsenings: Sequence[Coarsening]
) -> ContractedGraph:
    """``contracted`` with the coarsening's steps after its own; its tasks stay what they are.

    Glued tasks are no task: they share a server, and keep their messages and their order. The steps
    say so, and a playback shows which tasks end up together.
    """
    together = Groups(len(contracted.tasks))
    edge_of: dict[tuple[str, str], tuple[str, str]] = {}
    for e in contracted.graph.edges:
        edge_of.setdefault((contracted.task_of[e.source], contracted.task_of[e.target]), (e.source, e.target))
    steps = []
    for subgraph, coarsening in zip(decomposition.subgraphs, coarsenings, strict=True):
        nodes = (subgraph.root, *subgraph.interior, subgraph.sink)
        for glue in coarsening.steps:
            u, v = nodes[glue.source], nodes[glue.target]
            ids = [contracted.tasks[together.find(t)].id for t in (u, v)]
            together.join(u, v)
            into = contracted.tasks[together.find(u)].id
            edge = edge_of[contracted.tasks[u].id, contracted.tasks[v].id]
            steps.append(Step(ids[0], ids[1], into, edge, _reason(contracted, subgraph, u, v, glue), NAME))
    return replace(contracted, steps=(*contracted.steps, *steps))


def _reason(contracted: ContractedGraph, subgraph: SubGraph, u: int, v: int, glue: Glue) -> str:
    def name(task: int) -> str:
        return quote(contracted.tasks[task].id, NAME_WIDTH)

    work, transfer, against = (format_time(s) for s in (glue.work_s, glue.transfer_s, glue.against_s))
    if glue.kind == EDGE:
        ends = [name(t) for t in (subgraph.root, subgraph.sink) if t != VIRTUAL]
        where = f" between {' and '.join(ends)}" if len(ends) == 2 else ""
        return (
            f"With {name(u)} and {name(v)} on two servers the longest path takes {work} of compute and "
            f"{transfer} for the message on an idle link; everything{where} on one server takes {against}."
        )
    if glue.kind == SOURCE:
        return (
            f"{name(u)} has no inputs and computes for {work}; moving its cheapest tensor takes {transfer} "
            f"on an idle link. On the server of {name(v)} it delays the rest by at most {against}."
        )
    return (
        f"{name(v)} computes for {work}, and moving its cheapest tensor takes {transfer} on an idle link; "
        f"on the server of {name(u)} its block delays the rest by at most {against}."
    )
