"""What the Placement page shows of a result: tiles, sentences, tables, charts, configurations."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from nona.report.inputs.figures import provenance_text
from nona.report.placements.certificate_text import error_text, is_sampled, mean_of
from nona.report.placements.compared import hits_of, is_slo, order_finding
from nona.report.placements.figures.congestion import congestion_figure, congestion_rows
from nona.report.placements.figures.placement import comparison_figure, jct_split_figure
from nona.report.placements.parts import parts_of
from nona.report.placements.text import (
    congestion_finding,
    price_text,
    split_finding,
)
from nona.report.text import percent_text, time_text
from nona.results.about import ModelFacts
from nona.results.placement.congestion import CongestionCurve
from nona.results.placement.outcome import PlacementOutcome
from nona.results.placement.report import FullPlacementReport, PlacementReport
from nona.ui.pages.placement.configuration_list import configuration_list
from nona.ui.pages.placement.shares import LEAST, split_share
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import job_panel, stale_note
from nona.ui.widgets.charts import picture
from nona.ui.widgets.drawing.drawing import draw
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.units import format_time


def charts(data: PlacementOutcome) -> None:
    """The comparison with local and spread, and what the time is made of."""
    report = data.nona
    left, right = st.columns([2, 3])
    with left:
        finding = order_finding(data)
        st.markdown(f"**{plain(finding)}**")
        what = "SLO hits" if is_slo(report) else "mean JCT"
        picture(
            comparison_figure(data),
            key="comparison",
            alt=f"Predicted {what} of nona, local and spread by sampled jobs. {finding}",
        )
    with right:
        models = parts_of(report.models, report.response)
        finding = split_finding(models)
        st.markdown(f"**{plain(finding)}**")
        picture(
            jct_split_figure(models),
            key="split",
            alt=f"Predicted JCT of each model by its parts. {finding}",
        )
    with st.expander("The numbers of these charts, and the formula's", icon=":material/table:"):
        table(comparison_frame(data), "comparison-table", "The solved placement against local and spread")
        st.caption(
            "Compute, transfers and waits are those of the longest path by formula; joins and own work are "
            "what sampled jobs take beyond it."
        )


def comparison_frame(data: PlacementOutcome) -> pd.DataFrame:
    """The solved placement against local and spread: by sampled jobs, and by formula."""
    rows = []
    for name, report in (("nona", data.nona), ("local", data.local), ("spread", data.spread)):
        p = report.predicted if report else None
        hits = hits_of(report)
        rows.append(
            {
                "placement": name,
                "mean JCT": _mean(report),
                "SLO hits": "–" if hits is None else percent_text(hits),
                "mean JCT by formula": "overloaded" if p is None else time_text(p.jct_s),
                "wait of a message": "–" if p is None else time_text(p.network_wait_s),
                "wait of a visit": "–" if p is None else time_text(p.server_wait_s),
                "link busy": "–" if p is None else percent_text(p.network_utilization),
                "executors busy": "–" if p is None else percent_text(p.compute_utilization),
            }
        )
    return pd.DataFrame(rows)


def _mean(report: FullPlacementReport | None) -> str:
    if report is None or mean_of(report) is None:
        return "overloaded"
    return f"{time_text(mean_of(report))} {error_text(report)}".strip()


def congestion_section(state: AppState, data: PlacementOutcome) -> None:
    """The price of congestion: in words, and as predicted JCT over the link's background load."""
    st.subheader("The price of congestion")
    st.markdown(plain(price_text(data.nona.predicted)))
    job_panel(state, "congestion", "Predict by formula over the link's load")
    stale_note(state, "congestion")
    curve = state.held("congestion", CongestionCurve)
    if curve is None:
        st.caption("Solves the formula at a dozen loads, from the present one to saturation.")
        return
    finding = congestion_finding(curve)
    st.markdown(f"**{plain(finding)}**")
    if is_sampled(data.nona) and split_share(data.nona) < LEAST and curve.stops != curve.now:
        st.markdown(
            "By sampled jobs, which evaluate the placement above, it does not pay at the present load."
        )
    slos = {n: r.slo for n, r in zip(state.scenario.labels, state.scenario.workload, strict=True) if r.slo}
    picture(
        congestion_figure(curve, slos),
        key="congestion",
        alt=f"Mean JCT by formula over the link's background load. {finding}",
    )
    st.caption(
        "By formula alone, not by the sampled jobs that evaluate the placement above; nona is the "
        "formula's optimum at every load. Where paths cross many joins, splitting stops paying earlier: "
        "simulate."
    )
    with st.expander("The numbers of this chart"):
        table(
            pd.DataFrame(congestion_rows(curve)),
            "congestion-table",
            "Mean JCT by formula over the background load",
        )


def model_frame(models: Mapping[str, ModelFacts]) -> pd.DataFrame:
    """Parallelism of each model, and what it means."""
    return pd.DataFrame(
        [
            {
                "model": name,
                "one after the other": format_time(m.total_compute_s),
                "longest chain": format_time(m.critical_path_s),
                "parallelism": round(m.parallelism, 3),
                "most that splitting can save": f"{1 - 1 / m.parallelism:.1%}",
                "provenance": f"{m.device}, {provenance_text(m.provenance)}",
            }
            for name, m in models.items()
        ]
    )


def configurations_of(state: AppState, report: PlacementReport) -> None:
    """Pick a model and a sub-graph; see its configurations with their probabilities."""
    names = [n for n, m in report.models.items() if any(s.has_interior for s in m.subgraphs)]
    if not names:
        st.info("No model in the mix has a sub-graph that could be split: every query stays on one server.")
        return
    left, right = st.columns([1, 2])
    most = max(names, key=lambda n: max(s.split for s in report.models[n].subgraphs))
    name = left.selectbox(
        "Model",
        names,
        names.index(most),
        key="placed-model",
        persist_state="session",
        help="The model to show; the one split most often comes first.",
    )
    subgraphs = [s for s in report.models[name or names[0]].subgraphs if s.has_interior]
    number = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        max(range(len(subgraphs)), key=lambda i: subgraphs[i].split),
        format_func=lambda i: f"{i + 1}: {subgraphs[i].title} · {100 * subgraphs[i].split:.3g} % split",
        key=f"placed-subgraph-{name}",
        persist_state="session",
        help="From its root to its sink; the share is the probability of splitting it.",
    )
    draw("configurations", configuration_list(subgraphs[number if number is not None else 0]))
