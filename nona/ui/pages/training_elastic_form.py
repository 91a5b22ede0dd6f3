"""The settings of elastic jobs: workload, nodes, policies, ticks."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.report.text import counted
from nona.report.training.findings import hours_text, jobs_text
from nona.scenario.training import ElasticSpec, ProfilesSpec
from nona.study.training.elastic import MOST_GPUS, MOST_NODES
from nona.tables import share_text
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.workload import SHIPPED
from nona.ui.form import field
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.folding import listed
from nona.ui.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.units import format_bandwidth

PART = ("training", "elastic")
COMPLAINT = "elastic-upload"
TABLES = tuple(f"{name}.csv" for name in ProfilesSpec.model_fields)


def elastic_controls(state: AppState, spec: ElasticSpec) -> None:
    _workload(state, spec)
    _cluster(state)
    _link(state, spec)
    path = (*PART, "policies")
    pick_entries(state, "elastic-policies", path, policy_entries(ELASTIC, "Elastic policies"))
    with st.container(horizontal=True, vertical_alignment="center"):
        option_popover(state, "training-elastic-options", path, ELASTIC)
    with st.grid(3, min_column_width=140):
        field(state, (*PART, "tick"))
        drawn = "Only policies that draw random numbers; the others have one run."
        field(state, "simulation.replications", more=drawn)
        field(state, "seed")


def summary(state: AppState, spec: ElasticSpec) -> list[str]:
    """The settings in one line."""
    group = state.scenario.cluster.servers[0]
    return [
        jobs_text(state.scenario.training) if state.scenario.training else "",
        f"{counted(group.count, 'node')} with {counted(group.gpus, 'GPU')}",
        listed([p.name for p in spec.policies]),
        f"ticks of {hours_text(spec.tick)}",
        f"interference {share_text(spec.interference)}" if spec.interference else "",
        _link_text(state) if spec.link else "",
        counted(state.scenario.simulation.replications, "run"),
        f"seed {state.scenario.seed}",
    ]


def _workload(state: AppState, spec: ElasticSpec) -> None:
    shipped = {number: f"{number}: 160 jobs in 8 hours, as measured for Pollux" for number in SHIPPED}
    files = [n for n in state.uploads.names() if n.lower().endswith(".csv") and n not in TABLES]
    choices = shipped | {name: name for name in files}
    left, right = st.columns(2)
    with left:
        use = partial(_use, state, spec.profiles)
        field(state, (*PART, "workload"), choices=choices, edit=use)
    with right:
        if spec.shipped:
            field(state, (*PART, "load"))
        else:
            st.caption(f"Profiles: {plain(_profiles_text(spec))}")
    _upload(state)


def _profiles_text(spec: ElasticSpec) -> str:
    if spec.profiles is None:
        return "the six applications that ship."
    return f"{', '.join(name for _, name in spec.profiles)}."


def _use(state: AppState, profiles: ProfilesSpec | None, workload: str | int) -> None:
    """Take a workload; a load is for those that ship, profiles of one's own are for files."""
    now: dict[str, Any] = dict(state.value(PART) or {})
    now["workload"] = workload
    if workload in SHIPPED:
        now.pop("profiles", None)
    else:
        now.pop("load", None)
        if profiles is not None:
            now["profiles"] = profiles.model_dump()
    state.change(PART, now)


def _upload(state: AppState) -> None:
    key = f"elastic-upload-{state.revision}"

    def take() -> None:
        state.choices.complaints.pop(COMPLAINT, None)
        try:
            names = [state.uploads.add(file.name, file.getvalue()) for file in st.session_state[key]]
        except NonaError as error:
            state.choices.complaints[COMPLAINT] = str(error)
            return
        files = set(state.uploads.names())
        profiles = ProfilesSpec() if set(TABLES) <= files else None
        jobs = [name for name in names if name not in TABLES]
        if jobs:
            _use(state, profiles, jobs[-1])
        elif profiles is None:
            state.choices.complaints[COMPLAINT] = (
                f"Profiles are four files: {', '.join(n for n in TABLES if n not in files)} is not here yet; "
                "upload it too, then a workload."
            )

    st.file_uploader(
        "Or upload a workload, and profiles of your own applications",
        key=key,
        type=["csv"],
        accept_multiple_files=True,
        on_change=take,
        max_upload_size=64,
        help="Workload: CSV with the columns name, arrival_s, application, gpus, batch_size. Profiles: "
        f"{', '.join(TABLES)}, with the columns of those that ship.",
    )
    if state.choices.complaints.get(COMPLAINT):
        st.error(plain(state.choices.complaints[COMPLAINT]), icon=":material/error:")


def _cluster(state: AppState) -> None:
    groups = state.scenario.cluster.servers
    if len(groups) > 1:
        st.warning(
            f"The cluster has {len(groups)} groups of servers; elastic jobs need one, all alike. Remove the "
            "others on page Scenario.",
            icon=":material/dns:",
        )
    with st.grid(4, min_column_width=140):
        field(state, "cluster.servers.0.count", "Nodes", f"At most {MOST_NODES}.")
        field(state, "cluster.servers.0.gpus", "GPUs of a node", f"At most {MOST_GPUS}.")
        field(state, (*PART, "interference"))
        field(state, (*PART, "restart"))
    if groups[0].gpu != "t4":
        gpu = plain(groups[0].gpu)
        st.caption(f"The shipped profiles were measured on NVIDIA T4; they are used for {gpu} as they are.")


def _link(state: AppState, spec: ElasticSpec) -> None:
    field(state, (*PART, "link"))
    if not spec.link:
        return
    with st.grid(4, min_column_width=140):
        field(state, "cluster.network.capacity")
        field(state, "background.network.utilization", "Background traffic")


def _link_text(state: AppState) -> str:
    network, others = state.scenario.cluster.network, state.scenario.background.network
    return f"link of {format_bandwidth(network.capacity)}, {share_text(others.utilization)} used by others"
