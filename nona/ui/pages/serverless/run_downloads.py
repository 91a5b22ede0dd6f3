"""Everything that a serverless run leaves, as files."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from nona.report.html.serverless import serverless_html
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.study.exports import CALLS_CSV, CALLS_PARQUET, TRACE
from nona.ui.pages.simulation.downloads import (
    CSV,
    HTML,
    JSON,
    Download,
    all_there,
    download_row,
    file_stem,
    yaml_download,
)
from nona.ui.session.state import AppState
from nona.ui.session.workspace import jobs
from nona.ui.widgets.tables import PARQUET

KIND = "serverless"
FILES = (TRACE, CALLS_CSV, CALLS_PARQUET)


def serverless_downloads(state: AppState, data: ServerlessOutcome) -> None:
    """The block of downloads of the run that is shown."""
    result = state.results.get(KIND)
    job = None if result is None else jobs().get(result.job_id)
    name = file_stem(data.about.name)
    folder = job.folder if job is not None and all_there(job.folder, FILES) else None
    with st.container(border=True, key="serverless-downloads"):
        st.markdown("**Downloads of this run**")
        download_row("To read and to share", _reports(data, name, folder))
        if folder is not None:
            download_row("Every measured call", _calls(folder, name))
        else:
            st.caption("Its call tables and its trace are no longer kept; run it again to get them.")


def _reports(data: ServerlessOutcome, name: str, folder: Path | None) -> list[Download]:
    found = [
        Download(
            "HTML report",
            "One page with the findings, tables and charts; needs no network and no script.",
            f"{name}_serverless.html",
            HTML,
            lambda: serverless_html(data).encode(),
        ),
        Download(
            "Report (JSON)",
            "All results with their intervals, as `nona serverless --json` prints them.",
            f"{name}_serverless.json",
            JSON,
            lambda: json.dumps(data.report.to_json(), indent=2).encode(),
        ),
    ]
    if folder is not None:
        found.append(
            Download(
                "Trace (Perfetto)",
                "The batches of the first calls on every node; open it in ui.perfetto.dev.",
                f"{name}_serverless_trace.json",
                JSON,
                (folder / TRACE).read_bytes,
            )
        )
    return [*found, yaml_download(data.about.yaml, name)]


def _calls(folder: Path, name: str) -> list[Download]:
    hint = "A row per measured call: policy, replication, application, arrival, latency, SLO, cost."
    return [
        Download("Calls (CSV)", hint, f"{name}_calls.csv", CSV, (folder / CALLS_CSV).read_bytes),
        Download(
            "Calls (Parquet)", hint, f"{name}_calls.parquet", PARQUET, (folder / CALLS_PARQUET).read_bytes
        ),
    ]
