"""What the Training page shows of a run, whether of jobs in rounds or of elastic ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import streamlit as st

from nona.registry import Look
from nona.report.html.training import training_html
from nona.report.text import counted
from nona.report.training.figures import jct_figure, rho_figure
from nona.report.training.findings import Policies, cdf_title, finding, hero_figure, rho_title
from nona.results.elastic import ElasticHistory, ElasticReport
from nona.results.training import TrainingOutcome, TrainingReport
from nona.ui.jobs.registry import Job
from nona.ui.pages.downloads import HTML, JSON, Download, download_row, file_stem, yaml_download
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import (
    beat,
    current_job,
    duration,
    job_buttons,
    live_area,
    no_result_text,
    result_to_show,
)
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import chart, hero

POLL_S = 0.3
ADVICE = "Fewer jobs, replications or policies take less time."
D = TypeVar("D", TrainingOutcome, ElasticHistory)


def run_area(state: AppState, kind: str, of: type[D], live: Callable[[Job], None], before: str) -> D | None:
    """Buttons, the cluster live, then the finding; the result to show below. ``before``: what a run gives."""
    job_buttons(state, kind, "Run the policies")
    with st.container():
        data = result_to_show(state, kind, of)
    with st.container(key=f"{kind}-area"):
        every_s = beat(current_job(state, kind), POLL_S)
        st.fragment(_area, run_every=every_s)(state, kind, every_s, live, data, before)
    return data


def _area(
    state: AppState,
    kind: str,
    every_s: float | None,
    live: Callable[[Job], None],
    data: TrainingOutcome | ElasticHistory | None,
    before: str,
) -> None:
    if not live_area(state, kind, every_s, live, ADVICE):
        return
    if data is not None:
        label, value, hint = hero_figure(data.report.policies)
        with hero(f"{kind}-finding", label, value, hint):
            large, small = (plain(said).replace(" %", "\N{NO-BREAK SPACE}%") for said in finding(data.report))
            st.subheader(large, anchor=False)
            st.caption(small)
            st.caption(plain(data.about.stamp))
    elif current_job(state, kind) is None:
        st.caption(before)


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


def tabs(
    state: AppState,
    kind: str,
    data: D | None,
    of_run: Mapping[str, Callable[[AppState, D], None]],
    always: Mapping[str, Callable[[AppState, D | None], None]] = MappingProxyType({}),
) -> None:
    """Draw the open tab; those of ``always`` need no result."""
    names = [*of_run, *always]
    for tab, name in zip(st.tabs(names, on_change="rerun", key=f"{kind}-tabs"), names, strict=True):
        if tab.open:
            with tab:
                if name in always:
                    always[name](state, data)
                elif data is not None:
                    of_run[name](state, data)
                else:
                    st.caption(no_result_text(state, kind))


def downloads(
    state: AppState,
    kind: str,
    command: str,
    data: TrainingOutcome | ElasticHistory | None,
    first_run: tuple[str, str, str],
    more: Sequence[Download] = (),
    tables: Sequence[Download] = (),
) -> None:
    """The block of downloads of the run that is shown, and the command that does the same.

    ``first_run``: label, help and ending of the file that holds the first run of each policy.
    """
    if data is not None:
        name = file_stem(data.about.name)
        label, text, ending = first_run
        files = [
            Download(
                "HTML report",
                "One file without scripts, for reading and printing: findings, policies, the scenario.",
                f"{name}_report.html",
                HTML,
                lambda: training_html(data.about, data.report).encode(),
            ),
            Download(
                "Report (JSON)",
                f"All results with their intervals, as `nona {command} --json` prints them.",
                f"{name}_report.json",
                JSON,
                lambda: json.dumps(data.report.to_json(), indent=2).encode(),
            ),
            Download(label, text, f"{name}_{ending}.json", JSON, lambda: json.dumps(data.to_json()).encode()),
            *more,
            yaml_download(data.about.yaml, name),
        ]
        with st.container(border=True, key=f"{kind}-downloads"):
            st.markdown("**Downloads of this run**")
            download_row("To read and to share", files)
            if tables:
                download_row("Every job", [*tables])
    equivalent(state, command, key=kind)
