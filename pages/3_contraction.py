"""Contraction: operators become tasks, step by step, and the tasks fall into sub-graphs."""

import streamlit as st

from nona.contraction.rules import COST_AWARE, RULES, rule_choices
from nona.placement.coarsening.steps import CONDITION, base_rule
from nona.ui.graphs.tabs import contraction_player, task_graph
from nona.ui.pages.models.coarsening_views import link_words, shown_steps, stays_together
from nona.ui.pages.models.count_views import subgraphs_with_counts
from nona.ui.pages.models.picker import loaded_model, pick_device, pick_model
from nona.ui.pages.models.splitting import headline
from nona.ui.pages.models.views import step_table
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.fields import choice
from nona.ui.widgets.tables import table

state = current()
columns = st.columns(3)
with columns[0]:
    pick_model(state)
with columns[1]:
    choice(state, "Rule", ("contraction",), rule_choices(), "When two operators may become one task.")
with columns[2]:
    device = pick_device(state)
rule = RULES[base_rule(state.scenario.contraction)]
st.caption(f"An edge {rule.condition}")
if state.scenario.contraction == COST_AWARE:
    st.caption(f"Then, for this cluster's link: an edge {CONDITION}")

loaded = loaded_model(state, device)
if loaded is None:
    st.stop()
spans = headline(state, loaded)
words = ("--rule", state.scenario.contraction, *link_words(state))
equivalent(state, "contract", state.model, *words, key="contract", scenario=False)

glued = shown_steps(state, loaded)
contracted = glued.contracted if glued else loaded.prepared.contracted
names = ["Step by step", "After: tasks", "Left to distribute", "Stays together", "All steps"]
play_tab, task_tab, left_tab, glue_tab, step_tab = st.tabs(names, key="contraction-tabs", on_change="rerun")
if play_tab.open:
    with play_tab:
        contraction_player(state, loaded, glued)
if task_tab.open:
    with task_tab:
        task_graph(state, loaded)
if left_tab.open:
    with left_tab:
        if spans:
            subgraphs_with_counts(state, loaded, device, spans)
        else:
            st.info(
                "Nothing is left to distribute: the tasks form a chain, so a query stays on one server. A "
                "cluster then serves more queries in parallel, not faster ones.",
                icon=":material/linear_scale:",
            )
            st.page_link("pages/6_placement.py", label="Go on to Placement", icon=":material/hub:")
if glue_tab.open:
    with glue_tab:
        stays_together(state, loaded)
if step_tab.open:
    with step_tab:
        table(step_table(contracted), "steps", "Every contraction step and why it is allowed", height=480)
