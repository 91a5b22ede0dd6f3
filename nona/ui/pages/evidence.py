"""The sources on the Evidence page."""

from __future__ import annotations

import streamlit as st

from nona.report.guide import sections


def sources() -> None:
    """Where times, prices and systems come from."""
    for section in sections():
        if section.name in ("provenance", "sources"):
            st.subheader(section.title)
            st.markdown(section.text)
