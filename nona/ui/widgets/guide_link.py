"""A link from a page to the section of the Guide that explains it."""

from __future__ import annotations

import streamlit as st

from nona.report.guide import section_titles

PARAMETER = "section"


def guide_link(section: str, label: str) -> None:
    """Link to ``section`` of the Guide; raises ``KeyError`` for one that it does not have."""
    title = section_titles()[section]
    st.page_link(
        "pages/13_guide.py",
        label=label,
        icon=":material/help:",
        help=f"Opens the Guide at “{title}”.",
        query_params={PARAMETER: section},
    )
