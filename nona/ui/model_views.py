"""Models as the DAG view and tables show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nona.contraction.contracted import ContractedGraph
from nona.cost.costed import CostedGraph
from nona.decomposition.subgraph import Decomposition
from nona.ui.dagview.dagview import Merge, Node, view_data
from nona.ui.models import DRAWN_NODES, Loaded, layout_of
from nona.units import format_count, format_size, format_time

OTHER = 9
SUBGRAPH_COLOURS = 9


def kind_colours(kinds: list[str]) -> dict[str, int]:
    """A colour for each of the nine most frequent kinds; the others share the last colour.

    >>> kind_colours(["Conv", "Relu", "Conv"])
    {'Conv': 0, 'Relu': 1}
    """
    ordered = sorted(Counter(kinds).items(), key=lambda k: (-k[1], k[0]))
    return {kind: min(i, OTHER) for i, (kind, _) in enumerate(ordered)}


def operator_view(costed: CostedGraph, height: int = 600) -> dict[str, Any] | None:
    """The model graph, coloured by kind; ``None`` when it is too large to draw."""
    graph = costed.graph
    if len(graph.operators) > DRAWN_NODES:
        return None
    tone = kind_colours([o.kind for o in graph.operators])
    nodes = [
        Node(
            c.id,
            c.kind,
            tone[c.kind],
            f"{c.id}\n{c.kind}: {format_count(c.flops, 'FLOP')}, {format_size(c.read_bytes + c.write_bytes)} "
            f"moved\n{format_time(c.compute_s)} ({c.provenance})",
        )
        for c in costed.costs
    ]
    legend = [(kind, colour) for kind, colour in tone.items() if colour < OTHER]
    if len(tone) > OTHER:
        legend.append(("other kinds", OTHER))
    return view_data(nodes, list(graph.dag.edges()), layout_of(graph.dag), height=height, legend=legend)


def contraction_view(loaded: Loaded, height: int = 620) -> dict[str, Any] | None:
    """The operators with the contraction as playback, coloured by the sub-graph they end up in."""
    contracted = loaded.prepared.contracted
    graph = contracted.graph
    if len(graph.operators) > DRAWN_NODES:
        return None
    colour_of = task_colours(contracted, loaded.prepared.decomposition)
    nodes = [
        Node(o.id, o.kind, colour_of[contracted.task_of[o.id]], f"{o.id}\n{o.kind}") for o in graph.operators
    ]
    steps = [Merge(graph.index[s.into], graph.index[s.target], s.reason) for s in contracted.steps]
    return view_data(
        nodes, list(graph.dag.edges()), layout_of(graph.dag), steps, height, _subgraph_legend(loaded)
    )


def task_view(loaded: Loaded, height: int = 560) -> dict[str, Any] | None:
    """The tasks that are left, coloured by sub-graph."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    if len(contracted.tasks) > DRAWN_NODES:
        return None
    colour_of = task_colours(contracted, loaded.prepared.decomposition)
    times = contracted.sum_over_tasks(costed.compute_s)
    nodes = [
        Node(
            t.id,
            t.id if len(t.operators) == 1 else f"{len(t.operators)} operators",
            colour_of[t.id],
            f"{t.id}\n{len(t.operators)} operators, {format_time(seconds)}",
        )
        for t, seconds in zip(contracted.tasks, times, strict=True)
    ]
    dag = contracted.dag
    return view_data(nodes, list(dag.edges()), layout_of(dag), height=height, legend=_subgraph_legend(loaded))


def task_colours(contracted: ContractedGraph, decomposition: Decomposition) -> dict[str, int]:
    """Task id → colour: that of its sub-graph's number, cut tasks in grey."""
    tone = {t.id: OTHER for t in contracted.tasks}
    split = [s for s in decomposition.subgraphs if s.interior]
    for number, subgraph in enumerate(split):
        for task in subgraph.interior:
            tone[contracted.tasks[task].id] = number % SUBGRAPH_COLOURS
    return tone


def _subgraph_legend(loaded: Loaded) -> list[tuple[str, int]]:
    split = [s for s in loaded.prepared.decomposition.subgraphs if s.interior]
    shown = [(f"sub-graph {i + 1}", i) for i in range(min(len(split), 6))]
    if len(split) > 6:
        shown.append((f"… {len(split)} sub-graphs, colours repeat", 6))
    return [*shown, ("cut tasks", OTHER)]


def operator_table(costed: CostedGraph) -> pd.DataFrame:
    """One row per operator: its work, its time in milliseconds, and where the time comes from."""
    return pd.DataFrame(
        {
            "operator": [c.id for c in costed.costs],
            "kind": [c.kind for c in costed.costs],
            "MFLOP": [c.flops / 1e6 for c in costed.costs],
            "activations kB": [(c.read_bytes + c.write_bytes) / 1e3 for c in costed.costs],
            "weights kB": [c.weight_bytes / 1e3 for c in costed.costs],
            "time µs": [c.compute_s * 1e6 for c in costed.costs],
            "provenance": [c.provenance for c in costed.costs],
        }
    )


def subgraph_table(loaded: Loaded, counts: Sequence[int] | None) -> pd.DataFrame:
    """One row per sub-graph with an interior; ``counts`` are the configurations of all sub-graphs."""
    contracted, ids = loaded.prepared.contracted, [t.id for t in loaded.prepared.contracted.tasks]
    times = contracted.sum_over_tasks(loaded.prepared.costed[0].compute_s)
    rows = [
        {
            "root": ids[s.root] if s.root >= 0 else "(start)",
            "sink": ids[s.sink] if s.sink >= 0 else "(end)",
            "interior tasks": len(s.interior),
            "interior time µs": 1e6 * sum(times[t] for t in s.interior),
            **({} if counts is None else {"configurations": counts[i]}),
        }
        for i, s in enumerate(loaded.prepared.decomposition.subgraphs)
        if s.interior
    ]
    return pd.DataFrame(rows)


def step_table(contracted: ContractedGraph) -> pd.DataFrame:
    """One row per contraction step."""
    return pd.DataFrame(
        {
            "step": range(1, len(contracted.steps) + 1),
            "task": [s.source for s in contracted.steps],
            "absorbs": [s.target for s in contracted.steps],
            "why it is allowed": [s.reason for s in contracted.steps],
        }
    )


def gain_statement(parallelism: float) -> str:
    """The plain statement of what splitting can gain at most.

    >>> gain_statement(1.0)
    'Nothing in it can run side by side: splitting one query over servers cannot make it faster.'
    """
    if parallelism < 1.0005:
        return "Nothing in it can run side by side: splitting one query over servers cannot make it faster."
    return (
        f"Splitting one query over servers can shorten its computing by at most "
        f"{100 * (1 - 1 / parallelism):.1f} %, if transfers and waits cost nothing."
    )


def time_by_kind(costed: CostedGraph) -> dict[str, float]:
    """Seconds of all operators of each kind."""
    times: dict[str, float] = {}
    for c in costed.costs:
        times[c.kind] = times.get(c.kind, 0.0) + c.compute_s
    return times
