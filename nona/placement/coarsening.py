"""The coarsening of an interior and of a whole task graph, with its steps and its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nona.arrays import Floats
from nona.contraction.contracted import ContractedGraph, Step
from nona.contraction.merging import NAME_WIDTH
from nona.contraction.rules import COST_AWARE, DEFAULT_RULE
from nona.contraction.task_graph import TaskGraph
from nona.decomposition import VIRTUAL, Decomposition, SubGraph
from nona.errors import PlacementError
from nona.graph.text import quote
from nona.placement.configurations import Shape, shapes_of
from nona.placement.glue import (
    EDGE,
    Coarsening,
    Glue,
    Groups,
    Loss,
    chains,
    glue_blocks,
    glue_edges,
    message_s,
)
from nona.placement.messages import Link
from nona.units import format_time


def coarsen(shape: Shape, link: Link, *, share: float = 0.0) -> Coarsening:
    """Glue tasks that cannot gain from different servers.

    *Edges*: a configuration that cuts an edge takes at least the longest chain
    through it, its message on an idle link and the waits. Where that is no less than the whole
    interior on one server, no configuration that cuts it is better than the local one, whatever
    the waits and prices are: nothing is lost. *Blocks* (:mod:`~.glue`): tasks whose compute is
    below what moving their cheapest tensor costs on an idle link stay with their producer; that delays
    the others by little, and this is added up.

    ``shape``, ``link``: the interior, and the link with its capacity and latency.
    ``share``: blocks may lose at most this share of the interior's local time, seconds of link load counted
        as seconds; edges then use what is left. 0: nothing is lost.

    Raises ``PlacementError`` for a negative or infinite share.

    Two branches of 10 ms and 8 ms whose messages take 1 ms, or 90 ms:

    >>> from nona.contraction.task_graph import TaskGraph
    >>> from nona.decomposition import decompose
    >>> from nona.placement.configurations import shape_of
    >>> import numpy as np
    >>> arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    >>> tasks = TaskGraph.from_edges("slides", [0.002, 0.010, 0.008, 0.002], arcs)
    >>> shape = shape_of(tasks, decompose(tasks.dag).subgraphs[0], np.ones(1))
    >>> [coarsen(shape, Link(capacity, 0.0)).group.tolist() for capacity in (1e9, 1e9 / 90)]
    [[0, 1, 2, 3], [0, 0, 0, 0]]
    """
    if not 0 <= share < float("inf"):
        raise PlacementError(
            f"Coarsening: share={share:g} must be at least 0 and finite; give such a number."
        )
    groups = Groups(shape.m + 2)
    if not shape.has_sink:  # a virtual sink has no tensors: it stays on the root's server
        groups.join(0, shape.m + 1)
    local = shape.local_s
    steps = [step for step, _ in glue_edges(shape, link, groups, local)]
    spare = share * local
    blocks, loss = glue_blocks(shape, link, groups, spare)
    late, loss_s = _late_edges(shape, link, groups, spare, loss)
    return Coarsening(
        group=groups.array(),
        steps=(*steps, *blocks, *late),
        loss_s=loss_s,
        load_loss_s=loss.load_s,
        square_loss_s2=loss.square_s2,
        most_s=max(0.0, local - _least_s(shape, link)),
    )


def _late_edges(
    shape: Shape, link: Link, groups: Groups, spare: float, loss: Loss
) -> tuple[list[Glue], float]:
    """Glue edges again after the blocks, with the rest of the budget; return the steps and the total loss."""
    local = shape.local_s
    left = max(0.0, spare - loss.span_s - loss.load_s)
    glued = glue_edges(shape, link, groups, local - left)
    slack = max((local - total for _, total in glued), default=0.0)
    return [step for step, _ in glued], loss.span_s + max(0.0, slack)


def _least_s(shape: Shape, link: Link) -> float:
    """Every configuration takes at least this long: the local one, or the quickest with an edge cut."""
    if not shape.has_root or not len(shape.source):
        return shape.critical_s
    head, tail = chains(shape, Groups(shape.m + 2))
    ends = zip(shape.source.tolist(), shape.target.tolist(), strict=True)
    cut = min(head[u] + tail[v] + message_s(shape, link, e) for e, (u, v) in enumerate(ends))
    return float(min(shape.local_s, max(cut, shape.critical_s)))


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
    weights: Floats,
    *,
    share: float = 0.0,
) -> tuple[Coarsening, ...]:
    """:func:`coarsen` for every sub-graph; equal ones are done once.

    ``weights`` (K,) is the share of each executor class, ``share`` what may be lost.
    """
    by_signature: dict[bytes, Coarsening] = {}
    coarsenings = []
    for shape in shapes_of(tasks, decomposition.subgraphs, weights):
        if shape.signature not in by_signature:
            by_signature[shape.signature] = coarsen(shape, link, share=share)
        coarsenings.append(by_signature[shape.signature])
    return tuple(coarsenings)


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
    return (
        f"{name(v)} computes for {work}, and moving its cheapest tensor takes {transfer} on an idle link; "
        f"on the server of {name(u)} its block delays the rest by at most {against}."
    )
