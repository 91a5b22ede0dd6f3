"""Graphs on the pages, each beside the details of its selected box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from nona.app.models.dagview import Drawing, Merge, ViewInput, ViewRequest, dag_view, last_request
from nona.app.models.graph_data import (
    EXPANDED,
    PLAYED,
    NodeFacts,
    block_ids,
    drawn_graph,
    enclosing,
    graph_drawing,
    merges,
    operator_facts,
    operator_modules,
    part_of,
    playable_modules,
    task_facts,
    task_modules,
)
from nona.app.models.loading import LoadedModel, fetch, layouts_of
from nona.app.session.state import AppState
from nona.app.widgets.fields import plain
from nona.app.widgets.results import tiles
from nona.core.units import format_count, format_number, format_size, format_time
from nona.models.cost.costed import OperatorCost
from nona.models.graph.blocks import BlockGraph, Modules, OpenModules
from nona.models.graph.model import AttributeValue, ModelGraph, Operator, Tensor
from nona.models.times_report import origin_text


@dataclass(frozen=True, slots=True)
class Drawings:
    """The session's views by key: their cuts (by key and content), last requests, and picked nodes."""

    cuts: Mapping[tuple[str, str], OpenModules] = field(default_factory=dict)
    requests: Mapping[str, ViewRequest] = field(default_factory=dict)
    picks: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def drawn(state: AppState, key: str, mark: str, content: tuple[NodeFacts, Modules]) -> ViewInput:
    """Draw a graph by its modules, open or closed as the user chose; ``mark`` names its content."""
    facts, modules = content
    drawings = state.choices.get(Drawings)
    cut = drawings.cuts.get((key, mark), modules.usual)
    notice = ""
    request = last_request(key)
    if request and request != drawings.requests.get(key):
        drawings = replace(drawings, requests={**drawings.requests, key: request})
        wanted = _requested(facts, modules, cut, request)
        count = len(drawn_graph(facts, modules, wanted).blocks)
        if count > EXPANDED:
            notice = f"That would draw {count:,} boxes, more than {EXPANDED:,}: collapse another block first."
        else:
            cut = wanted
            drawings = replace(drawings, cuts={**drawings.cuts, (key, mark): cut})
        state.choices.keep(drawings)
    drawing = _drawing(mark, facts, modules, cut)
    answered = drawings.requests[key].when if key in drawings.requests else 0
    return dag_view(key, drawing, notice, drawings.picks.get(key), answered)


def _played(state: AppState, key: str, mark: str, facts: NodeFacts, steps: Sequence[Merge]) -> ViewInput:
    bare = Modules(((),) * len(facts.ids), OpenModules(1), OpenModules(1))

    def make() -> Drawing:
        graph = drawn_graph(facts, bare, bare.usual)
        return graph_drawing(facts, bare, bare.usual, graph, layouts, steps)

    layouts = layouts_of(facts.dag)
    drawing = fetch(("played", mark, key, facts.name), make, "Drawing the graph")
    return dag_view(key, drawing, "", state.choices.get(Drawings).picks.get(key))


def _drawing(mark: str, facts: NodeFacts, modules: Modules, cut: OpenModules) -> Drawing:
    graph = _blocks(mark, facts, modules, cut)
    layouts = layouts_of(graph.dag)
    key = ("drawn", mark, facts.what, cut)
    return fetch(key, lambda: graph_drawing(facts, modules, cut, graph, layouts), "Drawing the graph")


def _blocks(mark: str, facts: NodeFacts, modules: Modules, cut: OpenModules) -> BlockGraph:
    key = ("blocks", mark, facts.what, cut)
    return fetch(key, lambda: drawn_graph(facts, modules, cut), "Grouping the graph")


def _requested(facts: NodeFacts, modules: Modules, cut: OpenModules, request: ViewRequest) -> OpenModules:
    verb, own = request.verb, request.node
    if verb == "all":
        return OpenModules(1 + max(map(len, modules.paths)))
    if verb == "none":
        return modules.shortest
    graph = drawn_graph(facts, modules, cut)
    block = dict(zip(block_ids(facts, graph), graph.blocks, strict=True)).get(own)
    if block is None:
        return cut
    if verb == "open":
        return cut.open(block.path) if block.path else cut
    around = enclosing(modules.paths, cut, block)
    return cut if around is None else cut.shut_module(around)


