"""The graphs of the Models and Contraction pages, each with the details of its selected box."""

from __future__ import annotations

import streamlit as st

from nona.report.inputs.coarsening import Glued
from nona.ui.graphs.drawn import boxes, drawn, members_of, operators_of, played, tasks_of
from nona.ui.graphs.facts import PLAYED, merges, part_of, playable_modules
from nona.ui.graphs.node_panel import block_panel, operator_panel, task_panel
from nona.ui.loaded.loading import Loaded
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

MODEL, PLAY, TASKS = "model-graph", "contraction", "tasks"


@st.fragment
def model_graph(state: AppState, loaded: Loaded) -> None:
    """The operators by their modules; below, the selected one."""
    made = operators_of(loaded)
    seen = drawn(state, MODEL, loaded.key, made)
    facts = made[0]
    number = boxes(state, MODEL, loaded.key, made)
    if seen.selected in loaded.prepared.graph.index:
        operator_panel(state, MODEL, loaded, str(seen.selected))
    elif seen.selected and (inside := members_of(state, MODEL, loaded.key, made, seen.selected)):
        costs = [loaded.prepared.costed[0].costs[i] for i in inside]
        block_panel(MODEL, seen.selected.removeprefix("block:").replace("/", "."), costs)
    elif number < len(facts.ids):
        st.caption(
            f"{len(facts.ids):,} operators in {number:,} boxes: a double border marks a block of "
            "operators. Double-click it to open it; search also finds its operators."
        )
    else:
        st.caption("Click an operator for its figures; arrow keys walk along the edges.")


@st.fragment
def contraction_player(state: AppState, loaded: Loaded, glued: Glued | None = None) -> None:
    """The contraction step by step; large models one module at a time.

    With ``glued`` the steps of the coarsening follow.
    """
    facts, found = operators_of(loaded)
    contracted = loaded.prepared.contracted if glued is None else glued.contracted
    key, mark, members = PLAY, loaded.key + ("" if glued is None else glued.mark), None
    if len(facts.ids) > PLAYED:
        st.info(
            f"{len(facts.ids):,} operators are too many to play at once. The end state is in the tab "
            "*After: tasks*; here one part of the model is played at a time.",
            icon=":material/view_module:",
        )
        parts = playable_modules(found)
        names = {".".join(path): path for path in parts}
        name = st.selectbox(
            "Part to play",
            names,
            format_func=lambda n: f"{n} ({len(parts[names[n]]):,} operators)",
            key=f"part:{loaded.key}",
            help="Only the steps between two operators of this part are shown.",
        )
        members = parts[names[name]]
        facts, mark = part_of(facts, members, name), f"{mark} {name}"
    steps = fetch(("steps", mark), lambda: merges(contracted, members), "Reading the steps")
    seen = played(state, key, mark, facts, steps)
    if seen.selected in contracted.task_of:
        own = contracted.task_of[str(seen.selected)]
        st.caption(f"{plain(str(seen.selected))} is part of this task:")
        task_panel(state, key, loaded, own, neighbours=False)
    else:
        st.caption("Play, step with the arrow keys, drag the slider. Click an operator to see its task.")


@st.fragment
def task_graph(state: AppState, loaded: Loaded) -> None:
    """The tasks after contraction; below, the selected one."""
    made = tasks_of(loaded)
    seen = drawn(state, TASKS, loaded.key, made)
    contracted = loaded.prepared.contracted
    if seen.selected in contracted.index:
        task_panel(state, TASKS, loaded, str(seen.selected))
    elif seen.selected and (inside := members_of(state, TASKS, loaded.key, made, seen.selected)):
        costed, where = loaded.prepared.costed[0], contracted.graph.index
        operators = [where[o] for i in inside for o in contracted.tasks[i].operators]
        title = seen.selected.removeprefix("block:").replace("/", ".")
        block_panel(TASKS, title, [costed.costs[i] for i in operators])
    else:
        st.caption("Click a task to see its operators. Coloured tasks can be placed on other servers.")
