"""The first tab: every policy in a table, the distribution of JCT, the cluster over time, the checks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.text import counted, share_text
from nona.report.training.elastic.figures import MEASURES, jct_figure, time_figure
from nona.report.training.elastic.finding import cdf_title, measure_title
from nona.report.training.elastic.rows import DECIDING, policy_rows
from nona.report.training.elastic.text import setting_text
from nona.results.training.elastic_history import ElasticHistory
from nona.ui.session.state import AppState
from nona.ui.shell.progress import duration
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.terms import term


def policies_tab(state: AppState, data: ElasticHistory) -> None:
    """Which policy is fastest, and what the cluster does over time under each."""
    report = data.report
    frame = pd.DataFrame(policy_rows(report.policies))
    alt = "Every policy: JCT with its interval, waiting, GPUs of a job, efficiency, fairness"
    wide = {"policy": st.column_config.TextColumn(width=130)}
    shown = [name for name in DECIDING if name in frame]
    table(frame, "elastic-policies", alt, deciding=shown, column_config=wide)
    st.caption(
        "±: 95 % interval over runs with other random numbers; policies that draw none have one run. "
        "GPUs of a job: mean while it has some. Efficiency: "
        f"{term('statistical efficiency')}, mean over GPU time. What differs between workloads is on "
        "*Validation*, tab *Training*."
    )
    chart(
        jct_figure(report.policies),
        cdf_title(report.policies),
        "elastic-cdf",
        "Share of the jobs that are complete within a time, one line for each policy",
    )
    hint = "What to show of the cluster."
    measure = choose_one("Over time", list(MEASURES), "training-shown-elastic-measure", hint)
    unit, values = MEASURES[measure]
    means = {name: sum(values(trace)) / len(trace.time_s) for name, trace in data.traces.items()}
    chart(
        time_figure(data.traces, measure),
        measure_title(measure, unit, means),
        "elastic-time",
        f"{measure} ({unit}) over the hours of the run, one line for each policy",
    )
    if measure == "Goodput":
        st.caption(f"{term('goodput')}: progress, not samples. Each job's whole progress counts 1.")
    if part := report.setting.interference:
        st.caption(f"{term('interference')}: {plain(share_text(part))} of the speed.")
    _checks(data)


def _checks(data: ElasticHistory) -> None:
    report = data.report
    if report.failed_checks:
        st.error(f"Self-checks failed: {plain('; '.join(report.failed_checks))}.", icon=":material/error:")
    held = f"{counted(sum(report.checks.values()), 'self-check')} of the records passed"
    st.caption(plain(f"{setting_text(report.setting)} Simulated in {duration(report.seconds)}; {held}."))
