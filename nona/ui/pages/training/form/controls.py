"""The controls: jobs, GPUs and prices, policies, rounds, size; one line once there is a run."""

from __future__ import annotations

import streamlit as st

from nona.allocation.policies.registry import POLICIES, get_policy, policy_names
from nona.report.text import counted
from nona.report.training.words import hours_text, jobs_text
from nona.ui.pages.training.form.gpus import gpu_fields
from nona.ui.pages.training.form.jobs import job_fields
from nona.ui.pages.training.form.switches import switch_fields
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, plain, quantity, toggle
from nona.ui.widgets.policy_options import option_popover
from nona.ui.widgets.summary_bar import listed, summary_bar

PART = "training"


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with summary_bar("training-controls", _summary(state), state.jobs.get("training")):
        job_fields(state)
        gpu_fields(state)
        _policies(state)
        with st.container(horizontal=True, vertical_alignment="center"):
            entries = state.scenario.training.policies if state.scenario.training else ()
            option_popover(state, "training-options", (PART, "policies"), entries, POLICIES.get)
            _about(state)
            hint = (
                "Two jobs may use the same GPU, where their pair was measured. For policies that can: "
                f"{', '.join(p.name for p in POLICIES.values() if p.space_sharing) or 'none yet'}."
            )
            toggle(state, "Space sharing", (PART, "space_sharing"), hint)
        _size(state)
        switch_fields(state)


def _summary(state: AppState) -> list[str]:
    """The settings in one line."""
    spec = state.scenario.training
    if spec is None:
        return []
    gpus: dict[str, int] = {}
    for g in state.scenario.cluster.servers:
        gpus[g.gpu] = gpus.get(g.gpu, 0) + g.count * g.gpus
    return [
        jobs_text(spec),
        " + ".join(f"{n} {t}" for t, n in sorted(gpus.items())),
        listed([p.name for p in spec.policies]),
        "space sharing" if spec.space_sharing else "",
        "nodes fail" if spec.failures else "",
        "moves cost time" if spec.moves else "",
        counted(len(spec.regions.groups), "region") if spec.regions else "",
        "users' estimates" if spec.estimates else "",
        "estimated pairs" if spec.estimator else "",
        f"rounds of {hours_text(spec.round)}",
        counted(state.scenario.simulation.replications, "run"),
        f"seed {state.scenario.seed}",
    ]


def _policies(state: AppState) -> None:
    """The policies as toggles; their options are kept."""
    spec = state.scenario.training
    entries = spec.policies if spec else ()
    chosen = [p.name for p in entries]
    names = [*dict.fromkeys([*policy_names(), *chosen])]
    key, path = f"training-policies-{state.revision}", (PART, "policies")

    def choose() -> None:
        own = {p.name: p.options for p in entries}
        taken = set(st.session_state[key])
        order = [n for n in chosen if n in taken] + [n for n in names if n in taken and n not in chosen]
        state.edit(path, [{"name": n, "options": own.get(n, {})} for n in order])

    hint = "Every policy that is on gets the same jobs on the same GPUs."
    st.pills("Policies", names, selection_mode="multi", default=chosen, key=key, on_change=choose, help=hint)
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _size(state: AppState) -> None:
    with st.grid(5, min_column_width=140):
        with st.container():
            hint = "How long a job keeps its GPUs before the next choice. Gavel: 6 minutes."
            quantity(state, "Round", (PART, "round"), hint)
        with st.container():
            hint = "The least time between two allocations of a policy. Gavel: 32 minutes."
            quantity(state, "Reallocation", (PART, "reallocation"), hint)
        with st.container():
            known = {"measured (Gavel)": "gavel", "modelled": "modelled"}
            hint = (
                "Steps per second of each job on each type: measured by Gavel's authors on K80, P100 and "
                "V100, or modelled by the cost layer."
            )
            choice(state, "Throughputs", (PART, "throughputs"), known, hint)
        with st.container():
            hint = "Independent runs of each policy; 2 or more give intervals."
            count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
        with st.container():
            count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")


def _about(state: AppState) -> None:
    """What each chosen policy does, its source, and what was adapted."""
    about = st.popover(
        "What these policies are", icon=":material/menu_book:", on_change="rerun", key="training-notes"
    )
    if not about.open:
        return
    with about:
        for entry in state.scenario.training.policies if state.scenario.training else ():
            if entry.name in POLICIES:
                p = get_policy(entry.name)
                st.markdown(f"**{plain(p.title)}** {plain(p.summary)}")
                st.caption(plain(f"Source: {p.source}. {p.adaptation}".strip()))
