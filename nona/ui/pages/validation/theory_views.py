"""Theory against simulation on the Validation page: the known means, and a run's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.checks.figures import theory_figure
from nona.report.checks.theory import WIDE, theory_rows, theory_summary
from nona.results.checks import ComparedRow, TheoryProgress, TheoryResult, TheoryRow, TheorySummary
from nona.simulation.known import EFFORTS, known_systems
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_panel
from nona.ui.shell.progress import duration
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "validate"
_RIGHT = st.column_config.TextColumn(alignment="right", help="Two numbers: bounds of the mean.")
COLUMNS = {
    "system": st.column_config.TextColumn(pinned=True, width="medium"),
    "load": st.column_config.NumberColumn(format="percent"),
    "theory, ms": _RIGHT,
    "simulated, ms": st.column_config.NumberColumn(format="%.3f"),
    "± ms": st.column_config.NumberColumn(format="%.3f", help="Half of the confidence interval."),
    "error": st.column_config.NumberColumn(format="%+.2f %%", help="Simulated over theory, less 1."),
    "±": st.column_config.NumberColumn(format="%.2f %%", help="Half of the interval over the mean."),
    "told apart from": st.column_config.ListColumn(
        help="Neighbouring theories, e.g. of a simulator with a likely error, that the interval excludes."
    ),
}


@dataclass(frozen=True, slots=True)
class Length:
    """How long the runs are, by the name of the effort; empty: the least."""

    effort: str = ""


def theory_section(state: AppState) -> None:
    """The choice of effort, the run with its progress, the table and the figure."""
    left, _ = st.columns([1, 2])
    with left:
        names = list(EFFORTS)
        effort = st.segmented_control(
            "Length of the runs",
            names,
            default=state.choices.of(Length).effort or names[0],
            key="effort",
            required=True,
            help="Longer runs have narrower intervals: they notice smaller errors.",
        )
    state.choices.keep(Length(effort))
    job_panel(
        state,
        KIND,
        "Simulate the known systems",
        live=_live,
        options={"effort": effort},
        fingerprint=f"known systems, {effort}",
    )
    result, job = state.held(KIND, TheoryResult), current_job(state, KIND)
    if result is not None:
        _result(result)
    elif job is None or not job.unfinished:
        _table([row for known in known_systems() for row in theory_rows(known)], 420)


def _live(live: Mapping[str, Any]) -> None:
    """The rows that are there so far."""
    rows = TheoryProgress.from_json(live).rows
    if rows:
        st.caption(f"{theory_summary(rows).agree} of {len(rows)} means agree so far.")
        _table(rows, 280, "theory-live")


def _result(data: TheoryResult) -> None:
    """Tiles, what they rest on, the figure, the table."""
    rows = data.rows
    _tiles(theory_summary(rows))
    st.caption(
        f"{data.replications} independent runs each, {plain(data.effort)} ones, {data.level:.1%} "
        f"intervals, on the engine {plain(data.engine)} in {duration(data.seconds)}. At this level "
        "one row in a thousand of a correct simulator would differ by chance."
    )
    picture(
        theory_figure(rows),
        key="theory-errors",
        alt="Error of each simulated mean against theory with its interval",
    )
    _table(rows, 480)


def _tiles(summary: TheorySummary) -> None:
    tiles = st.columns(4)
    tiles[0].metric(
        "Means that agree",
        f"{summary.agree} of {summary.rows}",
        help=f"Unclear: the interval meets theory, but half of it is more than {WIDE:.0%} of the mean; use "
        "longer runs.",
    )
    tiles[1].metric("Mean error", f"{summary.mean_error:.1%}", help="Mean of |simulated / theory − 1|.")
    tiles[2].metric(
        "Half interval", f"{summary.half_width:.1%}", help="Median over the rows: smaller errors may hide."
    )
    tiles[3].metric(
        "Worst row",
        f"{summary.worst:.2f} half intervals",
        help="The largest error in units of its own half interval; above 1 it does not agree.",
    )


def _table(rows: Sequence[TheoryRow], height: int, key: str = "theory") -> None:
    shown = pd.DataFrame([_shown(r) for r in rows])
    table(shown, key, "Theory against simulation, system by system", column_config=COLUMNS, height=height)


def _shown(row: TheoryRow) -> dict[str, object]:
    """A row as displayed; one that was not simulated yet has theory only."""
    theory = f"{row.theory_ms:.3f}" + ("" if row.to_ms is None else f" – {row.to_ms:.3f}")
    shown: dict[str, object] = {"system": row.system, "jobs": row.jobs or "all", "load": row.load}
    shown["theory, ms"] = theory
    if isinstance(row, ComparedRow):
        shown |= {
            "simulated, ms": row.simulated_ms,
            "± ms": row.half_width_ms,
            "error": row.error_percent,
            "±": row.half_width_percent,
            "verdict": row.verdict,
            "told apart from": list(row.told_apart_from),
        }
    return {**shown, "theory by": row.by}
