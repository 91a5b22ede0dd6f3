"""Home: what the product does, why the network matters, where to begin."""

import streamlit as st

from nona.app.pages.demo import begin
from nona.app.pages.home import QUESTIONS, example_gallery, network_story, open_example, question_card, recent
from nona.app.session.workspace import current
from nona.app.widgets.fields import button, plain
from nona.app.widgets.terms import term

state = current()
with st.container(horizontal=True, vertical_alignment="center"):
    hint = "Each question takes a few steps on the pages. Your scenario comes back afterwards."
    button("Start the demo", "start-demo", begin, state, icon="slideshow", hint=hint, type="primary")
    st.caption(
        "For your own cluster, open a scenario by *File* in the side bar, or drop its files anywhere.",
        width="content",
    )
st.markdown(
    "A query has four tasks; tasks 2 and 3 can run in parallel. Add other traffic to the link, and see when "
    "splitting stops paying off."
)
network_story()
with st.container(horizontal=True, vertical_alignment="center"):
    st.button(
        "Open this example",
        icon=":material/rocket_launch:",
        help="Opens this example with the link load chosen above, on page Placement. Undo brings your "
        "scenario back.",
        on_click=open_example,
        args=(state, "pages/placement.py"),
    )
    st.caption(
        f"One query arrives per second. Bars on the {term('link')} are its messages; grey lines are waits "
        "for other messages. With other traffic, split queries take longer than the formula says. A join "
        "waits for its slowest input, but the formula adds mean waits."
    )
recent(state)
st.subheader("Questions")
with st.grid(2, min_column_width=300):
    for number, question in enumerate(QUESTIONS):
        question_card(state, number, question)
st.subheader("Examples", anchor="examples")
if state.choices.complaints.get("demo-error"):
    st.error(plain(state.choices.complaints["demo-error"]), icon=":material/error:")
example_gallery(state)
