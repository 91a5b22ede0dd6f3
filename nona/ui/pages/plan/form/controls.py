"""The question in three columns, as one reads it: demand, offers, money; one line once there is an answer."""

from __future__ import annotations

import streamlit as st

from nona.planning.money import growth_text
from nona.planning.offers import gpu_text
from nona.report.text import counted
from nona.schedulers.registry import scheduler_names
from nona.ui.pages.plan.form.demand import demand_fields
from nona.ui.pages.plan.form.edits import PART, end_plan
from nona.ui.pages.plan.form.money import money_fields
from nona.ui.pages.plan.form.offers import link_fields, offer_fields
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import count, share, toggle
from nona.ui.widgets.schedulerpicker.schedulerpicker import scheduler_picker
from nona.ui.widgets.summary_bar import listed, summary_bar


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with summary_bar("plan-controls", _summary(state), state.jobs.get("plan")):
        left, right = st.columns([2, 3], gap="large")
        with left:
            st.subheader("Demand", anchor=False)
            demand_fields(state)
        with right:
            st.subheader("On offer", anchor=False)
            offer_fields(state)
            _schedulers(state)
            link_fields(state)
        with st.expander("Prices, power and CO₂", icon=":material/payments:"):
            money_fields(state)
        with st.expander("How the plan is searched", icon=":material/search:"):
            _search(state)


def _summary(state: AppState) -> list[str]:
    spec = state.scenario.plan
    if spec is None:
        return []
    names = [gpu_text(o.gpu, o.mig) for o in spec.offers]
    own = (
        [f"target{'' if len(spec.targets) == 1 else 's'} of {listed(list(spec.targets))}"]
        if spec.targets
        else []
    )
    return [
        f"{100 * spec.hit:.6g} % within the SLO",
        *own,
        f"grows {growth_text(spec.growth)}" if spec.growth else "",
        f"week of {spec.profile}" if spec.profile else "",
        listed(names) if names else "servers of the cluster",
        listed([s.name for s in spec.schedulers]),
        counted(len(spec.links), "link") if spec.links else "",
        f"{100 * spec.confidence:.6g} % confidence",
    ]


def _schedulers(state: AppState) -> None:
    spec = state.scenario.plan
    if spec is None:
        return
    own = {s.name: s.options for s in spec.schedulers}
    known = scheduler_names()

    def choose(names: tuple[str, ...]) -> None:
        chosen = [n for n in names if n in own or n in known]
        if chosen and state.edit(
            (PART, "schedulers"), [{"name": n, "options": own.get(n, {})} for n in chosen]
        ):
            state.revision += 1

    hint = "Every one is tried on every offer: a scheduler can be worth more than a server."
    scheduler_picker("plan-schedulers", "Schedulers", list(own), hint, choose)


def _search(state: AppState) -> None:
    with st.grid(4, min_column_width=150, vertical_alignment="bottom"):
        hint = "Of each verdict; the rest is how often keeps or misses may be wrong. See Evidence."
        share(state, "Confidence", (PART, "confidence"), hint)
        count(
            state,
            "Servers of an offer, at most",
            (PART, "most"),
            1,
            100_000,
            "Where the offer says no number.",
        )
        hint = "Runs of one option at most; more decide options that lie close to a target."
        count(state, "Runs of an option, at most", (PART, "replications"), 4, 4096, hint)
        count(state, "Jobs of a run", ("simulation", "jobs"), 100, 10_000_000, "As on the page Simulation.")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        toggle(
            state, "Mixed clusters", (PART, "mixed"), "Also some servers of one offer and some of another."
        )
        st.button(
            "Remove this plan",
            icon=":material/delete:",
            type="tertiary",
            on_click=end_plan,
            args=(state,),
            key="remove-plan",
            help="Takes the question out of the scenario; Undo brings it back.",
        )
