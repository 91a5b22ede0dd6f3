"""The sub-graph: the tasks between two consecutive cut tasks."""

from __future__ import annotations

from dataclasses import dataclass

VIRTUAL = -1


@dataclass(frozen=True, slots=True)
class SubGraph:
    """Tasks of a task graph that are placed together.

    ``root`` and ``sink`` are task indices, or ``VIRTUAL`` (−1) where the graph has several
    sources or several sinks: a virtual root or sink takes no time and moves no bytes, but stands
    on a server. ``interior`` is in topological order. No edge leads from the interior to a task
    beyond the sink, nor from before the root into the interior.
    """

    root: int
    sink: int
    interior: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The cut tasks of a task graph in order, and the sub-graphs between them.

    ``cuts`` starts and ends with ``VIRTUAL`` where the virtual source or sink is needed;
    ``subgraphs[k]`` has root ``cuts[k]`` and sink ``cuts[k + 1]``. A graph of one task has one
    cut and no sub-graph.
    """

    cuts: tuple[int, ...]
    subgraphs: tuple[SubGraph, ...]
