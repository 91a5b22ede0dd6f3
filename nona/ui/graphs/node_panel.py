"""Details of the selected box: an operator, a task, or a block of operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from nona.cost.costed import OperatorCost
from nona.graph.model import AttributeValue, ModelGraph, Operator, Tensor
from nona.report.inputs.given_times import origin_text
from nona.ui.graphs.drawn import pick
from nona.ui.loaded.loading import Loaded
from nona.ui.session.state import AppState
from nona.ui.widgets.dagview.dagview import Merge
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tiles import tiles
from nona.units import format_count, format_size, format_time

NEIGHBOURS = 12
LISTED = 200


def operator_panel(state: AppState, key: str, loaded: Loaded, own: str) -> None:
    """Time, work, shapes and neighbours of one operator, and the task that contains it."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    graph = loaded.prepared.graph
    operator, cost = graph.operators[graph.index[own]], costed.costs[graph.index[own]]
    origin = origin_text(cost, costed.device)
    with st.container(border=True, key=f"{key}-panel"):
        st.markdown(f"**{plain(own)}** · {plain(operator.kind)}")
        share = cost.compute_s / costed.total_compute_s if costed.total_compute_s > 0 else 0.0
        tiles(
            [
                (
                    "Time",
                    format_time(cost.compute_s),
                    plain(f"On {costed.device}: {origin}."),
                ),
                ("Share of the model", f"{100 * share:.3g} %", "Share of the total time of all operators."),
                ("Work", format_count(cost.flops, "FLOP"), "A multiply-add counts as two operations."),
                (
                    "Moved",
                    format_size(cost.read_bytes + cost.write_bytes + cost.weight_bytes),
                    "Activations in and out, and weights.",
                ),
            ]
        )
        task = contracted.tasks[contracted.index[contracted.task_of[own]]]
        st.markdown(_lines(graph, operator, cost, origin, task.id, len(task.operators)))
        _neighbours(state, key, "Inputs from", _ends(graph, own, False))
        _neighbours(state, key, "Outputs to", _ends(graph, own, True))


