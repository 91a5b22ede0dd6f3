"""Guide: terms, formulas, what the simulator does, limits, sources, keys."""

import streamlit as st

from nona.report.guide import TERMS, matching, matching_terms, sections
from nona.report.scenario_keys import matching_keys
from nona.ui.pages.evidence_studies import remarks_explained, remarks_table
from nona.ui.session.workspace import current
from nona.ui.widgets import terms
from nona.ui.widgets.fields import plain
from nona.ui.widgets.terms import GUIDE_PARAMETER

MOST_KEYS = 12  # of a scenario, that are listed

current()
asked = st.query_params.get(GUIDE_PARAMETER)
term = st.query_params.get(terms.TERM_PARAMETER, "")
one = [s for s in sections() if s.name == (asked or (term in TERMS and "words"))]
left, right = st.columns([3, 2], vertical_alignment="bottom")
query = left.text_input(
    "Find in the guide",
    placeholder="for example: stranded, wait, warm-up",
    icon=":material/search:",
    key="guide-find",
    persist_state="session",
    help="Shows the terms, keys of scenarios and sections that contain all of these words.",
)
found = matching(query) if query else tuple(one) or sections()
if one and not query:
    right.page_link("pages/help.py", label="Show all sections", icon=":material/menu_book:")
else:
    right.caption(f"{len(found)} of {len(sections())} sections")

shown = matching_terms(query) if query else tuple(t for t in (term,) if t in TERMS)
keys = matching_keys(query)[:MOST_KEYS]
if shown or keys:
    with st.container(border=True, key="guide-terms"):
        for name in shown:
            st.markdown(f"**{plain(name)}**: {plain(TERMS[name])}.")
        for line in keys:
            st.markdown(line)

if not (found or shown or keys):
    st.info(
        "No term, no key of a scenario, nor a section contains all of these words. Try one or a shorter one.",
        icon=":material/search_off:",
    )
if len(found) > 2:
    st.markdown(" · ".join(f"[{s.title}](#{s.name})" for s in found))
for section in found:
    with st.container(border=True):
        st.subheader(section.title, anchor=section.name)
        st.markdown(section.text)
        if section.name == "schedulers":
            remarks_explained()
            remarks_table()
