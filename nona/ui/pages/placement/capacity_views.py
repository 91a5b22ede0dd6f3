"""How many servers keep the SLOs: the question, the answer, and how sure it is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.capacity.figure import capacity_figure
from nona.report.capacity.report import capacity_finding, capacity_rows
from nona.results.capacity import CapacityReport
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import job_panel
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "capacity"
HITS = {"90 %": 0.9, "95 %": 0.95, "98 %": 0.98, "99 %": 0.99, "99.5 %": 0.995, "99.9 %": 0.999}


def capacity_section(state: AppState) -> None:
    """Controls, progress and answer."""
    st.subheader("How many servers keep the SLOs?", anchor="capacity")
    if all(row.slo is None for row in state.scenario.workload):
        st.caption("No query has an SLO; give one on the Workload page.")
        return
    hit, group, simulated = _controls(state)
    fingerprint = f"{state.fingerprint(KIND)} {hit} {group} {simulated}"
    options = {"hit": HITS[hit], "group": group, "simulated": simulated}
    job_panel(state, KIND, "Find the fewest servers", options=options, fingerprint=fingerprint)
    held = state.held(KIND, CapacityReport)
    if held is not None and state.results[KIND].fingerprint == fingerprint:
        _answer(held)
    else:
        st.caption(
            "Solves the placement and predicts the missed SLOs for several numbers of servers, all else "
            "unchanged."
        )
    words = ["--hit", str(HITS[hit]), "--group", str(group), *(["--simulate"] if simulated else [])]
    equivalent(state, "capacity", *words, key=KIND)


def _controls(state: AppState) -> tuple[str, int, bool]:
    groups = state.scenario.cluster.servers
    left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
    hit = left.segmented_control(
        "SLOs to keep",
        list(HITS),
        default="99 %",
        required=True,
        key="capacity-hit",
        help="The share of jobs with an SLO that must be in time; classes are weighted by their rates.",
    )
    names = [f"{i + 1}: {g.gpu}" for i, g in enumerate(groups)]
    chosen = middle.selectbox(
        "Servers that grow",
        names,
        key="capacity-group",
        help="The server group to resize; the others stay unchanged.",
    )
    simulated = right.toggle(
        "Simulate it too",
        key="capacity-simulated",
        help="Also simulates the number that was found, and one server fewer.",
    )
    return str(hit or "99 %"), names.index(chosen) if chosen in names else 0, bool(simulated)


def _answer(report: CapacityReport) -> None:
    finding = capacity_finding(report)
    st.markdown(f"**{plain(finding)}**")
    picture(
        capacity_figure(report),
        key="capacity",
        alt=f"Predicted share of missed SLOs over the number of servers. {finding}",
    )
    table(pd.DataFrame(capacity_rows(report)), "capacity-table", "The fewest servers, and one fewer")
