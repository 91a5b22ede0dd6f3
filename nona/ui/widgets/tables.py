"""A table as every page shows one: the rows, and both files of it below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.table_files import csv_bytes, parquet_bytes

PARQUET = "application/vnd.apache.parquet"


def table(
    frame: pd.DataFrame,
    key: str,
    alt: str,
    name: str = "",
    deciding: Sequence[str] = (),
    **options: Any,
) -> None:
    """Show ``frame`` with downloads as CSV and Parquet.

    ``alt`` says in words what the table holds; the files are called ``name``, by default ``key``;
    ``options`` go to :func:`streamlit.dataframe`. Files are made when they are asked for, with all
    columns. Where ``deciding`` columns are named, the others are shown on demand.
    """
    every = not deciding or st.session_state.get(f"every-{key}", False)
    st.dataframe(
        frame, hide_index=True, key=key, alt=alt, column_order=None if every else list(deciding), **options
    )
    if frame.empty:
        return
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key=f"files-{key}",
    ):
        if deciding:
            hint = f"Also {', '.join(str(c) for c in frame.columns if c not in deciding)}."
            st.toggle("All columns", key=f"every-{key}", persist_state="session", help=hint)
        for kind, make, mime in (("CSV", csv_bytes, "text/csv"), ("Parquet", parquet_bytes, PARQUET)):
            st.download_button(
                kind,
                data=_maker(make, frame),
                file_name=f"{name or key}.{kind.lower()}",
                mime=mime,
                icon=":material/download:",
                type="tertiary",
                help=f"This table as {kind}, all rows.",
                on_click="ignore",
                key=f"{kind.lower()}-{key}",
            )


def _maker(make: Any, frame: pd.DataFrame) -> Any:
    return lambda: make(frame)
