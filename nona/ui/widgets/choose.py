"""A choice among several that is kept over pages and reloads."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st


def choose_one(label: str, options: Sequence[str], key: str, hint: str) -> str:
    """The chosen one of ``options``; the first if the kept one is gone. ``key`` is one that is kept."""
    if options and st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    chosen = st.selectbox(label, options, key=key, persist_state="session", help=hint)
    return str(chosen) if chosen in options else options[0]
