"""What the Simulation page shows of a result: table, trouble and what to do about it, checks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from nona.report.inputs.figures import provenance_text
from nona.report.simulations.finding.remedies import advice
from nona.report.simulations.report import python_decisions
from nona.report.simulations.simulated import SimulatedRun
from nona.report.simulations.tables.cells import Style, text_rows
from nona.report.simulations.tables.columns import RESULTS, columns
from nona.report.simulations.tables.rows import result_rows
from nona.report.simulations.text import (
    precision_lines,
    warmup_lines,
    withheld_lines,
)
from nona.report.text import share_text
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import Resources, Schedulers, SimulationReport
from nona.ui.pages.simulation.engine_views import engine_text
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.units import format_time

DECIDING = columns(
    "scheduler", "jct", "slo_hit_rate", "jct_p95", "utilization_compute", "utilization_network"
)
STYLE = Style(partial(share_text, digits=2), partial(share_text, digits=1), int)


def overload_warnings(found: Schedulers, of: AppState | SimulatedRun) -> None:
    """Schedulers without a steady state, or that ended with a backlog: why, and what to do about it.

    ``of`` has the scenario that was simulated.
    """
    cluster, background = of.scenario.cluster, of.scenario.background
    busy = Resources(compute=background.compute.utilization, network=background.network.utilization)
    servers = sum(group.count for group in cluster.servers)
    over = [
        f"**{plain(name)} is overloaded**: {plain(s.state_reason)} "
        f"{plain(advice(name, s.offered, busy, servers))}"
        for name, s in found.items()
        if s.overloaded
    ]
    if over:
        over.append(
            "Mean times of overloaded schedulers are not shown: there is no steady state to describe."
        )
        st.error("\n\n".join(over), icon=":material/trending_up:")
    late = [
        f"**{plain(name)} ended with a backlog**: {plain(s.state_reason)}"
        for name, s in found.items()
        if s.state == "backlogged"
    ]
    if late:
        st.warning("\n\n".join(late), icon=":material/hourglass_bottom:")


def results_table(found: Schedulers, predicted: Mapping[str, float | None]) -> pd.DataFrame:
    """One row per scheduler, with what theory predicts where it can; intervals at 95 %."""
    return pd.DataFrame(text_rows(result_rows(found, predicted), RESULTS, STYLE))


def notes(data: SimulationOutcome) -> None:
    """Where the times come from, what the prediction assumes, what was withheld and why."""
    report = data.report
    kinds: dict[str, list[str]] = {}
    for name, m in data.models.items():
        kinds.setdefault(f"{m.device}, {provenance_text(m.provenance)}", []).append(name)
    origins = [f"{', '.join(names)}: {kind}" if len(kinds) > 1 else kind for kind, names in kinds.items()]
    lines = [*warmup_lines(report.warmup), *precision_lines(report.precision)]
    lines += withheld_lines(report.schedulers)
    one_run = all(s.replications < 2 for s in report.schedulers.values())
    told = [
        f"{'; '.join(origins)}. Predictions: queueing theory with Poisson arrivals. Intervals: 95 %, over "
        f"{'batches of the one run' if one_run else 'replications'}.",
        *(f"{line[0].upper()}{line[1:]}." for line in lines),
    ]
    st.caption("  \n".join(plain(line) for line in told))


def checks_panel(report: SimulationReport) -> None:
    """What the runs checked on themselves."""
    passed, failed = sum(report.checks.values()), report.failed_checks
    total = len(report.checks)
    word = "all passed" if not failed else f"{total - passed} of {total} FAILED"
    st.markdown(f"**Self-checks of the runs: {word}**")
    for name, ok in report.checks.items():
        icon = ":material/check_circle:" if ok else ":material/cancel:"
        st.markdown(f"{icon} {plain(name)}")
    for line in failed:
        st.error(plain(line))
    told = engine_text(report.engine, python_decisions(report))
    st.caption(plain(f"{told} {format_time(report.seconds)} on the clock."))
