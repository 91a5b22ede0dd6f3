"""Contraction: operators become tasks, step by step, and the tasks fall into sub-graphs."""

from functools import partial

import streamlit as st

from nona.errors import NonaError
from nona.ui.models.graph_views import contraction_player, model_bar, task_graph
from nona.ui.pages.contraction import (
    headline,
    idle_of,
    link_words,
    pick_rule,
    shown_steps,
    stays_together,
    subgraphs_with_counts,
)
from nona.ui.pages.models import loaded_model, pick_model, step_table
from nona.ui.pages.models_times import measured_times, pick_times
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import table

state = current()
with model_bar():
    pick_model(state)
    pick_rule(state)
    device, times = pick_times(state)
    st.page_link("pages/6_placement.py", label="Go on to Placement", icon=":material/hub:")
loaded = loaded_model(state, device)
with times:
    measured_times(state, device)
if loaded is None:
    st.stop()
try:
    spans = idle_of(state, loaded)
except NonaError as error:
    st.error(plain(str(error)), icon=":material/error:")
    st.stop()
glued = shown_steps(state, loaded)
contracted = glued.contracted if glued else loaded.prepared.contracted
about = partial(headline, state, loaded, spans)
names = ["Step by step", "After: tasks", "Left to distribute", "Stays together", "All steps"]
play_tab, task_tab, left_tab, glue_tab, step_tab = st.tabs(names, key="contraction-tabs", on_change="rerun")
if play_tab.open:
    with play_tab:
        contraction_player(state, loaded, about, glued)
if task_tab.open:
    with task_tab:
        task_graph(state, loaded, about)
if left_tab.open:
    with left_tab:
        about()
        if spans:
            subgraphs_with_counts(state, loaded, device, spans)
        else:
            st.info(
                "Nothing is left to distribute: the tasks form a chain, so a query stays on one server. A "
                "cluster then serves more queries in parallel, not faster ones.",
                icon=":material/linear_scale:",
            )
if glue_tab.open:
    with glue_tab:
        stays_together(state, loaded)
if step_tab.open:
    with step_tab:
        table(step_table(contracted), "steps", "Every contraction step and why it is allowed", height=480)
words = ("--rule", state.scenario.contraction, *link_words(state))
equivalent(state, "contract", state.model, *words, key="contract", scenario=False)
