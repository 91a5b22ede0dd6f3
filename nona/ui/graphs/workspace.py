"""A graph with a panel beside it: the graph down to the end of the window, the panel as high as the graph."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

# The panel scrolls by itself: it takes its height from the graph beside it, below which it stands on a
# narrow screen. The page gives up some of its margins.
STYLE = """<style>
@media (min-width: 768px) {
  .stMainBlockContainer:has(.st-key-model-bar) { padding-left: 2rem; padding-right: 2rem }
  .stColumn:has([class*="st-key-beside-"]) { position: relative }
  [class*="st-key-beside-"] { position: absolute; inset: 0; overflow-y: auto; padding-right: .4rem }
}
[class*="st-key-beside-"] [data-testid=stMarkdownContainer] { font-size: .9rem }
[class*="st-key-beside-"] [data-testid=stMetricValue] { font-size: 1.2rem }
</style>"""
WIDTHS = (13, 7)


def model_bar() -> DeltaGenerator:
    """The bar above a graph and its tables: what is shown, and what to do with it."""
    st.html(STYLE)
    return st.container(horizontal=True, vertical_alignment="center", gap="small", key="model-bar")


def workspace(key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The place of the graph, and the panel beside it."""
    graph, beside = st.columns(WIDTHS)
    return graph, beside.container(key=f"beside-{key}", gap="small")
