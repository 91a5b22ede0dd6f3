"""The Cluster page: tiles, the editor of a server group, background load, weights that do not fit."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.hardware.cluster import Cluster
from nona.report.inputs.cluster import capacity, memory_rows, weights_problems
from nona.report.inputs.given_times import hardware_notes, hardware_warnings
from nona.results.about import GivenTimes
from nona.ui.loaded.loading import device_names
from nona.ui.pages.cluster.group_edits import remove_group
from nona.ui.pages.cluster.mig_views import mig_editor
from nona.ui.pages.workload.edits import board_of, set_gpu, set_sharing
from nona.ui.pages.workload.row_costs import row_cost
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import count, number, percent, plain, quantity
from nona.ui.widgets.tables import table
from nona.ui.widgets.terms import term
from nona.units import format_bandwidth, format_count, format_size

SHARING = ("Whole GPUs", "MIG slices", "MPS clients")


def capacity_tiles(cluster: Cluster) -> None:
    """Totals of the cluster."""
    total, network = capacity(cluster), cluster.network
    with st.grid(5, min_column_width=130):
        st.metric("Servers", f"{cluster.servers:,}", help="Sum over all groups.")
        kinds = len(cluster.classes)
        st.metric(
            "Executors",
            f"{total.executors:,}",
            help=f"One runs one task at a time: a GPU, a MIG slice or an MPS client. {kinds} kinds here.",
        )
        st.metric("Memory", format_size(total.memory_bytes), help="Device memory of all executors together.")
        st.metric(
            "Compute",
            format_count(total.fp16_flop_per_s, "FLOP/s"),
            help="Peak of all executors together at fp16, dense. Kernels reach only part of it.",
        )
        name = "Core" if network.several_links else "Link"
        st.metric(name, format_bandwidth(network.capacity), help="Capacity that all servers share.")


def memory_section(state: AppState, cluster: Cluster) -> None:
    """Executor memory against the weights of the mix, with a warning for what does not fit."""
    classes = tuple(cluster.classes.values())
    weights: dict[str, float] = {}
    for index, row in enumerate(state.scenario.workload):
        try:
            weights[row.model] = row_cost(state, index, classes[0].name).weight_bytes
        except NonaError:
            continue  # the Workload page says what is wrong with it
    for problem in weights_problems(weights, classes):
        st.warning(plain(f"{problem}."), icon=":material/memory:")
    with st.expander("Memory: which weights fit where", icon=":material/memory:"):
        st.caption(
            "Weights at the precision of the cost model, each parameter once; an executor holds all "
            "weights of every model that may run on it. Activations and workspace are not counted. The "
            "placement decides which models an executor actually holds."
        )
        table(pd.DataFrame(memory_rows(weights, cluster)), "memory", "Memory and weights by executor class")


def hardware_section(state: AppState, cluster: Cluster) -> None:
    """Stated times: a warning for those that are the same on all hardware, a line on those carried over."""
    given: dict[str, GivenTimes] = {}
    names = list(cluster.classes)
    for index, label in enumerate(state.scenario.labels):
        try:
            given[label] = row_cost(state, index, names[0]).given
        except NonaError:
            continue  # the Workload page says what is wrong with it
    for warning in hardware_warnings(given):
        st.warning(plain(warning), icon=":material/speed:")
    for note in [n for name in names for n in hardware_notes(given, name)]:
        st.caption(plain(note))


def group_editor(state: AppState, index: int) -> None:
    """Widgets for one server group."""
    place = ("cluster", "servers", index)
    group = state.scenario.cluster.servers[index]
    board = board_of(state, group.gpu)
    with st.container(border=True, key=f"server-group-{index}"):
        with st.grid(6, min_column_width=108, vertical_alignment="bottom") as grid:
            count(state, "Servers", (*place, "count"), 1, 100_000, "How many servers of this kind there are.")
            _gpu(state, index, group.gpu)
            count(
                state,
                "GPUs each",
                (*place, "gpus"),
                1,
                64,
                "GPUs in every server; each runs its own tasks.",
            )
            count(state, "vCPUs each", (*place, "vcpus"), 1, 4096, "Virtual CPUs in every server.")
            _sharing(state, index, SHARING[1 if group.mig else 2 if group.mps else 0], board)
            with grid.cell():
                _remove(state, index)
        if group.mps:
            count(
                state,
                "MPS clients per GPU",
                (*place, "mps"),
                1,
                48,
                "Processes that share each GPU or slice; each gets an equal part and is an executor.",
            )
        if group.mig and board:
            mig_editor(state, index, board)


def _remove(state: AppState, index: int) -> None:
    st.button(
        "Remove",
        icon=":material/delete:",
        key=f"remove-group-{state.revision}-{index}",
        help="Removes this server group; the last one cannot be removed.",
        disabled=len(state.scenario.cluster.servers) == 1,
        on_click=remove_group,
        args=(state, index),
    )


def _gpu(state: AppState, index: int, gpu: str) -> None:
    names = device_names(state.scenario)
    names = names if gpu in names else (*names, gpu)
    key = f"gpu-{state.revision}-{index}"

    def choose() -> None:
        set_gpu(state, index, st.session_state[key])

    st.selectbox(
        "GPU",
        names,
        names.index(gpu),
        key=key,
        on_change=choose,
        help="The device in these servers sets the task times. A MIG layout that it cannot hold is dropped.",
    )


def _sharing(state: AppState, index: int, sharing: str, board: str | None) -> None:
    key = f"sharing-{state.revision}-{index}"
    options = [s for s in SHARING if board or s != SHARING[1] or sharing == s]

    def choose() -> None:
        set_sharing(state, index, st.session_state[key])

    st.selectbox(
        "Shared as",
        options,
        options.index(sharing),
        key=key,
        on_change=choose,
        help="Whole: one task at a time per GPU. MIG: hardware slices. MPS: clients with equal parts.",
    )


def background_editor(state: AppState) -> None:
    """Load from other users on executors and links."""
    st.subheader("Background load")
    st.caption("Other work on every executor, and other traffic on every link; Poisson arrivals.")
    compute, network = ("background", "compute"), ("background", "network")
    scv = f"{term('SCV')}: 0 constant, 1 exponential; higher means longer waits."
    with st.grid(2, min_column_width=130):
        percent(
            state,
            "Executors busy",
            (*compute, "utilization"),
            "Share of every executor's time that background work takes.",
        )
        percent(
            state,
            "Link busy",
            (*network, "utilization"),
            "Share of every link's capacity that background traffic takes.",
        )
        quantity(
            state,
            "Mean service",
            (*compute, "mean_service"),
            "Mean run time of one background task, e.g. 5 ms.",
        )
        quantity(
            state, "Mean message", (*network, "mean_size"), "Mean size of one background message, e.g. 1 MB."
        )
        number(state, "SCV of service", (*compute, "scv"), 0.0, 1000.0, 0.5, scv)
        number(state, "SCV of message size", (*network, "scv"), 0.0, 1000.0, 0.5, scv)
