"""Everything that a training run leaves, as files."""

from __future__ import annotations

import json

import streamlit as st

from nona.report.simulations.timeline.chrome_trace import trace_text
from nona.report.training.perfetto import stays_trace
from nona.results.training.outcome import TrainingOutcome
from nona.ui.pages.simulation.downloads import JSON, Download, download_row, file_stem, yaml_download
from nona.ui.session.state import AppState


def training_downloads(state: AppState, data: TrainingOutcome) -> None:
    """The block of downloads of the run that is shown."""
    name = file_stem(data.report.setting.name)
    with st.container(border=True, key="training-downloads"):
        st.markdown("**Downloads of this run**")
        download_row(
            "To read and to share",
            [
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
                yaml_download(state.dump(), name),
            ],
        )
