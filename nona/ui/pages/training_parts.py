"""What the Training page shows of a run, whether of jobs in rounds or of elastic ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import streamlit as st

from nona.registry import Look
from nona.report.html.training import training_html
from nona.report.text import counted
from nona.report.training.figures import jct_figure, rho_figure
from nona.report.training.findings import Policies, cdf_title, hero_figure, rho_title, training_finding
from nona.results.elastic import ElasticHistory, ElasticReport
from nona.results.training import TrainingOutcome, TrainingReport
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import duration
from nona.ui.widgets.downloads import Download, Files, file_stem, reports
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import chart, hero

POLL_S = 0.3
ADVICE = "Fewer jobs, replications or policies take less time."
Outcome = TrainingOutcome | ElasticHistory


def answer(state: AppState, data: Outcome) -> None:
    """The finding, with its large number."""
    label, value, hint = hero_figure(data.report.policies)
    with hero("training-finding", label, value, hint):
        finding = training_finding(data.report)
        st.subheader(_unbroken(finding.lead), anchor=False)
        st.caption(_unbroken(finding.beside))
        st.caption(plain(data.about.stamp))


def _unbroken(text: str) -> str:
    return plain(text).replace(" %", "\N{NO-BREAK SPACE}%")


def files(data: Outcome, command: str, first_run: tuple[str, str], tables: Sequence[Download]) -> Files:
    """The files of a run; ``first_run``: name and content of the file of each policy's first run."""
    name, text = first_run
    whole = Download(
        f"{name} (JSON)",
        text,
        f"{file_stem(data.about.name)}_{name.lower()}.json",
        lambda: json.dumps(data.to_json()).encode(),
    )
    about, report = data.about, data.report
    page = reports(about, report, lambda: training_html(about, report), command)
    return {"To read and to share": [*page, whole], "Every job": tables}


def jct_chart(policies: Policies, look: Callable[[str], Look], key: str) -> None:
    """Draw the distribution of JCTs."""
    alt = "Share of the jobs that are complete within a time, one line for each policy"
    chart(jct_figure(policies, look), cdf_title(policies), key, alt)


def rho_chart(policies: Policies, look: Callable[[str], Look], key: str) -> None:
    """Draw the share of jobs that are slower than on an equal share of the cluster."""
    alt = "Share of the jobs with at most a ρ, one line for each policy; dashed at 1: an equal share"
    chart(rho_figure(policies, look), rho_title(policies), key, alt)


def checks(report: TrainingReport | ElasticReport, setting: str, after: str = "") -> None:
    """Say what was run, and which self-checks failed."""
    if report.failed_checks:
        st.error(f"Self-checks failed: {plain('; '.join(report.failed_checks))}.", icon=":material/error:")
    passed = f"{counted(sum(report.checks.values()), 'self-check')} of the records passed"
    st.caption(plain(f"{setting} Simulated in {duration(report.seconds)}; {passed}.{after}"))
