"""The graphs of the Models and Contraction pages, each beside the details of its selected box."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from nona.graph.structure.blocks import Modules
from nona.report.inputs.coarsening import Glued
from nona.ui.graphs.data import Facts
from nona.ui.graphs.drawn import boxes, drawn, members_of, operators_of, played, tasks_of
from nona.ui.graphs.facts import PLAYED, merges, part_of, playable_modules
from nona.ui.graphs.node_panel import block_panel, operator_panel, step_panel, task_panel
from nona.ui.graphs.workspace import workspace
from nona.ui.loaded.loading import Loaded
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

MODEL, PLAY, TASKS = "model-graph", "contraction", "tasks"


@st.fragment
def model_graph(state: AppState, loaded: Loaded, about: Callable[[], None]) -> None:
    """The operators by their modules; beside them the selected one, and ``about`` the model."""
    graph, beside = workspace(MODEL)
    made = operators_of(loaded)
    with graph:
        seen = drawn(state, MODEL, loaded.key, made)
    with beside:
        _operator(state, loaded, made, seen.selected)
        about()


def _operator(state: AppState, loaded: Loaded, made: tuple[Facts, Modules], selected: str | None) -> None:
    """The operator or the block that is selected, or how to select one."""
    facts, number = made[0], boxes(state, MODEL, loaded.key, made)
    if selected in loaded.prepared.graph.index:
        operator_panel(state, MODEL, loaded, str(selected))
    elif selected and (inside := members_of(state, MODEL, loaded.key, made, selected)):
        costs = [loaded.prepared.costed[0].costs[i] for i in inside]
        block_panel(MODEL, selected.removeprefix("block:").replace("/", "."), costs)
    elif number < len(facts.ids):
        st.caption(
            f"{len(facts.ids):,} operators in {number:,} boxes: a double border marks a block of "
            "operators. Double-click it to open it; search also finds its operators."
        )
    else:
        st.caption("Click an operator for its figures; arrow keys walk along the edges.")


@st.fragment
def contraction_player(
    state: AppState, loaded: Loaded, about: Callable[[], None], glued: Glued | None = None
) -> None:
    """The contraction step by step; large models one module at a time.

    With ``glued`` the steps of the coarsening follow. Beside the graph stand the step, the selected
    task, and ``about`` the contraction.
    """
    facts, found = operators_of(loaded)
    contracted = loaded.prepared.contracted if glued is None else glued.contracted
    mark, members = loaded.key + ("" if glued is None else glued.mark), None
    graph, beside = workspace(PLAY)
    if len(facts.ids) > PLAYED:
        with beside:
            name, members = _part(loaded, facts, found)
        facts, mark = part_of(facts, members, name), f"{mark} {name}"
    steps = fetch(("steps", mark), lambda: merges(contracted, members), "Reading the steps")
    with graph:
        seen = played(state, PLAY, mark, facts, steps)
    with beside:
        step_panel(facts.ids, steps, seen.step)
        if seen.selected in contracted.task_of:
            own = contracted.task_of[str(seen.selected)]
            st.caption(f"{plain(str(seen.selected))} is part of this task:")
            task_panel(state, PLAY, loaded, own, neighbours=False)
        about()


def _part(loaded: Loaded, facts: Facts, found: Modules) -> tuple[str, tuple[int, ...]]:
    """Which part of a large model is played: its name, and its operators."""
    parts = playable_modules(found)
    names = {".".join(path): path for path in parts}
    name = st.selectbox(
        "Part to play",
        names,
        format_func=lambda n: f"{n} ({len(parts[names[n]]):,} operators)",
        key=f"part:{loaded.key}",
        help=f"All {len(facts.ids):,} operators are too many to play at once: only the steps between two "
        "operators of this part are shown. The end state of all is in the tab *After: tasks*.",
    )
    return name, parts[names[name]]


@st.fragment
def task_graph(state: AppState, loaded: Loaded, about: Callable[[], None]) -> None:
    """The tasks after contraction; beside them the selected one, and ``about`` the contraction."""
    graph, beside = workspace(TASKS)
    made = tasks_of(loaded)
    with graph:
        seen = drawn(state, TASKS, loaded.key, made)
    with beside:
        _task(state, loaded, made, seen.selected)
        about()


def _task(state: AppState, loaded: Loaded, made: tuple[Facts, Modules], selected: str | None) -> None:
    """The task or the block that is selected, or how to select one."""
    contracted = loaded.prepared.contracted
    if selected in contracted.index:
        task_panel(state, TASKS, loaded, str(selected))
    elif selected and (inside := members_of(state, TASKS, loaded.key, made, selected)):
        costed, where = loaded.prepared.costed[0], contracted.graph.index
        operators = [where[o] for i in inside for o in contracted.tasks[i].operators]
        title = selected.removeprefix("block:").replace("/", ".")
        block_panel(TASKS, title, [costed.costs[i] for i in operators])
    else:
        st.caption("Click a task to see its operators. Coloured tasks can be placed on other servers.")
