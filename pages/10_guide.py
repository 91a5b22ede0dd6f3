"""Guide: terms, formulas, what the simulator does, limits, sources, keys."""

import streamlit as st

from nona.report.guide import matching, sections
from nona.ui.session.workspace import current
from nona.ui.widgets.guide_link import PARAMETER

current()
asked = st.query_params.get(PARAMETER)
one = [s for s in sections() if s.name == asked]
left, right = st.columns([3, 2], vertical_alignment="bottom")
query = left.text_input(
    "Find in the guide",
    placeholder="for example: stranded, wait, warm-up",
    icon=":material/search:",
    key="guide-find",
    persist_state="session",
    help="Shows the sections that contain all of these words.",
)
found = matching(query) if query else tuple(one) or sections()
if one and not query:
    right.page_link("pages/10_guide.py", label="Show all sections", icon=":material/menu_book:")
else:
    right.caption(f"{len(found)} of {len(sections())} sections")

if not found:
    st.info(
        "No section contains all of these words. Try one word, or a shorter one.",
        icon=":material/search_off:",
    )
if len(found) > 2:
    st.markdown(" · ".join(f"[{s.title}](#{s.name})" for s in found))
for section in found:
    with st.container(border=True):
        st.subheader(section.title, anchor=section.name)
        st.markdown(section.text)
