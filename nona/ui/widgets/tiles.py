"""Figures side by side: as many in a row as fit, two on a telephone, none cut off."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

NARROWEST = 128  # pixels; two of them with their gap fit on a screen of 400


def tiles(figures: Sequence[tuple[str, str, str]]) -> None:
    """Show (label, value, help) triples as metrics."""
    with st.grid(len(figures), min_column_width=NARROWEST, gap="small"):
        for label, value, hint in figures:
            st.metric(label, value, help=hint or None)
