"""What the Placement page shows of a result: tiles, sentences, tables, charts, configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.figures.congestion import congestion_figure, congestion_rows
from nona.report.figures.models import provenance_text
from nona.report.figures.placement import comparison_figure, jct_split_figure
from nona.report.placements.text import (
    comparison_finding,
    congestion_finding,
    gap_words,
    plain_notes,
    price_text,
    split_finding,
)
from nona.report.text import percent_text, time_text
from nona.ui.jobs.panel import job_panel, result_of
from nona.ui.placement.configuration_list import configuration_list, is_local
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.drawing.drawing import draw
from nona.ui.widgets.fields import plain
from nona.ui.widgets.guide_link import guide_link
from nona.ui.widgets.tables import table
from nona.units import format_time

Report = Mapping[str, Any]


def certificate_tiles(report: Report) -> None:
    """Objective, the two gaps, utilisations and waits."""
    p, gap, anywhere = report["predicted"], report["gap"], report.get("global_gap")
    with st.grid(6, min_column_width=125):
        st.metric(
            "Predicted JCT",
            format_time(report["objective_s"]),
            help="Mean over the whole mix, waits included; modelled, not simulated.",
        )
        st.metric(
            "Certified gap",
            "no bound" if gap is None else f"{100 * gap:.2g} %",
            help="(objective − lower bound) / objective, certified at this placement's server wait: with "
            "that wait, no placement can be better than by this share.",
        )
        st.metric(
            "Gap anywhere",
            "no bound" if anywhere is None else f"{100 * anywhere:.2f} %",
            help="The same against a bound that holds whatever the servers' wait would be: no placement at "
            "all can be better than by this share. It is usually weaker.",
        )
        st.metric(
            "Link busy",
            percent_text(p["network_utilization"]),
            help=f"Background included; a message waits {time_text(p['network_wait_s'])} on average.",
        )
        st.metric(
            "Executors busy",
            percent_text(p["compute_utilization"]),
            help=f"Background included; a visit waits {time_text(p['server_wait_s'])} on average. Any "
            "placement has the same.",
        )
        st.metric("Solved in", format_time(report["seconds"]), help=f"Solver: {report['solver']}.")


def verdict(data: Report) -> str:
    """What the solution says, in a sentence made from its numbers."""
    share = split_share(data["nona"])
    finding = comparison_finding(data).removeprefix("nona: ")
    return (
        f"The predicted mean completion time is {format_time(data['nona']['objective_s'])}: {finding}. "
        + (
            "Every sub-graph stays on one server."
            if share < 5e-4
            else f"Averaged over the sub-graphs that can be split, {share:.1%} of the probability lies on "
            "configurations that split."
        )
    )


def split_share(report: Report) -> float:
    """Mean probability of splitting over the sub-graphs that have an interior."""
    shares = [_split(s) for m in report["models"].values() for s in m["subgraphs"] if has_interior(s)]
    return sum(shares) / len(shares) if shares else 0.0


def has_interior(subgraph: Report) -> bool:
    """Whether there is anything to place between root and sink."""
    return any(part for c in subgraph["configurations"] for part in c["parts"])


def certificate_notes(report: Report) -> None:
    """How far the certificate goes, in plain words, behind a line to open."""
    with st.expander("How far the certificate goes", icon=":material/verified:"):
        st.markdown(plain(gap_words(report["gap"], report.get("global_gap"))))
        for note in plain_notes(report["notes"]):
            st.markdown(f"- {plain(note)}")
        guide_link("certificate", "What a certificate is")


def charts(data: Report) -> None:
    """What the time is made of, and the comparison with local and spread."""
    report = data["nona"]
    left, right = st.columns([3, 2])
    with left:
        finding = split_finding(report["models"])
        st.markdown(f"**{plain(finding)}**")
        picture(
            jct_split_figure(report["models"]),
            key="split",
            alt=f"Predicted JCT of each model by its parts. {finding}",
        )
    with right:
        finding = comparison_finding(data)
        st.markdown(f"**{plain(finding)}**")
        picture(
            comparison_figure({"nona": report, "local": data["local"], "spread": data["spread"]}),
            key="comparison",
            alt=f"Predicted mean JCT of nona, local and spread. {finding}",
        )
    table(comparison_frame(data), "comparison-table", "The solved placement beside local and spread")


def comparison_frame(data: Report) -> pd.DataFrame:
    """The solved placement beside local and spread."""
    rows = []
    for name in ("nona", "local", "spread"):
        p = data[name]["predicted"] if data[name] else None
        jct = None if p is None else p["jct_s"]
        rows.append(
            {
                "placement": name,
                "mean JCT (modelled)": "overloaded" if jct is None else format_time(jct),
                "wait of a message": "–" if p is None else time_text(p["network_wait_s"]),
                "wait of a visit": "–" if p is None else time_text(p["server_wait_s"]),
                "link busy": "–" if p is None else percent_text(p["network_utilization"]),
                "executors busy": "–" if p is None else percent_text(p["compute_utilization"]),
            }
        )
    return pd.DataFrame(rows)


def congestion_section(state: AppState, data: Report) -> None:
    """The price of congestion: in words, and as predicted JCT over the link's background load."""
    st.subheader("The price of congestion")
    st.markdown(plain(price_text(data["nona"]["predicted"])))
    job_panel(state, "congestion", "Predict over the link's load", "prediction")
    curve = result_of(state, "congestion", "prediction")
    if curve is None:
        st.caption("Solves the placement at a dozen loads, from now to saturation: formula alone.")
        return
    finding = congestion_finding(curve)
    st.markdown(f"**{plain(finding)}**")
    slos = {n: r.slo for n, r in zip(state.scenario.labels, state.scenario.workload, strict=True) if r.slo}
    picture(
        congestion_figure(curve, slos),
        key="congestion",
        alt=f"Predicted mean JCT over the link's background load. {finding}",
    )
    st.caption(
        "Formula, not simulation; nona is solved anew at every load. Where the formula fails near "
        "saturation, simulate."
    )
    with st.expander("The numbers of this chart"):
        table(
            pd.DataFrame(congestion_rows(curve)), "congestion-table", "Predicted JCT over the background load"
        )


