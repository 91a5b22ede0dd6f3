"""A chart as every page shows one: the figure, with its finding above it as a title that wraps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from nona.report.figures.style import finished
from nona.ui.widgets.fields import plain

CONFIG: Mapping[str, Any] = MappingProxyType(
    {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
)


def picture(figure: go.Figure, key: str, alt: str, **options: Any) -> Any:
    """Show ``figure`` alone; ``alt`` says in words what is drawn.

    ``options`` go to :func:`streamlit.plotly_chart`, whose answer is returned: what was clicked, where
    ``on_select`` asks for it.
    """
    return st.plotly_chart(finished(figure), key=key, alt=alt, config=dict(CONFIG), **options)


def chart(figure: go.Figure, title: str, key: str, alt: str, **options: Any) -> Any:
    """Show ``figure`` under ``title``, the finding; ``alt`` and ``options`` as for :func:`picture`."""
    with st.container(border=True, key=f"chart-{key}"):
        st.markdown(f"**{plain(title)}**")
        return picture(figure, key, f"{title}. {alt}", **options)
