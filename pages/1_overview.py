"""Overview: what the app answers, a demo scenario to start from, and the pipeline with its state."""

import streamlit as st

from nona.samples import scenario_names
from nona.ui.demos import demo_title, open_demo, pipeline
from nona.ui.widgets import plain
from nona.ui.workspace import current

state = current()
st.markdown(
    "Should an inference query be **split over servers** or kept on one, given that the link and the "
    "servers are shared? Pick a demo scenario, or build your own page by page. Every answer can be "
    "checked: the optimiser prints its gap, the prediction stands beside the simulation, the simulation "
    "carries confidence intervals."
)

names = scenario_names()
with st.container(border=True):
    chosen = st.selectbox(
        "Demo scenario",
        names,
        names.index("vision_language_8_servers") if "vision_language_8_servers" in names else 0,
        format_func=demo_title,
        key="demo",
        persist_state="session",
    )
    st.markdown(plain(demo_title(chosen, long=True)))
    st.button(
        "Open this scenario",
        type="primary",
        icon=":material/rocket_launch:",
        on_click=open_demo,
        args=(state, "demo"),
    )
    if state.choices.get("demo-error"):
        st.error(plain(state.choices["demo-error"]), icon=":material/error:")

st.subheader("The pipeline of this scenario")
if state.scenario.description:
    st.caption(plain(state.scenario.description))
stages = pipeline(state)
for row in (stages[:3], stages[3:]):
    for column, stage in zip(st.columns(3), row, strict=True):
        with column.container(border=True, height="stretch"):
            st.page_link(stage.page, label=f"**{stage.title}**", icon=stage.icon)
            st.markdown(plain(stage.value))
            st.caption(plain(stage.detail))
