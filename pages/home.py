"""Home: what the product does, why the network matters, where to begin."""

import streamlit as st

from nona.app.pages.demo import begin
from nona.app.pages.home import QUESTIONS, example_gallery, network_story, open_example, question_card, recent
from nona.app.session.workspace import current
from nona.app.widgets.fields import button, plain
from nona.app.widgets.terms import term

state = current()
with st.container(horizontal=True, vertical_alignment="center"):
    hint = "Questions, a few steps each, on the pages. Your scenario comes back then."
    button("Start the demo", "start-demo", begin, state, icon="slideshow", hint=hint, type="primary")
    st.caption("Your own: *File* in the side bar; files may also be dropped anywhere.", width="content")
st.markdown(
    "One query of four tasks; 2 and 3 could run in parallel. Load the link with other traffic, and see when "
    "splitting stops paying."
)
network_story()
with st.container(horizontal=True, vertical_alignment="center"):
    st.button(
        "Open this example",
        icon=":material/rocket_launch:",
        help="Makes it the scenario, with the link's load as chosen above, and opens its placement.",
        on_click=open_example,
        args=(state, "pages/placement.py"),
    )
    st.caption(
        f"A query a second. Bars on the {term('link')}: its messages; grey lines: their waits for other "
        "messages. Beside other traffic split queries take longer than the formula says: a task that joins "
        "parts waits for the last of them; the formula adds mean waits."
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
