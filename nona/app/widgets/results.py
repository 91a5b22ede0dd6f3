"""Parts of a result: its finding, tiles, a chart with its finding, a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import plain, unbroken
from nona.core.figures import finished
from nona.core.tables import FilledTable, csv_bytes, parquet_bytes
from nona.core.text import Finding


def show_finding(key: str, finding: Finding, *notes: str) -> None:
    """Show the number of a finding large, beside it what it says; ``notes`` follow in small letters."""
    style = (
        f".st-key-{key} {{ row-gap: .25rem !important }}"  # beside each other they stand apart, below not
        f".st-key-{key} [data-testid=stMetricValue] {{ font-size: 2.5rem; line-height: 1.1 }}"
    )
    if finding.value:
        st.html(f"<style>{style}</style>")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=key):
        if finding.value:
            st.metric(finding.label, finding.value, width="content", help=finding.hint or None)
        with st.container(gap="xxsmall", width=WIDTH if finding.value else "stretch"):
            st.subheader(unbroken(finding.lead), anchor=False)
            if finding.beside:
                st.markdown(unbroken(finding.beside if finding.sentences else f"{finding.beside}."))
            for note in notes:
                st.caption(unbroken(note))


WIDTH = 640  # pixels of what stands beside the number: it moves below where the window has less room

NARROWEST = 128  # pixels; two of them with their gap fit on a screen of 400


def tiles(figures: Sequence[tuple[str, str, str]]) -> None:
    """Show (label, value, help) triples as metrics."""
    with st.grid(len(figures), min_column_width=NARROWEST, gap="small"):
        for label, value, hint in figures:
            st.metric(label, value, help=hint or None)


CONFIG: Mapping[str, Any] = MappingProxyType(
    {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
)


def picture(figure: go.Figure, key: str, alt: str, **options: Any) -> Any:
    """Show ``figure`` alone; ``alt`` says in words what is drawn.

    ``options`` go to :func:`streamlit.plotly_chart`, whose answer is returned: what was clicked, where
    ``on_select`` asks for it.
    """
    return st.plotly_chart(finished(figure), key=key, alt=alt, config=dict(CONFIG), **options)


def titled(figure: go.Figure, title: str, key: str, alt: str, **options: Any) -> Any:
    """Show ``figure`` under ``title``, the finding; ``alt`` and ``options`` as for :func:`picture`."""
    st.markdown(f"**{plain(title)}**")
    return picture(figure, key, f"{title.removesuffix('.')}. {alt}", **options)


def chart(figure: go.Figure, title: str, key: str, alt: str, **options: Any) -> Any:
    """Return the same in a frame of its own."""
    with st.container(border=True, key=f"chart-{key}"):
        return titled(figure, title, key, alt, **options)


def table(rows: FilledTable, key: str, alt: str, name: str = "", files: bool = True, **options: Any) -> Any:
    """Show ``rows`` with downloads as CSV and Parquet, which have all of its columns.

    ``alt`` says in words what the table holds; the files are called ``name``, by default ``key``; of a wide
    table only the columns that decide are shown until the others are asked for; ``options`` go to
    :func:`streamlit.dataframe`, whose answer is returned: what was selected, where ``on_select`` asks for it.
    Files are made when they are asked for; without ``files`` there are none, as for a table that still grows.
    """
    place = st.container()
    line: dict[str, Any] = {"horizontal": True, "horizontal_alignment": "right", "gap": "xsmall"}
    with st.container(vertical_alignment="center", key=f"files-{key}", **line):
        others = rows.without_columns(*rows.deciding).headings if rows.deciding else ()
        shown = rows.select(*rows.deciding) if others and not _every_column(key, others) else rows
        with place:
            options["column_config"] = _configured(shown) | dict(options.get("column_config") or {})
            options = {"hide_index": True, "placeholder": "–", **options}
            answer = st.dataframe(shown.to_pandas(), key=key, alt=alt, **options)
        if not files or not len(rows):
            return answer
        for kind, make in (("CSV", csv_bytes), ("Parquet", parquet_bytes)):
            file, hint = f"{name or key}.{kind.lower()}", f"This table as {kind}, all rows."
            download_button(
                kind, f"{kind.lower()}-{key}", partial(_made, make, rows), file, hint, type="tertiary"
            )
    return answer


def _configured(rows: FilledTable) -> dict[str, Any]:
    return {
        c.heading: st.column_config.Column(help=c.help or None, width=c.width)
        for c in rows.columns
        if c.help or c.width
    }


def _every_column(key: str, others: Sequence[str]) -> bool:
    """Draw the switch for the columns that do not decide; return whether it is on."""
    return bool(
        st.toggle(
            "All columns",
            key=f"all-columns-{key}",
            persist_state="session",
            help=f"Also: {', '.join(map(str, others))}.",
        )
    )


def _made(make: Callable[[pd.DataFrame], bytes], rows: FilledTable) -> bytes:
    return make(rows.numbers())
