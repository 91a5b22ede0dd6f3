"""Help: how to do things, terms, limits, keys, sources, formulas."""

import streamlit as st

from evidence.tabs import network_remarks
from nona.app.guide import TERMS, matching, matching_terms
from nona.app.pages.help import FIND, every_section, how_to_list, in_order, section_list, terms_and_keys
from nona.app.session.workspace import current
from nona.app.widgets.terms import GUIDE_PARAMETER, TERM_PARAMETER

state = current()
term = st.query_params.get(TERM_PARAMETER, "")
if FIND in st.query_params:
    st.session_state[FIND] = st.query_params.pop(FIND)
asked = st.query_params.get(GUIDE_PARAMETER, "words" if term in TERMS else "")
one = [section for section in every_section() if section.name == asked]
left, right = st.columns([3, 2], vertical_alignment="bottom")
query = left.text_input(
    "Find in Help",
    placeholder="for example: stranded, wait, warm-up",
    icon=":material/search:",
    key=FIND,
    persist_state="session",
    help="Shows the questions, terms, scenario keys and sections that contain these words.",
)
shown = in_order(matching(query)) if query else one or every_section()
if one and not query:
    right.page_link("pages/help.py", label="Show all of Help", icon=":material/menu_book:")
elif shown:
    right.caption(f"{len(shown)} of {len(every_section())} sections")
questions = 0 if one and not query else how_to_list(state, query)
names = matching_terms(query) if query else tuple(t for t in (term,) if t in TERMS)
if not (terms_and_keys(query, names) or questions or shown):
    st.info(
        "Nothing in Help contains all of these words. Try a single or a shorter word.",
        icon=":material/search_off:",
    )
section_list(shown, {"schedulers": network_remarks})
