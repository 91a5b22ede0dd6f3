"""What a plan leaves: a saved item, and files to read and to share."""

from __future__ import annotations

import json

import streamlit as st

from nona.report.html.plan import plan_html
from nona.results.plan import PlanOutcome
from nona.scenario.file import parse_scenario
from nona.sources.opening import Opened
from nona.store.plans import plan_item
from nona.ui.pages.saved.saving import ToSave, save_popover
from nona.ui.pages.simulation.downloads import (
    HTML,
    JSON,
    Download,
    download_row,
    file_stem,
    yaml_download,
)
from nona.ui.session.state import AppState


def plan_files(state: AppState, found: PlanOutcome) -> None:
    """Save it, or take it along; the table of options has its own files."""
    name, sources = file_stem(found.about.name), state.uploads.sources
    with st.container(border=True, key="plan-files"):
        st.markdown("**Keep this plan**")
        save_popover(
            state,
            ToSave(
                f"plan-{state.results['plan'].job_id}",
                "plan",
                found.about.name,
                lambda title, note: plan_item(
                    title, note, found, Opened(parse_scenario(found.about.yaml), sources)
                ),
            ),
        )
        download_row(
            "To read and to share",
            [
                Download(
                    "HTML report",
                    "One page with the answer, its charts and the evidence; needs no network and no script.",
                    f"{name}_plan.html",
                    HTML,
                    lambda: plan_html(found).encode(),
                ),
                Download(
                    "Plan (JSON)",
                    "All options with their verdicts, as `nona plan --json` prints them.",
                    f"{name}_plan.json",
                    JSON,
                    lambda: json.dumps(found.report.to_json(), indent=2).encode(),
                ),
                yaml_download(found.about.yaml, name),
            ],
        )
