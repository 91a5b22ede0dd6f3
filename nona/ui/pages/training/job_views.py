"""Job by job: JCT, ρ, deadline, cost and moves of every job of the first run."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.training.rows import job_deciding, job_rows
from nona.results.training.outcome import TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.tables import table


def jobs_tab(state: AppState, data: TrainingOutcome) -> None:
    """A row for each job of the first replication under one policy."""
    policies = data.report.policies
    policy = choose_one("Policy", list(policies), "training-shown-jobs", "The policy to show.")
    jobs = policies[policy].jobs
    frame = pd.DataFrame(job_rows(jobs))
    alt = f"Every job of the first run under {policy}"
    table(frame, "training-jobs", alt, deciding=job_deciding(jobs), placeholder="–")
    st.caption(
        "Jobs of the first run. A job without JCT was not complete when the run ended; only training jobs "
        "have a ρ."
    )
