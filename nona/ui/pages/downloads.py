"""Everything that a run leaves, as files: read or made on request."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from nona.report.files import csv_bytes, parquet_bytes
from nona.report.html.simulation import placement_html, simulation_html
from nona.report.simulations.report import SimulatedRun
from nona.report.simulations.tables import SUMMARY, figures
from nona.results.placement import SolvedPlacement
from nona.sources.lookup import safe_name
from nona.study.exports import JOBS_CSV, JOBS_PARQUET, TRACE
from nona.ui.session.state import AppState, Kept
from nona.ui.session.workspace import jobs
from nona.ui.widgets.results import PARQUET

RUN_FILES = (TRACE, JOBS_CSV, JOBS_PARQUET)
HTML, JSON, CSV, YAML = "text/html", "application/json", "text/csv", "application/yaml"


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download: its button's label, its content, name and kind, and its maker."""

    label: str
    help: str
    file: str
    mime: str
    make: Callable[[], bytes]


def run_downloads(state: AppState, run: Kept) -> None:
    """The block of downloads of a run."""
    data = run.data
    job, name = jobs().get(run.job_id), file_stem(data.about.name)
    folder = job.folder if job is not None and all_there(job.folder, RUN_FILES) else None
    with st.container(border=True, key="run-downloads"):
        st.markdown("**Downloads of this run**")
        download_row("To read and to share", _reports(data, name, folder))
        download_row("Results per scheduler and model", _summary(data, name))
        if folder is not None:
            download_row("Every measured job", _jobs(folder, name))
        else:
            first = "restore its scenario and " if state.is_stale("simulate") else ""
            st.caption(f"Its job tables and its trace are no longer kept; {first}run again to get them.")


def all_there(folder: Path, files: Sequence[str]) -> bool:
    """Return whether the files of a run are still in its folder, which a cleaner may have emptied."""
    return all((folder / file).is_file() for file in files)


def placement_downloads(state: AppState) -> None:
    """The block of downloads of the placement that is shown."""
    data = state.held("place", SolvedPlacement)
    if data is None:
        return
    name = file_stem(data.about.name)
    with st.container(border=True, key="place-downloads"):
        st.markdown("**Downloads of this placement**")
        download_row(
            "To read and to share",
            [
                Download(
                    "HTML report",
                    "One page with the certificate, the prediction and the configurations; opens anywhere.",
                    f"{name}_placement.html",
                    HTML,
                    lambda: placement_html(data).encode(),
                ),
                Download(
                    "Download JSON",
                    "Everything on this page, the working included.",
                    f"{name}_placement.json",
                    JSON,
                    lambda: json.dumps(data.to_json(), indent=2).encode(),
                ),
                yaml_download(data.about.yaml, name),
            ],
        )


def file_stem(scenario: str) -> str:
    """The prefix of the files: the name of the scenario as it was run."""
    return safe_name(scenario).replace(" ", "_")


def _reports(data: SimulatedRun, name: str, folder: Path | None) -> list[Download]:
    reports = [
        Download(
            "HTML report",
            "One page with the findings, tables and charts; needs no network and no script.",
            f"{name}_report.html",
            HTML,
            lambda: simulation_html(data).encode(),
        ),
        Download(
            "Report (JSON)",
            "All results with their intervals, as `nona simulate --json` prints them.",
            f"{name}_report.json",
            JSON,
            lambda: json.dumps(data.report.to_json(), indent=2).encode(),
        ),
    ]
    if folder is not None:
        reports.append(
            Download(
                "Trace (Perfetto)",
                "The first jobs on executors and links; open it in ui.perfetto.dev or chrome://tracing.",
                f"{name}_trace.json",
                JSON,
                (folder / TRACE).read_bytes,
            )
        )
    return [*reports, yaml_download(data.about.yaml, name)]


def yaml_download(text: str, name: str) -> Download:
    """The scenario of a result as YAML; ``name`` begins the name of the file."""
    return Download(
        "Scenario (YAML)",
        "The scenario of this result, as it was when the result was made.",
        f"{name}_as_run.yaml",
        YAML,
        text.encode,
    )


def _summary(data: SimulatedRun, name: str) -> list[Download]:
    hint = "Means, intervals, percentiles, parts and rates as plain numbers, in seconds."
    return [
        Download(
            "Summary (CSV)",
            hint,
            f"{name}_summary.csv",
            CSV,
            lambda: csv_bytes(_numbers(data)),
        ),
        Download(
            "Summary (Parquet)",
            hint,
            f"{name}_summary.parquet",
            PARQUET,
            lambda: parquet_bytes(_numbers(data)),
        ),
    ]


def _jobs(folder: Path, name: str) -> list[Download]:
    hint = "A row per recorded job: scheduler, replication, model, arrival, completion, JCT in seconds."
    return [
        Download("Jobs (CSV)", hint, f"{name}_jobs.csv", CSV, (folder / JOBS_CSV).read_bytes),
        Download("Jobs (Parquet)", hint, f"{name}_jobs.parquet", PARQUET, (folder / JOBS_PARQUET).read_bytes),
    ]


def download_row(title: str, files: list[Download]) -> None:
    """Buttons side by side under a title."""
    st.caption(title)
    with st.container(horizontal=True):
        for file in files:
            st.download_button(
                file.label,
                data=file.make,
                file_name=file.file,
                mime=file.mime,
                icon=":material/download:",
                help=file.help,
                on_click="ignore",
                key=f"download-{file.label}",
            )


def _numbers(data: SimulatedRun) -> pd.DataFrame:
    return figures(data.report.schedulers, models=True).select(*SUMMARY).numbers()
