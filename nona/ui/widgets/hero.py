"""The one large number of a page, with what is said of it beside it, or below where there is no room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def hero(key: str, label: str, value: str, hint: str = "") -> Iterator[None]:
    """Show ``value`` under ``label``; what is drawn inside stands beside it. Without a value: that alone."""
    style = (
        f".st-key-{key} {{ row-gap: .25rem !important }}"  # beside each other they stand apart, below not
        f".st-key-{key} [data-testid=stMetricValue] {{ font-size: 2.5rem; line-height: 1.1 }}"
    )
    if value:
        st.html(f"<style>{style}</style>")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=key):
        if value:
            st.metric(label, value, width="content", help=hint or None)
        with st.container(gap="xxsmall", width=WIDTH if value else "stretch"):
            yield


WIDTH = 640  # pixels of what stands beside the number: it moves below where the window has less room
