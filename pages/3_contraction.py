"""Contraction: operators become tasks, step by step, and the tasks fall into sub-graphs."""

import streamlit as st

from nona.contraction.rules import RULES
from nona.ui.count_views import subgraphs_with_counts
from nona.ui.dagview.dagview import dag_view
from nona.ui.model_picker import loaded_model, pick_device, pick_model
from nona.ui.model_views import contraction_view, step_table, task_view
from nona.ui.widgets import choice, plain
from nona.ui.workspace import current
from nona.units import format_time

EXPLAINED = {
    "poset": "An edge is contracted when the ancestors and descendants of its ends show that running them "
    "apart could never help. Complete: nothing that could be merged is left.",
    "direct": "An edge is contracted when every other input of its target also feeds its source, and every "
    "other output of its source is also an output of its target.",
    "size-aware": "The direct rule, only where the edge carries at least as many bytes as go into its "
    "source or come out of its target.",
}
state = current()
columns = st.columns(3)
with columns[0]:
    pick_model(state)
with columns[1]:
    choice(state, "Rule", ("contraction",), tuple(RULES))
with columns[2]:
    device = pick_device(state)
st.caption(EXPLAINED.get(state.scenario.contraction, ""))

loaded = loaded_model(state, device)
if loaded is None:
    st.stop()
prepared = loaded.prepared
contracted, costed = prepared.contracted, prepared.costed[0]
after_s = contracted.dag.critical_path(contracted.sum_over_tasks(costed.compute_s))[0]
split = [s for s in prepared.decomposition.subgraphs if s.interior]

tiles = st.columns(5)
tiles[0].metric("Operators before", f"{len(contracted.graph.operators):,}")
tiles[1].metric("Tasks after", f"{len(contracted.tasks):,}")
tiles[2].metric("Steps", f"{len(contracted.steps):,}")
tiles[3].metric("Sub-graphs to place", f"{len(split):,}")
tiles[4].metric(
    "Longest chain",
    format_time(after_s),
    help=f"Before: {format_time(costed.critical_path_s)}. Contraction must not make it longer.",
)

play_tab, task_tab, table_tab, step_tab = st.tabs(["Step by step", "Tasks", "Sub-graphs", "All steps"])
with play_tab:
    data = contraction_view(loaded)
    if data is None:
        st.info(f"{len(contracted.graph.operators):,} operators are too many to play; see the tasks.")
    else:
        seen = dag_view("contraction", data)
        if seen.selected in contracted.task_of:
            task = contracted.tasks[contracted.index[contracted.task_of[seen.selected]]]
            st.markdown(
                f"**{plain(seen.selected)}** ends in the task **{plain(task.id)}** with "
                f"{len(task.operators)} operators: {plain(', '.join(task.operators[:12]))}"
                + ("…" if len(task.operators) > 12 else "")
            )
        else:
            st.caption("Play, step with the arrow keys, drag the slider. Click an operator to see its task.")
with task_tab:
    data = task_view(loaded)
    if data is None:
        st.info(f"{len(contracted.tasks):,} tasks are too many to draw; see the tables.")
    else:
        seen = dag_view("tasks", data)
        if seen.selected in contracted.index:
            task = contracted.tasks[contracted.index[seen.selected]]
            st.markdown(f"**{plain(task.id)}**: {plain(', '.join(task.operators[:40]))}")
with table_tab:
    if split:
        subgraphs_with_counts(state, loaded, device)
    else:
        st.info(
            "No sub-graph has anything to place: the tasks form a chain, so the query stays on one server."
        )
with step_tab:
    st.dataframe(step_table(contracted), hide_index=True, height=480, key="steps")