def task_panel(state: AppState, key: str, loaded: Loaded, own: str, neighbours: bool = True) -> None:
    """Time, bytes and operators of one task."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    place = contracted.index[own]
    task, where = contracted.tasks[place], contracted.graph.index
    into = {(e.source, e.tensor): e.size_bytes for e in contracted.edges if e.target == own}
    out = {e.tensor: e.size_bytes for e in contracted.edges if e.source == own}
    costs = [costed.costs[where[o]] for o in task.operators]
    with st.container(border=True, key=f"{key}-panel"):
        st.markdown(f"Task **{plain(own)}** · {_counted(len(task.operators))}")
        tiles(
            [
                ("Time", format_time(sum(c.compute_s for c in costs)), plain(f"On {costed.device}.")),
                ("Read", format_size(sum(into.values())), "Distinct tensors from other tasks."),
                ("Written", format_size(sum(out.values())), "Distinct tensors for other tasks."),
                ("Weights", format_size(sum(c.weight_bytes for c in costs)), "Parameters that it reads."),
            ]
        )
        _operators(key, costs)
        if neighbours:
            ids = [t.id for t in contracted.tasks]
            _neighbours(state, key, "Inputs from", [ids[i] for i in contracted.dag.predecessors[place]])
            _neighbours(state, key, "Outputs to", [ids[i] for i in contracted.dag.successors[place]])


def step_panel(ids: Sequence[str], steps: Sequence[Merge], step: int) -> None:
    """Which two tasks the step merged, and why that is allowed; ``ids`` are those of the operators."""
    if not step:
        st.caption("Play, step with the arrow keys, or drag the slider. Click an operator to see its task.")
        return
    merge = steps[step - 1]
    with st.container(border=True, key="step-panel"):
        joined, joining = plain(ids[merge.source]), plain(ids[merge.target])
        st.markdown(f"**Step {step:,} of {len(steps):,}** · {joining} joins {joined}")
        st.markdown(plain(merge.reason))


def block_panel(key: str, title: str, costs: Sequence[OperatorCost]) -> None:
    """What a block of operators holds."""
    with st.container(border=True, key=f"{key}-panel"):
        st.markdown(f"Block **{plain(title)}** · {_counted(len(costs))}")
        tiles(
            [
                ("Time", format_time(sum(c.compute_s for c in costs)), "Sum over all its operators."),
                (
                    "Work",
                    format_count(sum(c.flops for c in costs), "FLOP"),
                    "A multiply-add counts as two operations.",
                ),
                ("Weights", format_size(sum(c.weight_bytes for c in costs)), "Parameters, once per use."),
            ]
        )
        kinds = Counter(c.kind for c in costs).most_common(8)
        st.caption("Most frequent: " + ", ".join(f"{n} × {plain(kind)}" for kind, n in kinds))


def _counted(operators: int) -> str:
    return "one operator" if operators == 1 else f"{operators:,} operators"


def _lines(
    graph: ModelGraph, operator: Operator, cost: OperatorCost, origin: str, task: str, size: int
) -> str:
    lines = [
        f"- **Time** is {plain(origin)}; it is part of the task **{plain(task)}** ({_counted(size)})",
        f"- **Bytes** {format_size(cost.read_bytes)} read, {format_size(cost.write_bytes)} written, "
        f"{format_size(cost.weight_bytes)} weights",
    ]
    lines += [
        f"- **{label}** " + " · ".join(plain(_tensor(graph.tensors.get(t), t)) for t in names[:6])
        for label, names in (("In", [t for t in operator.inputs if t]), ("Out", list(operator.outputs)))
        if names
    ]
    if operator.attributes:
        lines.append(f"- **Attributes** {plain(_attributes(operator.attributes))}")
    return "\n".join(lines)


def _tensor(tensor: Tensor | None, name: str) -> str:
    """A tensor's shape and size.

    >>> _tensor(Tensor("x", 8.0, (1, 2)), "x")
    'x [1×2] float32, 8 B'
    """
    if tensor is None:
        return name
    shape = "" if tensor.shape is None else f" [{'×'.join(map(str, tensor.shape))}]"
    return f"{name}{shape} {tensor.dtype}, {format_size(tensor.size_bytes)}"


def _attributes(attributes: Mapping[str, AttributeValue], most: int = 12) -> str:
    shown = [f"{k} = {list(v) if isinstance(v, tuple) else v}" for k, v in sorted(attributes.items())]
    return "; ".join(shown[:most]) + ("; …" if len(shown) > most else "")


def _ends(graph: ModelGraph, own: str, after: bool) -> list[str]:
    place = graph.index[own]
    found = graph.dag.successors[place] if after else graph.dag.predecessors[place]
    return [graph.operators[i].id for i in found]


def _neighbours(state: AppState, key: str, label: str, ids: Sequence[str]) -> None:
    if not ids:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key=f"{key}-{label[:3]}"):
        st.caption(label, width="content")
        for number, own in enumerate(ids[:NEIGHBOURS]):
            st.button(
                plain(own),
                key=f"{key}-{label[:3]}-{number}-{own}",
                help="Select it in the graph.",
                on_click=pick,
                args=(state, key, own),
                type="tertiary",
            )
        if len(ids) > NEIGHBOURS:
            st.caption(f"and {len(ids) - NEIGHBOURS} more", width="content")


def _operators(key: str, costs: Sequence[OperatorCost]) -> None:
    listed = " → ".join(plain(c.id) for c in costs[:LISTED])
    more = f" … and {len(costs) - LISTED:,} more" if len(costs) > LISTED else ""
    if len(costs) <= 8:
        st.markdown(f"Operators: {listed}")
        return
    with st.expander(f"All {len(costs):,} operators, in order", key=f"{key}-operators"):
        st.markdown(listed + more)
