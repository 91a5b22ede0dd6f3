"""Does it hold? The cluster as it stands, under one scheduler: its targets, more traffic, lost servers."""

from __future__ import annotations

import streamlit as st

from nona.app.pages.run_page import PageRun, ended_early, run_area
from nona.app.session.kept import choose
from nona.app.session.state import AppState
from nona.app.tasks.context import HoldsAsked
from nona.app.widgets.fields import choose_one, plain
from nona.app.widgets.results import show_finding, table
from nona.planning.report_holds import HELD, holds_finding, holds_note
from nona.planning.report_plan import day_of
from nona.planning.results import HoldsOutcome

KEY = "holds-scheduler"


def holds_panel(state: AppState) -> None:
    """Show the question with its scheduler, and its answer."""
    with st.container(gap="xsmall", key="holds"):
        spec = state.scenario.plan
        targeted = spec is not None and spec.targets
        if not targeted and all(row.slo is None for row in state.scenario.workload):
            st.caption("**Does it hold?** No query has an SLO; give one on page Scenario.")
            return
        names = list(dict.fromkeys(s.name for s in state.scenario.schedulers))
        kept = st.session_state.get(KEY)
        scheduler = kept if kept in names else names[0]
        run_area(
            state,
            PageRun(
                kind="holds",
                label="Does it hold?",
                result_type=HoldsOutcome,
                beside=lambda: _choice(names, scheduler),
                live=lambda job: _sentences(HoldsOutcome.from_json(job.live)),
                answer=_answer,
                before="Checks the present cluster under one scheduler: every SLO, with how much more "
                "traffic, and without a server.",
                request=HoldsAsked(scheduler=scheduler),
                command="plan",
                words=("--present", "--scheduler", scheduler),
                advice="A run of fewer jobs takes less time.",
            ),
        )


def ask_again(state: AppState, outcome: HoldsOutcome) -> str:
    """Make the page ask the question of this outcome; return its version."""
    scheduler = outcome.report.option.scheduler
    choose(state, KEY, scheduler)
    return f"{state.fingerprint('holds')} {HoldsAsked(scheduler=scheduler)}"


def _choice(names: list[str], scheduler: str) -> None:
    hint = "The check uses this scheduler; the choice is that of the comparison below."
    choose_one("Under", names, KEY, hint, scheduler, label_visibility="collapsed", width=200)


def _answer(state: AppState, data: HoldsOutcome) -> None:
    ended_early(data.ended_early_s)
    _sentences(data)
    alt = "Each target with what the cluster gives, and the verdict"
    table(HELD.fill(data.report.targets), "holds-targets", alt, "does_it_hold")
    missed = data.report.option.verdict == "misses"
    other = " Another scheduler may keep them." if missed else ""
    st.caption(plain(f"{holds_note(data.report)}{other} Version {data.about.hash}."))


def _sentences(data: HoldsOutcome) -> None:
    show_finding("holds-finding", holds_finding(data.report, day_of(data.about.made)))
