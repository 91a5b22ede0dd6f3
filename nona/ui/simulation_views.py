"""What the Simulation page shows: scheduler choice, live chart, result table, checks, downloads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.figures_models import provenance_text
from nona.report.figures_simulation import jct_over_time_figure
from nona.report.simulation_text import percentile_text
from nona.report.text import interval_text
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.ui.engine_views import engine_text
from nona.ui.state import AppState
from nona.ui.widgets import plain
from nona.ui.workspace import jobs
from nona.units import format_time

Report = Mapping[str, Any]


def pick_schedulers(state: AppState) -> None:
    """The choice of schedulers; the options that a scenario file gave them stay."""
    chosen = [s.name for s in state.scenario.schedulers]
    options = [*dict.fromkeys([*scheduler_names(), *chosen])]
    key = f"schedulers-{state.revision}"

    def choose() -> None:
        own = {s.name: s.options for s in state.scenario.schedulers}
        state.edit(("schedulers",), [{"name": n, "options": own.get(n, {})} for n in st.session_state[key]])

    st.multiselect("Schedulers", options, chosen, key=key, on_change=choose)
    draft = state.drafts.get(("schedulers",))
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def scheduler_notes(state: AppState) -> None:
    """What each chosen scheduler does, where it comes from, and what was adapted."""
    with st.expander("What these schedulers are"):
        rows = []
        for entry in state.scenario.schedulers:
            if entry.name in scheduler_names():
                s = get_scheduler(entry.name)
                rows.append(
                    {
                        "scheduler": s.name,
                        "what it does": s.summary,
                        "sees of the network": s.network_view.name,
                        "source": s.source,
                        "adapted": s.adaptation,
                    }
                )
        st.table(pd.DataFrame(rows).map(plain) if rows else pd.DataFrame())


def live_chart(live: Report) -> None:
    """The mean JCT so far, while the simulation runs."""
    st.plotly_chart(jct_over_time_figure(live, running=True), key="live", alt="Mean JCT so far")


def overload_warnings(found: Mapping[str, Report]) -> None:
    """One line for each scheduler without a steady state, or that ended in a backlog."""
    for name, s in found.items():
        if s["state"] == "overloaded":
            st.error(
                f"**{plain(name)} is overloaded**: {plain(s['state_reason'])} Its mean times are not shown: "
                "there is no steady state that they could describe.",
                icon=":material/trending_up:",
            )
        elif s["state"] == "backlogged":
            st.warning(f"**{plain(name)} ended in a backlog**: {plain(s['state_reason'])}")


def results_table(found: Mapping[str, Report], predicted: Mapping[str, float | None]) -> pd.DataFrame:
    """One row per scheduler, with what theory predicts where it can; intervals at 95 %."""
    return pd.DataFrame(
        [
            {
                "scheduler": name,
                "state": s["state"],
                "mean JCT": interval_text(s["jct_s"], format_time),
                "predicted": _prediction(name, predicted),
                **{p: percentile_text(v) for p, v in s["jct_s"]["percentiles"].items()},
                "SLO hits": interval_text(s["slo_hit_rate"], "{:.2%}".format),
                "executors": _percent(s["utilization"]["compute"]),
                "link": _percent(s["utilization"]["network"]),
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


def provenance_caption(data: Report) -> None:
    """Where the times of this simulation come from, and what the prediction assumes."""
    kinds = {f"{m['device']}: {provenance_text(m['provenance'])}" for m in data["models"].values()}
    st.caption(
        plain(
            f"{'; '.join(sorted(kinds))}. Predictions: queueing theory with Poisson arrivals. "
            "Intervals: 95 %, over replications."
        )
    )


def checks_panel(report: Report) -> None:
    """What the runs checked on themselves."""
    passed = sum(report["checks"].values())
    total, failed = len(report["checks"]), report["failed_checks"]
    word = "all passed" if not failed else f"{total - passed} of {total} FAILED"
    icon = ":material/verified:" if not failed else ":material/error:"
    with st.expander(f"Checks of the runs on themselves: {word}", icon=icon, expanded=bool(failed)):
        for name, ok in report["checks"].items():
            st.markdown(f"{'✓' if ok else '✗'} {plain(name)}")
        for line in failed:
            st.error(plain(line))
        told = engine_text(report)
        st.caption(plain(f"{told} {format_time(report['seconds'])} on the clock."))


def downloads(state: AppState) -> None:
    """One row per measured job as CSV, and the report as JSON."""
    job = jobs().get(state.results["simulate"].job_id)
    if job is None:
        st.caption("The files of this run are no longer kept; run it again to download them.")
        return
    with st.container(horizontal=True):
        for label, file, mime in (
            ("Download jobs (CSV)", "jobs.csv", "text/csv"),
            ("Download report (JSON)", "report.json", "application/json"),
        ):
            st.download_button(
                label,
                data=_reader(job.folder / file),
                file_name=f"simulation_{file}",
                mime=mime,
                icon=":material/download:",
                on_click="ignore",
                key=f"download-{file}",
            )


def _reader(path: Path) -> Any:
    return lambda: path.read_bytes()


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