def model_frame(models: Mapping[str, Report]) -> pd.DataFrame:
    """Parallelism of each model, and what it means."""
    return pd.DataFrame(
        [
            {
                "model": name,
                "one after the other": format_time(m["total_compute_s"]),
                "longest chain": format_time(m["critical_path_s"]),
                "parallelism": round(m["parallelism"], 3),
                "most that splitting can save": f"{1 - 1 / m['parallelism']:.1%}",
                "provenance": f"{m['device']}, {provenance_text(m['provenance'])}",
            }
            for name, m in models.items()
        ]
    )


def configurations_of(state: AppState, report: Report) -> None:
    """Pick a model and a sub-graph; see its configurations with their probabilities."""
    names = [n for n, m in report["models"].items() if any(has_interior(s) for s in m["subgraphs"])]
    if not names:
        st.info("No model in the mix has a sub-graph that could be split: every query stays on one server.")
        return
    left, right = st.columns([1, 2])
    most = max(names, key=lambda n: max(_split(s) for s in report["models"][n]["subgraphs"]))
    name = left.selectbox(
        "Model",
        names,
        names.index(most),
        key="placed-model",
        persist_state="session",
        help="Whose sub-graphs to look at; first the one that is split most.",
    )
    subgraphs = [s for s in report["models"][name or names[0]]["subgraphs"] if has_interior(s)]
    number = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        max(range(len(subgraphs)), key=lambda i: _split(subgraphs[i])),
        format_func=lambda i: _title(subgraphs[i], i),
        key=f"placed-subgraph-{name}",
        persist_state="session",
        help="From its root to its sink; the share is the probability of splitting it.",
    )
    draw("configurations", configuration_list(subgraphs[number if number is not None else 0]))


def _title(subgraph: Report, index: int) -> str:
    root, sink = subgraph["root"] or "(start)", subgraph["sink"] or "(end)"
    return f"{index + 1}: {root} → {sink} · {100 * _split(subgraph):.3g} % split"


def _split(subgraph: Report) -> float:
    """Probability that the sub-graph does not stay on one server."""
    return float(sum(c["probability"] for c in subgraph["configurations"] if not is_local(c)))
