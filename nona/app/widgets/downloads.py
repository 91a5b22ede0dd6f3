"""Files of a result in one menu, each made when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from nona.core.document import About, Document
from nona.core.tables import csv_bytes, parquet_bytes
from nona.scenario.lookup import safe_name

_MIMES = {
    ".html": "text/html",
    ".json": "application/json",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".yaml": "application/yaml",
    ".trace": "text/tab-separated-values",
    ".txt": "text/plain",
    ".zip": "application/zip",
}


def download_button(
    label: str,
    key: str,
    data: bytes | Callable[[], str | bytes],
    file: str,
    hint: str = "",
    icon: str = "download",
    **more: Any,
) -> None:
    """Draw a button for ``file``, whose ending says what it is; ``data`` is made when it is asked for."""
    st.download_button(
        label,
        data,
        file,
        _MIMES.get(Path(file).suffix.lower(), "application/octet-stream"),
        key,
        hint or None,
        on_click="ignore",
        icon=f":material/{icon}:",
        **more,
    )


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download: the label and help of its button, its name, its maker."""

    label: str
    help: str
    file: str
    make: Callable[[], bytes]


Files = Mapping[str, Sequence[Download]]
"""Title → the files under it."""


def file_stem(name: str) -> str:
    """Return the prefix of files: the name of a scenario or run, which is no path.

    >>> file_stem("chat 40/s")
    'chat_40-s'
    """
    return safe_name(name.replace("/", "-")).replace(" ", "_")


def reports(
    about: About, report: Document, html: Callable[[], str] | None, command: str, ending: str = "report"
) -> list[Download]:
    """Return the files that a result has: a page to read, where there is one, its JSON, its scenario."""
    name = file_stem(about.name)
    page = Download(
        "HTML report",
        "One HTML page with findings, tables and charts; it needs no network.",
        f"{name}_{ending}.html",
        lambda: html().encode() if html else b"",
    )
    return [
        *([page] if html else []),
        Download(
            "Report (JSON)",
            f"All results with their intervals, as `nona {command} --json` prints them.",
            f"{name}_{ending}.json",
            lambda: json.dumps(report.to_json(), indent=2).encode(),
        ),
        Download(
            "Scenario (YAML)",
            "The scenario with which this result was computed.",
            f"{name}_as_run.yaml",
            about.yaml.encode,
        ),
    ]


def frame_files(label: str, text: str, stem: str, frame: Callable[[], pd.DataFrame]) -> list[Download]:
    """Return a table as CSV and as Parquet."""
    return [
        Download(f"{label} (CSV)", text, f"{stem}.csv", lambda: csv_bytes(frame())),
        Download(f"{label} (Parquet)", text, f"{stem}.parquet", lambda: parquet_bytes(frame())),
    ]


def kept_files(folder: Path, stem: str, files: Mapping[str, tuple[str, str]]) -> list[Download]:
    """Files that a run left in its folder, by their names there: label and help of each.

    None where one is missing: a cleaner may have emptied the folder.
    """
    if not all((folder / file).is_file() for file in files):
        return []
    return [
        Download(label, text, f"{stem}_{file}", (folder / file).read_bytes)
        for file, (label, text) in files.items()
    ]


def download_menu(key: str, files: Files) -> None:
    """Draw a button that unfolds the files."""
    with st.popover("Downloads", icon=":material/download:", key=f"downloads-{key}"):
        for title, group in files.items():
            st.caption(title)
            for file in group:
                own = f"download-{key}-{file.label}"
                download_button(file.label, own, file.make, file.file, file.help, type="tertiary")
