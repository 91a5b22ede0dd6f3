"""The tabs of the Validation page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from nona.cost.validation.latencies import validation_report
from nona.cost.validation.text import WEAK_POINTS, reading
from nona.report.checks.figures import validation_figure
from nona.ui.pages.validation.check_views import check_section
from nona.ui.pages.validation.decisions_views import decisions_section
from nona.ui.pages.validation.network_views import network_views_section
from nona.ui.pages.validation.paper_views import paper_section
from nona.ui.pages.validation.prediction_views import prediction_section
from nona.ui.pages.validation.theory_views import theory_section
from nona.ui.pages.validation.training_views import training_section
from nona.ui.pages.validation.views import (
    FORMATS,
    latency_table,
    slice_table,
    summary_table,
    validation_finding,
    validation_tiles,
)
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def _times(state: AppState) -> None:
    st.caption(
        "Modelled times come from a formula whose constants were read off profiles of single operators. "
        "Here they are compared with published latencies of whole networks; nothing is fitted to the "
        "counted ones. Batch 1."
    )
    report = validation_report()
    validation_tiles(report.overall)
    st.markdown(reading())
    left, right = st.columns([3, 2])
    with left:
        st.subheader("Predicted against published")
        st.markdown(f"**{plain(finding := validation_finding(report.overall))}**")
        picture(
            validation_figure(report.rows),
            key="validation",
            alt=f"Predicted over published latency, logarithmic, with the line of equality. {finding}",
        )
    with right:
        st.subheader("Where it is weak")
        st.markdown(WEAK_POINTS)
    st.subheader("Every latency, with its source")
    table(
        latency_table(report),
        "latencies",
        "Every published latency against the predicted one, with its source",
        "validation",
        column_config=FORMATS,
        height=480,
    )
    st.caption(
        "counted: in the figures on top. in-sample: a constant was read off this very row, so it proves "
        "little. shown: not comparable, for the reason in its note."
    )
    st.subheader("By group")
    table(summary_table(report), "groups", "How well each group is predicted", column_config=FORMATS)
    st.subheader("MIG slices")
    st.caption("How many times slower a slice is than its whole device.")
    table(slice_table(report), "slices", "Slowdown of slices, published and predicted", column_config=FORMATS)


def _prediction(state: AppState) -> None:
    st.subheader("Prediction against simulation")
    st.markdown(
        "Shipped scenarios, generated networks and arrivals in bursts, from all local to all spread, "
        "servers and link loaded up to 85 %, predicted and simulated. For your own scenario the results "
        "table of the Simulation page has the column *predicted* beside the simulated mean."
    )
    prediction_section()
    st.page_link("pages/7_simulation.py", label="Go to the Simulation page", icon=":material/timeline:")


def _decisions(state: AppState) -> None:
    st.subheader("Decisions, simulated")
    st.markdown(
        "Does the placement win in simulation? All samples, and generated networks that were not used to "
        "build the solver, over link speeds, link background and load."
    )
    decisions_section()


def _theory(state: AppState) -> None:
    st.subheader("Theory against simulation")
    st.markdown(
        "Completion times come from a simulator. Here it runs systems with a mean completion time known "
        "from queueing theory: single queues, priorities, networks of queues, fork-join, the power of "
        "choices, the link in both disciplines. Each interval should contain the theoretical mean, and be "
        "narrow enough to exclude neighbouring theories."
    )
    theory_section(state)


def _checks(state: AppState) -> None:
    st.subheader("Self-checks")
    st.markdown(
        "Checks on this machine of what must hold on any: the two engines agree bit for bit, nothing is "
        "lost, the same seed gives the same bytes, a placement respects its bound."
    )
    check_section(state)


def _paper(state: AppState) -> None:
    st.subheader("The paper's evaluation, repeated")
    paper_section(state)


def _network_views(state: AppState) -> None:
    st.subheader("Network views: who sees the network?")
    network_views_section()


def _training(state: AppState) -> None:
    st.subheader("Training policies, beside what Gavel's paper states")
    training_section()


TABS: Mapping[str, Callable[[AppState], None]] = {
    "Modelled times": _times,
    "Prediction": _prediction,
    "Decisions": _decisions,
    "Theory": _theory,
    "Self-checks": _checks,
    "The paper": _paper,
    "Network views": _network_views,
    "Training": _training,
}
