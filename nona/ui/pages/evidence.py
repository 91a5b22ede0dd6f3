"""The sources on the Evidence page; its other tabs are the studies'."""

from __future__ import annotations

import streamlit as st

from nona.report.guide import sections
from nona.ui.session.state import AppState


def sources_tab(state: AppState) -> None:
    for section in sections():
        if section.name in ("provenance", "sources"):
            st.subheader(section.title)
            st.markdown(section.text)