def pick(state: AppState, key: str, node: str) -> None:
    """Select a node of the view ``key`` from here, as a click there would."""
    drawings = state.choices.get(Drawings)
    _, before = drawings.picks.get(key, ("", 0))
    state.choices.keep(replace(drawings, picks={**drawings.picks, key: (node, before + 1)}))
    view_state = st.session_state.get(key)
    if view_state is not None:
        view_state["selected"] = node


def _operators_of(loaded: LoadedModel) -> tuple[NodeFacts, Modules]:
    return fetch(
        ("operators", loaded.key),
        lambda: (operator_facts(loaded), operator_modules(loaded)),
        "Reading the names",
    )


def _members_of(
    state: AppState, key: str, mark: str, content: tuple[NodeFacts, Modules], own: str
) -> tuple[int, ...]:
    """Return the nodes that a drawn box of the view ``key`` stands for; none when there is no such box."""
    facts, modules = content
    cut = state.choices.get(Drawings).cuts.get((key, mark), modules.usual)
    graph = _blocks(mark, facts, modules, cut)
    return next(
        (b.members for b, i in zip(graph.blocks, block_ids(facts, graph), strict=True) if i == own), ()
    )


def _boxes(state: AppState, key: str, mark: str, content: tuple[NodeFacts, Modules]) -> int:
    facts, modules = content
    cut = state.choices.get(Drawings).cuts.get((key, mark), modules.usual)
    return len(_blocks(mark, facts, modules, cut).blocks)


NEIGHBOURS = 12
LISTED = 200


def _operator_panel(state: AppState, key: str, loaded: LoadedModel, own: str) -> None:
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
                (
                    "Share of the model",
                    f"{format_number(100 * share)} %",
                    "Share of the total time of all operators.",
                ),
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


def _task_panel(state: AppState, key: str, loaded: LoadedModel, own: str, neighbours: bool = True) -> None:
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


def _step_panel(ids: Sequence[str], steps: Sequence[Merge], step: int) -> None:
    if not step:
        st.caption("Play, step with the arrow keys, or drag the slider. Click an operator to see its task.")
        return
    merge = steps[step - 1]
    with st.container(border=True, key="step-panel"):
        joined, joining = plain(ids[merge.source]), plain(ids[merge.target])
        st.markdown(f"**Step {step:,} of {len(steps):,}** · {joining} joins {joined}")
        st.markdown(plain(merge.reason))


def _block_panel(key: str, title: str, costs: Sequence[OperatorCost]) -> None:
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
    """Return a tensor's shape and size.

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
    neighbours = graph.dag.successors[place] if after else graph.dag.predecessors[place]
    return [graph.operators[i].id for i in neighbours]


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


# The panel scrolls by itself: it takes its height from the graph beside it, below which it stands on a
# narrow screen. The page gives up some of its margins.
STYLE = """<style>
@media (min-width: 768px) {
  .stMainBlockContainer:has(.st-key-model-bar) { padding-left: 2rem; padding-right: 2rem }
  .stColumn:has([class*="st-key-beside-"]) { position: relative }
  [class*="st-key-beside-"] { position: absolute; inset: 0; overflow-y: auto; padding-right: .4rem }
}
[class*="st-key-beside-"] [data-testid=stMarkdownContainer] { font-size: .9rem }
[class*="st-key-beside-"] [data-testid=stMetricValue] { font-size: 1.2rem }
</style>"""
WIDTHS = (13, 7)


def model_bar() -> DeltaGenerator:
    """Return the bar above a graph and its tables: what is shown, and what to do with it."""
    st.html(STYLE)
    return st.container(horizontal=True, vertical_alignment="center", gap="small", key="model-bar")


def workspace(key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the place of the graph, and the panel beside it."""
    graph, beside = st.columns(WIDTHS)
    return graph, beside.container(key=f"beside-{key}", gap="small")


MODEL, PLAY, TASKS, HOMES = "model-graph", "contraction", "tasks", "homes"
Homes = Mapping[str, str]  # task → the server on which it runs
NO_HOMES: Homes = MappingProxyType({})


