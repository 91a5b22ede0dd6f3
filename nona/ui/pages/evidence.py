"""The Evidence page: theory against simulation, self-checks, language models, sources."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.report import theory
from nona.report.guide import sections
from nona.results import program
from nona.simulation.agreement import EFFORTS
from nona.simulation.known_systems import known_systems
from nona.ui.jobs.registry import Job
from nona.ui.pages.run_page import Run, run_area
from nona.ui.session.state import AppState
from nona.ui.tasks.desk import EffortAsked
from nona.ui.widgets.fields import one_of, plain
from nona.ui.widgets.results import picture, table, tiles
from nona.units import duration


def _check_result(data: program.SelfCheckResult) -> None:
    rows = data.rows
    failed = [r.name for r in rows if r.ok is False]
    when = f"version {data.version}, in {duration(data.seconds)}"
    if failed:
        text = (
            f"{len(failed)} of {len(rows)} checks fail ({when}): {', '.join(failed)}. Do not trust results "
        )
        text += "of this installation; install it again, and report this table."
        st.error(plain(text), icon=":material/error:")
    else:
        passed = sum(r.ok is True for r in rows)
        st.success(
            plain(f"{passed} of {len(rows)} checks hold, none fails ({when})."), icon=":material/verified:"
        )
    _check_table(rows, "checks")


def _check_table(rows: Sequence[program.SelfCheck], key: str) -> None:
    if rows:
        table(theory.CHECKS.of(rows), key, "Self-checks with their verdicts")


def _live(job: Job) -> None:
    rows = program.TheoryProgress.from_json(job.live).rows
    if rows:
        st.caption(f"So far: {theory.theory_sentence(rows)}")
        _theory_table(rows, 280, "theory-live")


def _theory_result(data: program.TheoryResult) -> None:
    rows = data.rows
    st.markdown(f"**{theory.theory_sentence(rows)}**")
    _theory_tiles(theory.theory_summary(rows))
    st.caption(
        f"{data.replications} independent runs each, {plain(data.effort)} ones, {data.level:.1%} "
        f"intervals, on the engine {plain(data.engine)} in {duration(data.seconds)}. At this level "
        "one row in a thousand of a correct simulator would differ by chance."
    )
    alt = "Error of each simulated mean against theory with its interval"
    picture(theory.theory_figure(rows), "theory-errors", alt)
    _theory_table(rows, 480)


def _theory_tiles(summary: program.TheorySummary) -> None:
    worst = f"{summary.worst:.2f} half intervals"
    tiles(
        [
            ("Mean error", f"{summary.mean_error:.1%}", "Mean of |simulated / theory − 1|."),
            ("Half interval", f"{summary.half_width:.1%}", "Median of the rows: smaller errors may hide."),
            ("Worst row", worst, "The largest error in its own half interval; above 1 it does not agree."),
        ]
    )


def _theory_table(rows: Sequence[program.TheoryRow], height: int, key: str = "theory") -> None:
    table(theory.THEORY.of(rows), key, "Theory against simulation, system by system", height=height)


def theory_tab(state: AppState) -> None:
    st.subheader("Theory against simulation")
    st.markdown(
        "Completion times come from a simulator. Here it runs systems with a mean completion time known "
        "from queueing theory: single queues, batches, priorities, networks of queues, fork-join, the power "
        "of choices, the link in both disciplines. Each interval should contain the theoretical mean, and be "
        "narrow enough to exclude neighbouring theories."
    )
    hint = "Longer runs have narrower intervals: they notice smaller errors."
    effort = one_of("Length of the runs", list(EFFORTS), "effort", hint)
    rows = [row for system in known_systems() for row in theory.theory_rows(system)]
    run_area(
        state,
        Run(
            kind="validate",
            label="Simulate the known systems",
            of=program.TheoryResult,
            live=_live,
            answer=lambda state, result: _theory_result(result),
            before=lambda: _theory_table(rows, 420),
            asked=EffortAsked(effort=effort),
        ),
    )


def checks_tab(state: AppState) -> None:
    st.subheader("Self-checks")
    st.markdown(
        "Checks on this machine of what must hold on any: the two engines agree bit for bit, nothing is "
        "lost, the same seed gives the same bytes, a placement respects its bound."
    )
    run_area(
        state,
        Run(
            kind="check",
            label="Check this machine",
            of=program.SelfCheckResult,
            live=lambda job: _check_table(program.SelfCheckProgress.from_json(job.live).rows, "checks-live"),
            answer=lambda state, result: _check_result(result),
            before="Not run yet. It simulates a small scenario with every scheduler on both engines, and "
            "takes a few seconds.",
        ),
    )


def sources_tab(state: AppState) -> None:
    for section in sections():
        if section.name in ("provenance", "sources"):
            st.subheader(section.title)
            st.markdown(section.text)
