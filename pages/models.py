"""Models: pick or drop one; its graph, its contraction, its tasks, where they run, what splitting gains."""

import streamlit as st

from nona.app.layout.equivalents import equivalent
from nona.app.models.graph_views import model_bar
from nona.app.pages.models import views as models_views
from nona.app.pages.models.gain import pick_rule
from nona.app.pages.models.page import change_sizes, loaded_model, pick_model
from nona.app.pages.models.times import given_section, measured_times, pick_precision, pick_times
from nona.app.pages.scenario.edits import add_model, ask_before_adding
from nona.app.session.workspace import current

state = current()
with model_bar():
    pick_model(state)
    pick_rule(state)
    device, times = pick_times(state)
    st.button(
        "Add to the workload",
        icon=":material/add:",
        on_click=add_model,
        args=(state, state.model),
        help="Adds this model to the scenario's workload, at ten queries per second.",
    )
ask_before_adding(state)
loaded = loaded_model(state, device)  # first, so that a page that waits says so in the open
with times:
    measured_times(state, device)
    given_section(state, device)
if loaded is None:
    st.stop()
change_sizes(state)
with st.container(horizontal=True, vertical_alignment="center", key="model-views"):
    view = models_views.pick_view()
    other = models_views.pick_beside(state, view)
if other is None:
    models_views.show_view(state, loaded, device, view)
else:
    models_views.show_both(state, loaded, other, device, view)
with st.container(horizontal=True, vertical_alignment="center"):
    st.page_link("pages/placement.py", label="Go on to Placement", icon=":material/hub:")
    pick_precision(state)
    models_views.graph_download(loaded)
    equivalent(state, "inspect", state.model, "--device", device, key="inspect", scenario=False)
    words = ("--rule", state.scenario.contraction)
    equivalent(
        state,
        "contract",
        state.model,
        *words,
        key="contract",
        scenario=False,
        label="Contract it there",
    )
