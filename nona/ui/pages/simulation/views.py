"""What the Simulation page shows of a result: tiles, table, trouble and what to do about it, checks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.inputs.figures import provenance_text
from nona.report.simulations.findings import shortest
from nona.report.simulations.remedies import advice
from nona.report.simulations.text import (
    percentile_text,
    precision_lines,
    warmup_lines,
    withheld_lines,
)
from nona.report.text import interval_text, percent_text, share_text
from nona.ui.pages.simulation.engine_views import engine_text
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tiles import tiles
from nona.units import format_time

Report = Mapping[str, Any]


def overload_warnings(found: Mapping[str, Report], state: AppState) -> None:
    """Schedulers without a steady state, or that ended with a backlog: why, and what to do about it."""
    cluster, background = state.scenario.cluster, state.scenario.background
    busy = {"compute": background.compute.utilization, "network": background.network.utilization}
    servers = sum(group.count for group in cluster.servers)
    over = [
        f"**{plain(name)} is overloaded**: {plain(s['state_reason'])} {plain(advice(name, s, busy, servers))}"
        for name, s in found.items()
        if s["state"] == "overloaded"
    ]
    if over:
        over.append(
            "Mean times of overloaded schedulers are not shown: there is no steady state to describe."
        )
        st.error("\n\n".join(over), icon=":material/trending_up:")
    late = [
        f"**{plain(name)} ended with a backlog**: {plain(s['state_reason'])}"
        for name, s in found.items()
        if s["state"] == "backlogged"
    ]
    if late:
        st.warning("\n\n".join(late), icon=":material/hourglass_bottom:")


def result_tiles(report: Report) -> None:
    """The figures of the scheduler with the lowest mean JCT."""
    found = report["schedulers"]
    best = shortest(found)
    if best is None:
        return
    s = found[best]
    p95 = s["jct_s"]["percentiles"]["p95"]
    failed = len(report["failed_checks"])
    st.caption(plain(f"{best}, the scheduler with the lowest mean JCT:"))
    tiles(
        [
            (
                "Mean JCT",
                format_time(s["jct_s"]["mean"]),
                f"{best}: {interval_text(s['jct_s'], format_time)}",
            ),
            ("95 % within", percentile_text(p95).split(" ±")[0], "95th percentile of its JCT."),
            (
                "SLO hits",
                percent_text(s["slo_hit_rate"]["mean"]),
                "Share of all arrived jobs that were done within their SLO.",
            ),
            ("Executors busy", percent_text(s["utilization"]["compute"]), "Background included."),
            ("Busiest link", percent_text(s["utilization"]["network"]), "Background included."),
            ("Self-checks", "passed" if not failed else f"{failed} FAILED", "See Checks and downloads."),
        ]
    )


def results_table(found: Mapping[str, Report], predicted: Mapping[str, float | None]) -> pd.DataFrame:
    """One row per scheduler, with what theory predicts where it can; intervals at 95 %."""
    return pd.DataFrame(
        [
            {
                "scheduler": name,
                "state": s["state"],
                "mean JCT": interval_text(s["jct_s"], format_time),
                "predicted": _prediction(name, predicted),
                "SLO hits": interval_text(s["slo_hit_rate"], partial(share_text, digits=2)),
                "executors": percent_text(s["utilization"]["compute"]),
                "link": percent_text(s["utilization"]["network"]),
                **{p: percentile_text(v) for p, v in s["jct_s"]["percentiles"].items()},
                "completed": s["jobs"]["completed"],
                "in flight": s["jobs"]["in_flight"],
            }
            for name, s in found.items()
        ]
    )


def _prediction(name: str, predicted: Mapping[str, float | None]) -> str:
    if name not in predicted:
        return "–"
    value = predicted[name]
    return "overloaded" if value is None else format_time(value)


def notes(data: Report) -> None:
    """Where the times come from, what the prediction assumes, what was withheld and why."""
    report = data["report"]
    kinds = {f"{m['device']}, {provenance_text(m['provenance'])}" for m in data["models"].values()}
    lines = [*warmup_lines(report["warmup"]), *precision_lines(report["precision"])]
    lines += withheld_lines(report["schedulers"])
    told = [
        f"{'; '.join(sorted(kinds))}. Predictions: queueing theory with Poisson arrivals. Intervals: 95 %, "
        "over replications.",
        *(f"{line[0].upper()}{line[1:]}." for line in lines),
    ]
    st.caption("  \n".join(plain(line) for line in told))


def checks_panel(report: Report) -> None:
    """What the runs checked on themselves."""
    passed, failed = sum(report["checks"].values()), report["failed_checks"]
    total = len(report["checks"])
    word = "all passed" if not failed else f"{total - passed} of {total} FAILED"
    st.markdown(f"**Self-checks of the runs: {word}**")
    for name, ok in report["checks"].items():
        icon = ":material/check_circle:" if ok else ":material/cancel:"
        st.markdown(f"{icon} {plain(name)}")
    for line in failed:
        st.error(plain(line))
    st.caption(plain(f"{engine_text(report)} {format_time(report['seconds'])} on the clock."))
