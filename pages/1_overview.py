"""Overview: why the network matters, questions to start from, demo scenarios, the pipeline and its state."""

import streamlit as st

from nona.sources.samples import scenario_names
from nona.ui.pages.demo import begin
from nona.ui.pages.overview import (
    QUESTIONS,
    answer,
    demo_title,
    flow,
    network_story,
    open_demo,
    open_example,
    pipeline,
)
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
        args=(state, "pages/6_placement.py"),
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
        with st.container(border=True, height="stretch"):
            st.markdown(f"**{question.title}**")
            st.caption(question.about)
            with st.container(horizontal=True, gap="xsmall"):
                st.button(
                    question.action,
                    icon=question.icon,
                    key=f"question-{number}",
                    width="stretch",
                    on_click=answer,
                    args=(state, question),
                )
                st.button(
                    "Show me",
                    icon=":material/slideshow:",
                    key=f"show-{number}",
                    on_click=begin,
                    args=(state, number + 1),
                    help="The demo of this question, step by step.",
                )

names = scenario_names()
st.subheader("Demo scenarios")
with st.container(border=True):
    chosen = st.selectbox(
        "Demo scenario",
        names,
        names.index("vision_language_8_servers") if "vision_language_8_servers" in names else 0,
        format_func=demo_title,
        key="demo",
        persist_state="session",
        help="Shipped with the app; each is one YAML file to read and to change.",
    )
    st.markdown(plain(demo_title(chosen, long=True)))
    st.button(
        "Open this scenario",
        type="primary",
        icon=":material/rocket_launch:",
        on_click=open_demo,
        key="open-demo",
        args=(state, "demo"),
    )
    if state.choices.complaints.get("demo-error"):
        st.error(plain(state.choices.complaints["demo-error"]), icon=":material/error:")

st.subheader("The pipeline of this scenario")
st.caption(
    plain(state.scenario.description or "Each step hands its result to the next; click one to see it.")
)
flow(state, pipeline(state))
