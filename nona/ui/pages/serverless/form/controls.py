"""The controls: SLO, load, sharing, policies, size, the platform; one line once there is a run."""

from __future__ import annotations

import streamlit as st

from nona.gpu_sharing.registry import WAYS
from nona.report.text import counted
from nona.serverless.policies.registry import POLICIES, get_policy, policy_names
from nona.ui.pages.serverless.form.platform import platform_controls
from nona.ui.pages.serverless.form.presets import load_name, load_preset, slo_name, slo_preset
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, number, plain, quantity
from nona.ui.widgets.policy_options import option_popover
from nona.ui.widgets.summary_bar import listed, summary_bar

PART = "serverless"


def controls(state: AppState) -> None:
    """All controls; their values are part of the scenario, so the file and the shell have them too."""
    with summary_bar("serverless-controls", _summary(state), state.jobs.get("serverless")):
        with st.container(horizontal=True, gap="medium"):
            with st.container(width="content"):
                slo_preset(state)
            with st.container(width="content"):
                load_preset(state)
        _policies(state)
        _size(state)
        if _mode_asks(state):
            with st.grid(3, min_column_width=200):
                _mode_fields(state)
        with st.container(horizontal=True):
            entries = state.scenario.serverless.policies if state.scenario.serverless else ()
            option_popover(state, "policy-options", (PART, "policies"), entries, POLICIES.get)
            _about(state)
        platform_controls(state)


def _summary(state: AppState) -> list[str]:
    """The settings in one line."""
    spec, size = state.scenario.serverless, state.scenario.simulation
    if spec is None:
        return []
    slo, load = slo_name(state), load_name(state)
    return [
        listed([p.name for p in spec.policies]),
        "each row's SLO" if slo == "rows" else f"{slo} SLO",
        "each row's rate" if load == "rows" else f"{load} load",
        WAYS.find(spec.sharing.mode).title,
        counted(state.scenario.cluster.servers[0].count, "node"),
        f"{size.jobs:,} calls × {counted(size.replications, 'run')}",
        f"seed {state.scenario.seed}",
    ]


def sharing_choices() -> dict[str, str]:
    """The ways of sharing a GPU: display text → name."""
    return {way.title: way.name for way in WAYS.values()}


def _sharing_help() -> str:
    return " ".join(["How functions share a GPU.", *(f"{w.title}: {w.about}." for w in WAYS.values())])


def _mode_asks(state: AppState) -> bool:
    """Whether the chosen way of sharing has fields of its own."""
    spec = state.scenario.serverless
    way = None if spec is None else WAYS.find(spec.sharing.mode)
    return way is not None and (bool(way.asks) or way.fixed_layout)


def _mode_fields(state: AppState) -> None:
    """What the chosen way of sharing needs to know."""
    spec = state.scenario.serverless
    if spec is None:
        return
    way, path = WAYS.find(spec.sharing.mode), (PART, "sharing")
    if "reconfiguration" in way.asks:
        with st.container():
            hint = "Seconds to create a slice of another size while its place is idle. Assumed."
            quantity(state, "Time to create a slice", (*path, "reconfiguration"), hint)
    if "oversubscription" in way.asks:
        with st.container():
            hint = (
                "How many times the GPU's threads may be allocated. 1: the caps fit, so that nobody is "
                "slowed down; above 1 clients slow each other down."
            )
            number(state, "Oversubscription", (*path, "oversubscription"), 1.0, 48.0, 0.1, hint)
    if "interference" in way.asks:
        with st.container():
            hint = (
                "Factor on the clients' demand when they slow each other down; 1: as for equal networks "
                "on an A100. Assumed for different networks."
            )
            number(state, "Interference", (*path, "interference"), 1.0, 100.0, 0.05, hint)
    if way.fixed_layout:
        with st.container():
            st.caption("The slices are those of the servers on the Cluster page.")
            st.page_link("pages/4_cluster.py", label="Change the slices", icon=":material/dns:")


def _policies(state: AppState) -> None:
    """The choice of policies; their options are kept."""
    spec = state.scenario.serverless
    entries = spec.policies if spec else ()
    chosen = [p.name for p in entries]
    options = [*dict.fromkeys([*policy_names(), *chosen])]
    key, path = f"policies-{state.revision}", (PART, "policies")

    def choose() -> None:
        own = {p.name: p.options for p in entries}
        state.edit(path, [{"name": n, "options": own.get(n, {})} for n in st.session_state[key]])

    hint = "The policies that choose the configurations. All get the same calls and the same noise."
    st.multiselect("Policies", options, chosen, key=key, on_change=choose, help=hint)
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _size(state: AppState) -> None:
    with st.grid(5, min_column_width=146):
        with st.container():
            choice(state, "GPU sharing", (PART, "sharing", "mode"), sharing_choices(), _sharing_help())
        with st.container():
            hint = "Measured calls of all workflows in each run, after a warm-up of a fifth."
            count(state, "Calls measured per run", ("simulation", "jobs"), 1, 100_000_000, hint)
        with st.container():
            hint = "Independent runs of each policy; 2 or more give intervals."
            count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
        with st.container():
            count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")
        with st.container():
            hint = "Worker nodes of the cluster's first group; each has its vCPUs and GPUs."
            count(state, "Nodes", ("cluster", "servers", 0, "count"), 1, 100_000, hint)


def _about(state: AppState) -> None:
    """What each chosen policy does, its source, and what was adapted."""
    about = st.popover(
        "What these policies are", icon=":material/menu_book:", on_change="rerun", key="policy-notes"
    )
    if not about.open:
        return
    with about:
        for entry in state.scenario.serverless.policies if state.scenario.serverless else ():
            if entry.name in policy_names():
                p = get_policy(entry.name)
                st.markdown(f"**{plain(p.title)}** {plain(p.summary)}")
                st.caption(plain(f"Source: {p.source}. {p.adaptation}".strip()))
