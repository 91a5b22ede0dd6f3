"""The first tab: cost against JCT, the distribution of JCT, every policy in a table, the checks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.text import counted
from nona.report.training.figures.policies import jct_cdf_figure, pareto_figure
from nona.report.training.rows import DECIDING, policy_rows
from nona.report.training.titles import cdf_title, pareto_title
from nona.results.training.outcome import TrainingOutcome
from nona.results.training.report import TrainingReport
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import duration
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def policies_tab(state: AppState, data: TrainingOutcome) -> None:
    """Which policy is fastest, and at what cost."""
    report = data.report
    for name, p in report.policies.items():
        for warning in p.warnings:
            st.warning(plain(f"{name}: {warning}"), icon=":material/warning:")
    chart(
        pareto_figure(report.policies),
        pareto_title(report.policies),
        "training-pareto",
        "Mean JCT against the cost of the run for each policy, with 95 % intervals. Down and to the left is "
        "better.",
    )
    chart(
        jct_cdf_figure(report.policies),
        cdf_title(report.policies),
        "training-cdf",
        "Share of the jobs that are complete within a time, one line for each policy",
    )
    frame = pd.DataFrame(policy_rows(report.policies))
    alt = "Every policy: JCT, makespan, fairness, utilisation, cost, preemptions, decisions"
    table(frame, "training-policies", alt, deciding=DECIDING)
    _checks(report)


def _checks(report: TrainingReport) -> None:
    setting = report.setting
    if report.failed_checks:
        st.error(f"Self-checks failed: {plain('; '.join(report.failed_checks))}.", icon=":material/error:")
    for note in setting.notes:
        st.caption(plain(note))
    first, last = setting.measured
    held = "" if report.failed_checks else f"; {len(report.checks)} self-checks of the records passed"
    runs = counted(setting.replications, "run")
    st.caption(
        f"{runs} of {counted(setting.jobs, 'job')} under each policy, of which jobs {first} to {last} are "
        f"measured, simulated in {duration(report.seconds)}{held}."
    )
