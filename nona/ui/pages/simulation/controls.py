"""The question's controls on the Simulation page: schedulers, size, seed; one line once there is a run."""

from __future__ import annotations

import streamlit as st

from nona.report.text import counted, share_text
from nona.ui.pages.simulation.expert_views import expert_table
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, late, plain, quantity
from nona.ui.widgets.schedulerpicker.schedulerpicker import scheduler_picker
from nona.ui.widgets.summary_bar import listed, summary_bar

MOST_JOBS = 100_000_000
VIEWS = ("Run", "What if", "Sweep")


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the other pages and the file have them too."""
    size = state.scenario.simulation
    parts = [
        listed([s.name for s in state.scenario.schedulers]),
        f"{counted(size.jobs, 'job')} × {counted(size.replications, 'run')}",
        "" if size.precision is None else f"to {share_text(size.precision, 1)}",
        f"seed {state.scenario.seed}",
    ]
    with summary_bar("simulation-controls", parts, state.jobs.get("simulate")):
        pick_schedulers(state)
        with st.grid(3, min_column_width=150):
            with st.container():
                hint = "Measured jobs of all models in each run. More jobs give narrower intervals."
                count(state, "Jobs measured per run", ("simulation", "jobs"), 1, MOST_JOBS, hint)
            with st.container():
                hint = "Independent runs of each scheduler; 2 or more give intervals."
                count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
            with st.container():
                hint = "The same seed gives the same result, bit for bit."
                count(state, "Seed", ("seed",), 0, 2**53 - 1, hint)
        _precision(state)
        expert_table(state)


def pick_schedulers(state: AppState) -> None:
    """The choice of schedulers; the options that a scenario file gave them stay."""
    revision = state.revision

    def choose(names: tuple[str, ...]) -> None:
        if late(state, revision):
            return
        own = {s.name: s.options for s in state.scenario.schedulers}
        state.edit(("schedulers",), [{"name": n, "options": own.get(n, {})} for n in names])

    hint = "All get the same jobs: the same arrivals, the same service times."
    chosen = [s.name for s in state.scenario.schedulers]
    scheduler_picker("simulation-schedulers", "Schedulers", chosen, hint, choose)
    draft = state.drafts.get(("schedulers",))
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _precision(state: AppState) -> None:
    """Warm-up and stopping rule of the simulation."""
    with st.popover("Warm-up and precision", icon=":material/straighten:"):
        choice(
            state,
            "Warm-up",
            ("simulation", "warmup"),
            {"automatic": "auto", "MSER-5, on pilot runs": "mser"},
            "Jobs left out at the start, the same for all schedulers. Automatic: a fifth of the jobs, at "
            "least 1,000; MSER-5 finds where the start-up ends, on five pilot runs of each scheduler.",
        )
        quantity(
            state,
            "Precision of the means",
            ("simulation", "precision"),
            "Adds replications until every mean JCT has this relative precision, e.g. 2 %. Empty: the "
            "stated number of replications.",
            optional=True,
        )
        hint = "With a precision: the most replications that are run."
        count(state, "Replications at most", ("simulation", "max_replications"), 2, 1000, hint)


def view_switch() -> str:
    """Which of the three modes is open."""
    chosen = st.segmented_control(
        "Ask by",
        VIEWS,
        default=VIEWS[0],
        required=True,
        label_visibility="collapsed",
        key="simulation-view",
        persist_state="session",
        help="Run: a full simulation. What if: quick answers while you move sliders. Sweep: one number, "
        "many values.",
    )
    return str(chosen)
