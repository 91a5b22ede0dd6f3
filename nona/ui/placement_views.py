"""What the Placement page shows of a result: tiles, sentences, tables, configurations with pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.figures_models import provenance_text
from nona.report.figures_placement import configuration_figure, probabilities_figure
from nona.ui.state import AppState
from nona.units import format_time

Report = Mapping[str, Any]
SHOWN = 6


def certificate_tiles(report: Report) -> None:
    """Objective, the two gaps, utilisations and waits."""
    p, gap, anywhere = report["predicted"], report["gap"], report.get("global_gap")
    tiles = st.columns([10, 8, 12, 7, 8, 8])
    tiles[0].metric("Predicted mean JCT", format_time(report["objective_s"]), help="modelled, over the mix")
    tiles[1].metric(
        "Certified gap",
        "no bound" if gap is None else f"{gap:.1e}",
        help="(objective − lower bound) / objective, certified at this placement's server wait: with that "
        "wait, no placement can be better than by this share.",
    )
    tiles[2].metric(
        "Gap at any server wait",
        "no bound" if anywhere is None else f"{100 * anywhere:.2f} %",
        help="The same against a bound that holds whatever the servers' wait would be: no placement at all "
        "can be better than by this share. It is usually weaker.",
    )
    tiles[3].metric(
        "Link", _percent(p["network_utilization"]), help=f"mean wait {_time(p['network_wait_s'])}"
    )
    tiles[4].metric(
        "Executors", _percent(p["compute_utilization"]), help=f"mean wait {_time(p['server_wait_s'])}"
    )
    tiles[5].metric("Solved in", format_time(report["seconds"]), help=f"solver: {report['solver']}")


def verdict(data: Report) -> str:
    """What the solution says, in a sentence made from its numbers."""
    best = data["nona"]["objective_s"]
    parts = []
    for name in ("local", "spread"):
        other = data[name]
        value = other["predicted"]["jct_s"] if other else None
        if value is None:
            parts.append(f"{name} overloads a resource")
        elif abs(value - best) <= 1e-6 * best:
            parts.append(f"it equals {name}")
        else:
            parts.append(f"{abs(1 - best / value):.1%} {'below' if best < value else 'above'} {name}")
    share = split_share(data["nona"])
    return f"The predicted mean completion time is {format_time(best)}: {', and '.join(parts)}. " + (
        "Every sub-graph stays on one server."
        if share < 5e-4
        else f"Averaged over the sub-graphs that can be split, {share:.1%} of the probability lies on "
        "configurations that split."
    )


def split_share(report: Report) -> float:
    """Mean probability of splitting over the sub-graphs that have an interior."""
    shares = [
        sum(c["probability"] for c in s["configurations"] if not is_local(c))
        for m in report["models"].values()
        for s in m["subgraphs"]
        if has_interior(s)
    ]
    return sum(shares) / len(shares) if shares else 0.0


def is_local(configuration: Report) -> bool:
    """Whether everything stays on the root's server."""
    parts, root, sink = configuration["parts"], configuration["root_part"], configuration["sink_part"]
    return len(parts) <= (root == 0) and sink in (-1, root)


def has_interior(subgraph: Report) -> bool:
    """Whether there is anything to place between root and sink."""
    return any(part for c in subgraph["configurations"] for part in c["parts"])


def comparison_table(data: Report) -> pd.DataFrame:
    """The solved placement beside local and spread."""
    rows = []
    for name in ("nona", "local", "spread"):
        p = data[name]["predicted"] if data[name] else None
        jct = None if p is None else p["jct_s"]
        rows.append(
            {
                "placement": name,
                "mean JCT (modelled)": "overloaded" if jct is None else format_time(jct),
                "wait of a message": "–" if p is None else _time(p["network_wait_s"]),
                "wait of a visit": "–" if p is None else _time(p["server_wait_s"]),
                "link busy": "–" if p is None else _percent(p["network_utilization"]),
                "executors busy": "–" if p is None else _percent(p["compute_utilization"]),
            }
        )
    return pd.DataFrame(rows)


def price_statement(predicted: Report) -> str:
    """The price of congestion in words."""
    price = predicted["congestion_price_s_per_byte"]
    if price is None:
        return "The price of congestion has no value here: the link is at its limit."
    return (
        f"Price of congestion: one more megabyte on the link costs all queries together "
        f"{format_time(price * 1e6)} of waiting (modelled)."
    )


def model_table(models: Mapping[str, Report]) -> pd.DataFrame:
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
    name = left.selectbox("Model", names, key="placed-model", persist_state="session")
    subgraphs = [s for s in report["models"][name]["subgraphs"] if has_interior(s)]
    number = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        format_func=lambda i: _title(subgraphs[i], i),
        key=f"placed-subgraph-{name}",
        persist_state="session",
    )
    subgraph = subgraphs[number if number is not None else 0]
    ordered = sorted(subgraph["configurations"], key=lambda c: -c["probability"])
    st.plotly_chart(
        probabilities_figure(ordered[:SHOWN]), key="probabilities", alt="Probability of each configuration"
    )
    for i, c in enumerate(ordered[:SHOWN]):
        st.caption(
            f"Configuration {i + 1}: {100 * c['probability']:.3g} %{' (local)' if is_local(c) else ''}"
        )
        st.plotly_chart(
            configuration_figure(c, subgraph["root"], subgraph["sink"], ink()),
            key=f"configuration-{i}",
            config={"staticPlot": True},
            alt="Which tasks run on which server",
        )
    if len(ordered) > SHOWN:
        rest = sum(c["probability"] for c in ordered[SHOWN:])
        st.caption(f"{len(ordered) - SHOWN} more configurations share {100 * rest:.3g} %; see the download.")


def ink() -> str:
    """Colour of text inside pictures, for the theme that the reader sees."""
    return "#e8eaf6" if st.context.theme.type == "dark" else "#14172b"


def download_report(data: Report) -> None:
    """The whole result as JSON."""
    st.download_button(
        "Download JSON",
        data=lambda: json.dumps(data, indent=2),
        file_name="placement.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        key="download-placement",
    )


def _title(subgraph: Report, index: int) -> str:
    root, sink = subgraph["root"] or "(start)", subgraph["sink"] or "(end)"
    return f"{index + 1}: {root} → {sink}"


def _time(value: float | None) -> str:
    return "–" if value is None else format_time(value)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
