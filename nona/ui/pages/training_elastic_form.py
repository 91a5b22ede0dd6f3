"""The settings of elastic jobs: workload, nodes, policies, ticks."""

from __future__ import annotations

from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.report.text import counted
from nona.report.training.findings import hours_text, jobs_text
from nona.scenario.training import ElasticSpec, ProfilesSpec
from nona.study.training.elastic import MOST_GPUS, MOST_NODES
from nona.tables.formats import share_text
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.workload import SHIPPED
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import count, late, number, plain, quantity, share, toggle
from nona.ui.widgets.folding import listed, summary_bar
from nona.ui.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.units import format_bandwidth

PART = ("training", "elastic")
SERVERS = ("cluster", "servers", 0)
KIND = "training-elastic"
COMPLAINT = "elastic-upload"
TABLES = tuple(f"{name}.csv" for name in ProfilesSpec.model_fields)


def elastic_controls(state: AppState, spec: ElasticSpec) -> None:
    """All settings; they are part of the scenario, so the file and the shell have them too."""
    with summary_bar("elastic-controls", _summary(state, spec), state.jobs.get(KIND)):
        _workload(state, spec)
        _cluster(state)
        _link(state, spec)
        _policies(state, spec)
        with st.container(horizontal=True, vertical_alignment="center"):
            path = (*PART, "policies")
            option_popover(state, "training-elastic-options", path, spec.policies, ELASTIC.get)
        _size(state)


def _summary(state: AppState, spec: ElasticSpec) -> list[str]:
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
    """A workload that ships, or a file; how many of its jobs; an upload."""
    shipped = {str(number): f"{number}: 160 jobs in 8 hours, as measured for Pollux" for number in SHIPPED}
    files = [n for n in state.uploads.names() if n.lower().endswith(".csv") and n not in TABLES]
    names = list(dict.fromkeys([*shipped, *files, spec.workload]))
    key = f"elastic-workload-{state.revision}"

    def take() -> None:
        if not late(state, int(key.rsplit("-", 1)[1])):
            _use(state, str(st.session_state[key]), spec.profiles)

    left, right = st.columns(2)
    with left:
        st.selectbox(
            "Workload",
            names,
            names.index(spec.workload),
            format_func=lambda name: shipped.get(name, name),
            key=key,
            on_change=take,
            help="Jobs with their arrival, application, and the GPUs and batch size that users ask for.",
        )
    with right:
        if spec.shipped:
            hint = (
                "How many times as many jobs in the same hours: below 1, jobs are left out evenly; above 1, "
                "jobs of the next workloads are added."
            )
            number(state, "Relative load", (*PART, "load"), 0.05, float(len(SHIPPED)), 0.5, hint, "%g")
        else:
            st.caption(f"Profiles: {plain(_profiles_text(spec))}")
    _upload(state)


def _profiles_text(spec: ElasticSpec) -> str:
    if spec.profiles is None:
        return "the six applications that ship."
    return f"{', '.join(name for _, name in spec.profiles)}."


def _use(state: AppState, name: str, profiles: ProfilesSpec | None) -> None:
    """Take a workload; a load is for those that ship, profiles of one's own are for files."""
    now: dict[str, Any] = dict(state.value(PART) or {})
    now["workload"] = name
    if name in map(str, SHIPPED):
        now.pop("profiles", None)
    else:
        now.pop("load", None)
        if profiles is not None:
            now["profiles"] = profiles.model_dump()
    if state.edit(PART, now):
        state.revision += 1


def _upload(state: AppState) -> None:
    """One's own jobs, and with all four tables one's own applications."""
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
            _use(state, jobs[-1], profiles)
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
            "others on page Cluster.",
            icon=":material/dns:",
        )
    with st.grid(4, min_column_width=140):
        with st.container():
            count(state, "Nodes", (*SERVERS, "count"), 1, MOST_NODES, "Servers, all alike.")
        with st.container():
            count(state, "GPUs of a node", (*SERVERS, "gpus"), 1, MOST_GPUS, "GPUs of each server.")
        with st.container():
            hint = "Speed that a job on several nodes loses if it shares a node with another such job."
            share(state, "Interference", (*PART, "interference"), hint)
        with st.container():
            hint = "How long a job pauses before it starts, and when its GPUs change."
            quantity(state, "Restart", (*PART, "restart"), hint)
    if groups[0].gpu != "t4":
        gpu = plain(groups[0].gpu)
        st.caption(f"The shipped profiles were measured on NVIDIA T4; they are used for {gpu} as they are.")


def _link(state: AppState, spec: ElasticSpec) -> None:
    """Draw the switch for gradients on the cluster's link, and the fields of that link."""
    hint = (
        "Off: synchronising takes as long as measured. On: jobs on several nodes exchange their gradients "
        "over the link that all servers share, and wait for each other and for background traffic."
    )
    toggle(state, "Gradients cross the link", (*PART, "link"), hint)
    if not spec.link:
        return
    with st.grid(4, min_column_width=140):
        with st.container():
            quantity(state, "Capacity", ("cluster", "network", "capacity"), "Of the link, e.g. 10 Gbit/s.")
        with st.container():
            place = ("background", "network", "utilization")
            share(state, "Background traffic", place, "Part of the link that others use.")


def _link_text(state: AppState) -> str:
    network, others = state.scenario.cluster.network, state.scenario.background.network
    return f"link of {format_bandwidth(network.capacity)}, {share_text(others.utilization)} used by others"


def _policies(state: AppState, spec: ElasticSpec) -> None:
    """The choice of policies; their options are kept."""
    hint = "Every policy that is chosen gets the same jobs. Pollux takes about a minute, the others seconds."
    registered = policy_entries(ELASTIC, "Elastic policies")
    pick_entries(state, "elastic-policies", "Policies", (*PART, "policies"), spec.policies, hint, registered)


def _size(state: AppState) -> None:
    with st.grid(3, min_column_width=140):
        with st.container():
            quantity(state, "Tick", (*PART, "tick"), "How often policies are asked.")
        with st.container():
            hint = "Runs of policies that draw random numbers; 2 or more give intervals. Others have one run."
            count(state, "Replications", ("simulation", "replications"), 1, 1000, hint)
        with st.container():
            count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")
