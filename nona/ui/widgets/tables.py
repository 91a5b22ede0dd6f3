"""A table as every page shows one: the rows, and both files of it below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.table_files import csv_bytes, parquet_bytes

PARQUET = "application/vnd.apache.parquet"


def table(
    frame: pd.DataFrame, key: str, alt: str, name: str = "", deciding: Sequence[str] = (), **options: Any
) -> Any:
    """Show ``frame`` with downloads as CSV and Parquet, which have all of its columns.

    ``alt`` says in words what the table holds; the files are called ``name``, by default ``key``; of a wide
    table only the ``deciding`` columns are shown until the others are asked for; ``options`` go to
    :func:`streamlit.dataframe`, whose answer is returned: what was selected, where ``on_select`` asks for it.
    Files are made when they are asked for.
    """
    place = st.container()
    with st.container(horizontal=True, horizontal_alignment="right", gap="xsmall", key=f"files-{key}"):
        every = not deciding or _every_column(key, [c for c in frame.columns if c not in deciding])
        with place:
            shown = frame if every else frame[list(deciding)]
            answer = st.dataframe(shown, hide_index=True, key=key, alt=alt, **options)
        if frame.empty:
            return answer
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
    return answer


def _every_column(key: str, others: Sequence[str]) -> bool:
    """Whether the columns that do not decide are shown too."""
    return bool(
        st.toggle(
            "All columns",
            key=f"all-columns-{key}",
            persist_state="session",
            help=f"Also: {', '.join(map(str, others))}.",
        )
    )


def _maker(make: Any, frame: pd.DataFrame) -> Any:
    return lambda: make(frame)
