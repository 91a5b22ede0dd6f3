"""Everything that a training run leaves, as files."""

from __future__ import annotations

import json

import streamlit as st

from nona.report.html.training import training_html
from nona.report.simulations.timeline.chrome_trace import trace_text
from nona.report.training.perfetto import stays_trace
from nona.results.training.outcome import TrainingOutcome
from nona.study.training.job_trace import has_trace, job_trace
from nona.ui.pages.simulation.downloads import HTML, JSON, Download, download_row, file_stem, yaml_download
from nona.ui.pages.training.run_area import KIND
from nona.ui.session.state import AppState


def training_downloads(state: AppState, data: TrainingOutcome) -> None:
    """The block of downloads of the run that is shown."""
    name = file_stem(data.about.name)
    with st.container(border=True, key="training-downloads"):
        st.markdown("**Downloads of this run**")
        download_row(
            "To read and to share",
            [
                Download(
                    "HTML report",
                    "One file without scripts, for reading and printing: findings, policies, the scenario.",
                    f"{name}_report.html",
                    HTML,
                    lambda: training_html(data.about, data.report).encode(),
                ),
                Download(
                    "Report (JSON)",
                    "All results with their intervals, as `nona training simulate --json` prints them.",
                    f"{name}_report.json",
                    JSON,
                    lambda: json.dumps(data.report.to_json(), indent=2).encode(),
                ),
                Download(
                    "Rounds (JSON)",
                    "The first run of each policy: who ran where in each round, priorities, shares.",
                    f"{name}_rounds.json",
                    JSON,
                    lambda: json.dumps(data.to_json()).encode(),
                ),
                Download(
                    "Trace (Perfetto)",
                    "Who had which GPU; open it in ui.perfetto.dev or chrome://tracing.",
                    f"{name}_trace.json",
                    JSON,
                    lambda: trace_text(stays_trace(data)).encode(),
                ),
                yaml_download(data.about.yaml, name),
                *_jobs(state, name),
            ],
        )


def _jobs(state: AppState, name: str) -> list[Download]:
    """The jobs, while the scenario's are those of the run."""
    spec = state.scenario.training
    if state.is_stale(KIND) or spec is None or not has_trace(spec):
        return []
    return [
        Download(
            "Jobs (trace)",
            "The training jobs of the first run in Gavel's format, which this page takes as well. Names, "
            "teams, notebooks, replicas and jobs with rates of their own are left out.",
            f"{name}.trace",
            "text/tab-separated-values",
            lambda: job_trace(state.scenario, state.uploads.sources).encode(),
        )
    ]
