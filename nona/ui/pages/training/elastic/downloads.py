"""Everything that a run of elastic jobs leaves, as files."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from nona.report.html.training import elastic_html
from nona.report.table_files import csv_bytes, parquet_bytes
from nona.report.training.elastic.rows import course_rows, every_job
from nona.results.training.elastic_history import ElasticHistory
from nona.ui.pages.simulation.downloads import (
    CSV,
    HTML,
    JSON,
    Download,
    download_row,
    file_stem,
    yaml_download,
)
from nona.ui.session.state import AppState
from nona.ui.widgets.tables import PARQUET


def elastic_downloads(state: AppState, data: ElasticHistory) -> None:
    """The block of downloads of the run that is shown."""
    name = file_stem(data.about.name)
    jobs = (
        "A row for each job and policy of the first run: JCT, waiting, GPU-seconds, restarts, ρ, in seconds."
    )
    ticks = "A row for each job with GPUs at each tick: GPUs, batch size, goodput, statistical efficiency."
    with st.container(border=True, key="elastic-downloads"):
        st.markdown("**Downloads of this run**")
        download_row(
            "To read and to share",
            [
                Download(
                    "HTML report",
                    "One file without scripts, for reading and printing: findings, policies, the scenario.",
                    f"{name}_report.html",
                    HTML,
                    lambda: elastic_html(data.about, data.report).encode(),
                ),
                Download(
                    "Report (JSON)",
                    "All results with their intervals, as `nona training elastic --json` prints them.",
                    f"{name}_report.json",
                    JSON,
                    lambda: json.dumps(data.report.to_json(), indent=2).encode(),
                ),
                Download(
                    "Decisions (JSON)",
                    "The first run of each policy: who had which GPUs, and what the policy knew.",
                    f"{name}_decisions.json",
                    JSON,
                    lambda: json.dumps(data.to_json()).encode(),
                ),
                yaml_download(data.about.yaml, name),
            ],
        )
        download_row(
            "Every job",
            [
                Download("Jobs (CSV)", jobs, f"{name}_jobs.csv", CSV, lambda: csv_bytes(_jobs(data))),
                Download(
                    "Jobs (Parquet)",
                    jobs,
                    f"{name}_jobs.parquet",
                    PARQUET,
                    lambda: parquet_bytes(_jobs(data)),
                ),
                Download(
                    "Ticks (Parquet)",
                    ticks,
                    f"{name}_ticks.parquet",
                    PARQUET,
                    lambda: parquet_bytes(pd.DataFrame(course_rows(data))),
                ),
            ],
        )


def _jobs(data: ElasticHistory) -> pd.DataFrame:
    return pd.DataFrame(every_job(data))
