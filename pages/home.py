"""Overview: why the network matters, questions to start from, demo scenarios, the pipeline and its state."""

import streamlit as st

from nona.sources.samples import shipped_scenario
from nona.ui.pages.demo import begin
from nona.ui.pages.home import (
    QUESTIONS,
    demos,
    flow,
    network_story,
    open_demo,
    open_example,
    pipeline,
    question_card,
)
from nona.ui.session.opening import new_scenario
from nona.ui.session.workspace import current
from nona.ui.widgets.fields import plain
from nona.ui.widgets.terms import term

state = current()
st.markdown(
    "#### Should an inference query be split over servers? That depends on the network.\nOne query of "
    "four tasks; tasks 2 and 3 could run in parallel, but task 2's tensors are large. Load the link with "
    "other traffic and see when splitting stops paying."
)
network_story()
with st.container(horizontal=True, vertical_alignment="center"):
    st.button(
        "Start the demo",
        icon=":material/slideshow:",
        type="primary",
        help=f"{len(QUESTIONS)} questions, a few steps each, on the pages. Your scenario comes back then.",
        on_click=begin,
        args=(state,),
        key="start-demo",
    )
    st.button(
        "Open this example",
        icon=":material/rocket_launch:",
        help="Makes it the scenario, with the link's load as chosen above, and opens its placement.",
        on_click=open_example,
        args=(state, "pages/placement.py"),
    )
    st.caption(
        "Simulated on this machine, a query a second, 400 queries for every point of the curve. Bars on "
        f"the {term('link')}: its messages; grey lines: their waits for other messages. Split queries take "
        "longer than the formula says: a task that joins parts waits for the last of them; the formula adds "
        "mean waits."
    )

st.subheader("What do you want to find out?")
with st.grid(2, min_column_width=300):
    for number, question in enumerate(QUESTIONS):
        question_card(state, number, question)

names = demos()
st.subheader("Demo scenarios")
with st.container(border=True):
    chosen = st.selectbox(
        "Demo scenario",
        list(names),
        list(names).index("vision_language_8_servers"),
        format_func=names.__getitem__,
        key="demo",
        persist_state="session",
        help="Shipped with the app; each is one YAML file to read and to change.",
    )
    st.markdown(plain(shipped_scenario(chosen).description))
    with st.container(horizontal=True):
        st.button(
            "Open this scenario",
            type="primary",
            icon=":material/rocket_launch:",
            on_click=open_demo,
            key="open-demo",
            args=(state, "demo"),
        )
        st.button(
            "New scenario",
            icon=":material/note_add:",
            on_click=new_scenario,
            args=(state,),
            key="new-on-overview",
            help="Begin your own with a group of servers and no queries; Undo restores the present one.",
        )
    if state.choices.complaints.get("demo-error"):
        st.error(plain(state.choices.complaints["demo-error"]), icon=":material/error:")

st.subheader("The pipeline of this scenario")
st.caption(
    plain(state.scenario.description or "Each step hands its result to the next; click one to see it.")
)
flow(state, pipeline(state))