@st.fragment
def graph_browser(
    state: AppState, loaded: LoadedModel, key: str, about: Callable[[], None], homes: Homes = NO_HOMES
) -> None:
    """Draw the operators (view ``MODEL``) or tasks by their modules, and the selected one.

    ``about`` beside it.

    With ``homes`` the tasks have the colours of their servers.
    """
    graph, beside = workspace(key)
    content, mark = _facts_of(loaded, key, homes), loaded.key + repr(homes)
    with graph:
        seen = drawn(state, key, mark, content)
    with beside:
        _selected(state, loaded, key, mark, content, seen.selected)
        about()


def _facts_of(loaded: LoadedModel, key: str, homes: Homes = NO_HOMES) -> tuple[NodeFacts, Modules]:
    if key == MODEL:
        return _operators_of(loaded)
    facts, modules = fetch(
        ("tasks", loaded.key), lambda: (task_facts(loaded), task_modules(loaded)), "Reading the names"
    )
    servers = tuple(homes.get(own, "") for own in facts.ids) if homes else ()
    return replace(facts, servers=servers), modules


def _selected(
    state: AppState,
    loaded: LoadedModel,
    key: str,
    mark: str,
    content: tuple[NodeFacts, Modules],
    selected: str | None,
) -> None:
    facts, contracted = content[0], loaded.prepared.contracted
    if selected in facts.ids:
        panel = _operator_panel if key == MODEL else _task_panel
        panel(state, key, loaded, str(selected))
    elif selected and (inside := _members_of(state, key, mark, content, selected)):
        index = contracted.graph.index
        if key != MODEL:
            inside = tuple(index[o] for i in inside for o in contracted.tasks[i].operators)
        costs = [loaded.prepared.costed[0].costs[i] for i in inside]
        _block_panel(key, selected.removeprefix("block:").replace("/", "."), costs)
    elif key != MODEL:
        st.caption("Click a task to see its operators. Coloured tasks can be placed on other servers.")
    elif (number := _boxes(state, key, mark, content)) < len(facts.ids):
        st.caption(
            f"{len(facts.ids):,} operators in {number:,} boxes: a double border marks a block of "
            "operators. Double-click it to open it; search also finds its operators."
        )
    else:
        st.caption("Click an operator for its figures; arrow keys walk along the edges.")


@st.fragment
def side_by_side(state: AppState, models: Sequence[tuple[str, LoadedModel]], key: str) -> None:
    """Draw the graphs of two models beside each other; ``key`` as for :func:`graph_browser`."""
    for number, (column, (name, loaded)) in enumerate(zip(st.columns(2), models, strict=True)):
        with column:
            st.markdown(f"**{plain(name)}**")
            drawn(state, f"{key}-{number}", loaded.key, _facts_of(loaded, key))


@st.fragment
def contraction_player(state: AppState, loaded: LoadedModel, about: Callable[[], None]) -> None:
    """Play the contraction step by step; large models one module at a time.

    Beside the graph stand the step, the selected task, and ``about`` the contraction.
    """
    facts, modules = _operators_of(loaded)
    contracted, mark, members = loaded.prepared.contracted, loaded.key, None
    graph, beside = workspace(PLAY)
    if len(facts.ids) > PLAYED:
        with beside:
            name, members = _part(loaded, facts, modules)
        facts, mark = part_of(facts, members, name), f"{mark} {name}"
    steps = fetch(("steps", mark), lambda: merges(contracted, members), "Reading the steps")
    with graph:
        seen = _played(state, PLAY, mark, facts, steps)
    with beside:
        _step_panel(facts.ids, steps, seen.step)
        if seen.selected in contracted.task_of:
            own = contracted.task_of[str(seen.selected)]
            st.caption(f"{plain(str(seen.selected))} is part of this task:")
            _task_panel(state, PLAY, loaded, own, neighbours=False)
        about()


def _part(loaded: LoadedModel, facts: NodeFacts, modules: Modules) -> tuple[str, tuple[int, ...]]:
    parts = playable_modules(modules)
    names = {".".join(path): path for path in parts}
    name = st.selectbox(
        "Part to play",
        names,
        format_func=lambda n: f"{n} ({len(parts[names[n]]):,} operators)",
        key=f"part:{loaded.key}",
        help=f"{len(facts.ids):,} operators are too many to play at once, so only the steps within this part "
        "are shown. The view *Tasks* shows the final state of all.",
    )
    return name, parts[names[name]]
