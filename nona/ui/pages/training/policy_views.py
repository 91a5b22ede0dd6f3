"""The first tab: cost against JCT, the distribution of JCT, every policy in a table, the checks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.text import counted
from nona.report.training.figures.policies import jct_cdf_figure, pareto_figure
from nona.report.training.rows import deciding, disturbance_rows, policy_rows
from nona.report.training.titles import cdf_title, pareto_title
from nona.results.training.outcome import TrainingOutcome
from nona.results.training.report import TrainingReport
from nona.ui.session.state import AppState
from nona.ui.shell.progress import duration
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def policies_tab(state: AppState, data: TrainingOutcome) -> None:
    """Which policy is fastest, and at what cost."""
    report = data.report
    for name, p in report.policies.items():
        if p.warnings:
            more = f" {counted(len(p.warnings) - 1, 'more warning')} in the report (JSON)."
            told = f"{name}: {p.warnings[0]}{more if len(p.warnings) > 1 else ''}"
            st.warning(plain(told), icon=":material/warning:")
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
    wide = {"policy": st.column_config.TextColumn(width=190)}
    table(frame, "training-policies", alt, deciding=deciding(report.policies), column_config=wide)
    lost = disturbance_rows(report.policies)
    if lost:
        st.markdown("**What failures, checkpoints and moves took**")
        table(pd.DataFrame(lost), "training-disturbances", "Failures and the time they, and moves, took")
        st.caption("Of the first run; times are summed over all jobs.")
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
    measured = "" if last - first + 1 == setting.jobs else f", of which jobs {first} to {last} are measured"
    kinds = {j.kind for p in report.policies.values() for j in p.jobs}
    only = " JCT and ρ are those of the training jobs alone." if len(kinds) > 1 else ""
    st.caption(
        f"{runs} of {counted(setting.jobs, 'job')} under each policy{measured}, simulated in "
        f"{duration(report.seconds)}{held}.{only}"
    )
