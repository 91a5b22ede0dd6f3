"""The servers of the Scenario page: server groups, background load, the network, devices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from nona.app.form import field, fields, form
from nona.app.models.loading import device_names
from nona.app.pages.scenario import edits as scenario_edits
from nona.app.pages.scenario.language import engine_editor
from nona.app.pages.scenario.mig import mig_editor
from nona.app.pages.scenario.workload_facts import row_cost
from nona.app.session.state import AppState
from nona.app.widgets.fields import acting, button, choose_one, plain, selector
from nona.app.widgets.results import picture, table, tiles
from nona.cluster.hardware.cluster import Cluster
from nona.cluster.hardware.device import Device, Precision, devices, links, user_devices
from nona.cluster.hardware.executor import sharing_warnings
from nona.core.document import GivenTimes
from nona.core.errors import NonaError
from nona.core.units import format_bandwidth, format_count, format_size, format_time
from nona.models.times_report import hardware_notes, hardware_warnings
from nona.queries.chart_data import LinkLoad
from nona.queries.report.clusters import DEVICES, capacity, memory, weights_problems
from nona.queries.report.series import STAGES, link_stages, links_figure, stages_figure
from nona.queries.workflows.rows import held_bytes
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.schema import CostSpec

SHARING = ("Whole GPUs", "MIG slices", "MPS clients", "Concurrent")


def capacity_tiles(cluster: Cluster, tasks: Cluster | None, cost: CostSpec) -> None:
    """Show servers, executors, memory, compute and link capacity as tiles."""
    total, network = capacity(cluster, tasks, cost), cluster.network
    kinds = f"{len(cluster.classes)} kinds here"
    hint = (
        "Dense peak of all GPUs at the precision that the models use (*Runs as*); kernels reach a part of it."
    )
    flops = format_count(total.flop_per_s, "FLOP/s")
    name = "Core" if network.several_links else "Link"
    tiles(
        [
            ("Servers", f"{cluster.servers:,}", "Sum over all server groups."),
            ("Executors", f"{total.executors:,}", f"A GPU, a MIG slice or an MPS client each; {kinds}."),
            ("Memory", format_size(total.memory_bytes), "Device memory of all executors together."),
            (f"Compute, {' and '.join(total.precisions)}", flops, hint),
            (name, format_bandwidth(network.capacity), "Capacity that all servers share."),
        ]
    )


def weights_of(state: AppState, executor: str) -> dict[str, float]:
    """Bytes that each model of the mix holds on one kind of executor: weights, and of batches activations."""
    weights: dict[str, float] = {}
    for index, row in enumerate(state.scenario.workload):
        with suppress(NonaError):  # the model's card says what is wrong with it
            size_bytes = held_bytes(state.scenario.batching_of(row), row_cost(state, index, executor))
            weights[row.model] = max(weights.get(row.model, 0.0), size_bytes)
    return weights


def memory_table(state: AppState, cluster: Cluster) -> None:
    """Show the memory and the weights of each executor class."""
    st.caption(
        "Weights at the precision of the cost model, each parameter once. A GPU or slice holds the weights "
        "of every model that may run on it; the placement decides which models. Activations count only where "
        "queries are batched; workspace never counts."
    )
    rows = memory(weights_of(state, next(iter(cluster.classes))), cluster)
    table(rows, "memory", "Memory and weights by executor class")


def hardware_notices(state: AppState, cluster: Cluster) -> None:
    """Warn of weights that do not fit and of times that are the same on all hardware; name carried ones."""
    names = list(cluster.classes)
    for problem in weights_problems(weights_of(state, names[0]), tuple(cluster.classes.values())):
        st.warning(plain(f"{problem}."), icon=":material/memory:")
    given: dict[str, GivenTimes] = {}
    for index, label in enumerate(state.scenario.labels):
        with suppress(NonaError):  # the model's card says what is wrong with it
            given[label] = row_cost(state, index, names[0]).given
    for warning in hardware_warnings(given):
        st.warning(plain(warning), icon=":material/speed:")
    for warning in sharing_warnings(names):
        st.warning(plain(warning), icon=":material/splitscreen:")
    for note in dict.fromkeys(n for name in names for n in hardware_notes(given, name)):
        st.caption(plain(note))


def group_editor(state: AppState, index: int) -> None:
    """Draw the fields of one server group."""
    place = ("cluster", "servers", index)
    group = state.scenario.cluster.servers[index]
    board = scenario_edits.board_of(state, group.gpu)
    with st.container(border=True, key=f"server-group-{index}"):
        with st.grid(6, min_column_width=108, vertical_alignment="bottom") as grid:
            field(state, (*place, "count"))
            names = {name: name for name in device_names(state.scenario)}
            dropped = "A MIG layout that it cannot hold is dropped."
            field(
                state,
                (*place, "gpu"),
                more=dropped,
                choices=names,
                edit=lambda gpu: scenario_edits.set_gpu(state, index, gpu),
            )
            field(state, (*place, "gpus"), edit=partial(scenario_edits.set_gpus, state, index))
            field(state, (*place, "vcpus"))
            if group.engine is None:
                _sharing(state, index, _shared_as(group), board)
            with grid.cell():
                _remove(state, index)
        if group.mps:
            field(state, (*place, "mps"))
        if group.instances:
            with st.grid(3, min_column_width=150):
                fields(state, (*place, "instances"), "most speed")
        if group.mig and board:
            mig_editor(state, index, board)
        engine_editor(state, index)


def _shared_as(group: ServerGroupSpec) -> str:
    return SHARING[1 if group.mig else 2 if group.mps else 3 if group.instances else 0]


def _remove(state: AppState, index: int) -> None:
    st.button(
        "Remove",
        icon=":material/delete:",
        key=f"remove-group-{state.revision}-{index}",
        help="Removes this server group; the last one cannot be removed.",
        disabled=len(state.scenario.cluster.servers) == 1,
        on_click=scenario_edits.remove_group,
        args=(state, index),
    )


def _sharing(state: AppState, index: int, sharing: str, board: str | None) -> None:
    options = [s for s in SHARING if board or s != SHARING[1] or sharing == s]
    hint = (
        "Whole: one task at a time per GPU. MIG: hardware slices. MPS: clients with equal shares. "
        "Concurrent: several tasks at once without limits between them, as Triton runs its instances."
    )
    take = partial(scenario_edits.set_sharing, state, index)
    selector("Shared as", options, sharing, f"sharing-{state.revision}-{index}", take, hint)


def background_editor(state: AppState) -> None:
    """Draw the fields of the background load."""
    st.subheader("Background load")
    st.caption("Other work on every GPU or slice, and other traffic on every link; Poisson arrivals.")
    with st.grid(2, min_column_width=130):
        field(state, "background.compute.utilization", slider=True)
        field(state, "background.network.utilization", slider=True)
        fields(state, "background", "compute.mean_service network.mean_size compute.scv network.scv")


def core_editor(state: AppState) -> None:
    """Draw the fields of the link that all servers share."""
    network = state.scenario.cluster.network
    st.caption(
        "The one link that all servers share, the bottleneck."
        if network.nic is None
        else "The core, which messages between racks cross; network cards and racks are below."
    )
    with st.grid(2, min_column_width=130):
        field(state, "cluster.network.capacity")
        field(state, "cluster.network.latency")
        if network.nic is None:
            field(state, "cluster.network.discipline")
    with st.popover("Use a common link", icon=":material/cable:"):
        for name, link in links().items():
            hint = (
                f"{format_bandwidth(link.capacity)}, {format_time(link.latency_s)} latency. "
                f"{plain(link.fact.source)} ({link.fact.checked})."
            )
            button(
                plain(link.label or name),
                f"link-{name}",
                scenario_edits.use_link,
                state,
                name,
                hint=hint,
                type="tertiary",
            )


def path_editor(state: AppState, cluster: Cluster | None) -> None:
    """Draw the fields of cards and racks, and the links that result."""
    st.subheader("Links on the path")
    network = state.scenario.cluster.network
    now = scenario_edits.LINK_SETS[0 if network.nic is None else 1 if network.racks is None else 2]
    st.segmented_control(
        "Links",
        scenario_edits.LINK_SETS,
        default=now,
        **acting(f"links-{state.revision}", partial(scenario_edits.set_links, state)),
        required=True,
        help="Which links a message crosses besides the core; each has its own queue.",
    )
    if network.nic is None:
        st.caption(
            "Messages between servers cross only the core. With network cards, each server's traffic in and "
            "out queues as well; with racks, traffic that leaves a rack shares an uplink."
        )
        return
    form(state, "cluster.network", "nic racks.size racks.uplink", 3, 130)
    if cluster is not None:
        _picture(cluster)
    st.caption(
        "Every link is first come, first served and carries the same share of background traffic. "
        "Simulation, placement and prediction model all of them."
    )


def _picture(cluster: Cluster) -> None:
    stages = link_stages(cluster.network, cluster.servers)
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.plotly_chart(
        stages_figure(stages), key="stages", alt="Capacity of all links of each stage on a message's path"
    )
    with right:
        table(STAGES.fill(stages), "link-table", "Links of each stage and their capacity")


def busiest_links_panel(loads: Sequence[LinkLoad]) -> None:
    """Show the busiest links of one scheduler; nothing where there is but one link."""
    if loads:
        st.subheader("The busiest links")
        picture(links_figure(loads), key="busiest-links", alt="Utilisation of the busiest links")


FIELDS = {
    "fp32": "Dense peak at single precision; it also replaces missing peaks.",
    "fp16": "Dense peak at half precision on the tensor cores.",
    "memory": "Device memory, which must hold the weights.",
    "bandwidth": "Bandwidth of the device memory: limits kernels that move much data and compute little.",
}
BASE_PEAKS: tuple[Precision, ...] = ("fp32", "fp16")


def device_list(state: AppState) -> None:
    """List the scenario's own devices with their fields."""
    own = state.scenario.cluster.devices
    if not own:
        st.caption("You have no device of your own yet. Add one that the catalogue lacks.")
    used = {g.gpu for g in state.scenario.cluster.servers}
    for name, attributes in own.items():
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            figures = ", ".join(f"{k} {v}" for k, v in attributes.items())
            st.markdown(f"**{plain(name)}** · {plain(figures)}", width="stretch")
            st.button(
                "Remove",
                icon=":material/delete:",
                key=f"remove-device-{state.revision}-{name}",
                help="In use by a server group: choose another GPU there first."
                if name in used
                else "Removes this device from the scenario.",
                disabled=name in used,
                on_click=scenario_edits.remove_device,
                args=(state, name),
            )


def device_table(state: AppState) -> None:
    """Show all known devices with their figures and sources."""
    own: dict[str, Device] = {}
    with suppress(NonaError):
        own = user_devices(state.scenario.cluster.devices)
    rows = DEVICES.fill([*{**devices(), **own}.values()])
    table(rows, "devices", "All known devices with their figures and sources")


def device_form(state: AppState) -> None:
    """Draw the form that adds a device to the scenario."""
    problem = state.choices.complaints.get("device-error", "")
    hint = "Empty fields use this device's figures, shown in grey."
    base = choose_one("Starts from", list(devices()), "device-base", hint)
    figures = _base_figures(devices()[base])
    with st.form("own-device", border=False):
        with st.container():
            st.text_input(
                "Name", key="device-name", persist_state="session", help="The name that server groups use."
            )
            _report_problem(problem, "name")
        with st.grid(4, min_column_width=130):
            for name, about in FIELDS.items():
                with st.container():
                    st.text_input(
                        name,
                        placeholder=figures[name],
                        key=f"device-{name}",
                        persist_state="session",
                        help=about,
                    )
                    _report_problem(problem, name)
        st.form_submit_button("Add this device", on_click=_add, args=(state,))
    if problem and not any(_names(problem, f) for f in ("name", *FIELDS)):
        st.error(plain(problem), icon=":material/error:")


def _base_figures(device: Device) -> dict[str, str]:
    """Return the figures of ``device`` that empty fields of the form take over.

    >>> _base_figures(devices()["t4"])
    {'fp32': '8.1 TFLOP/s', 'fp16': '65 TFLOP/s', 'memory': '16 GB', 'bandwidth': '320 GB/s'}
    """
    peaks = {str(name): format_count(device.peak(name), "FLOP/s") for name in BASE_PEAKS}
    return {
        **peaks,
        "memory": format_size(device.memory_bytes),
        "bandwidth": f"{format_size(device.bandwidth)}/s",
    }


def _names(problem: str, field: str) -> bool:
    """Return whether an error is about ``field``; one about the name mentions no field."""
    message = problem.partition(": ")[2]
    if field == "name":
        return message.startswith(("a name is", "its name"))
    return message.startswith((f"{field}=", f"{field} is"))


def _report_problem(problem: str, field: str) -> None:
    if problem and _names(problem, field):
        st.error(plain(problem), icon=":material/error:")


def _add(state: AppState) -> None:
    given = {k: str(st.session_state[f"device-{k}"] or "") for k in ("base", *FIELDS)}
    name = str(st.session_state["device-name"] or "").strip()
    problem = state.choices.complaints["device-error"] = scenario_edits.add_device(state, name, given)
    if not problem:
        state.notify(
            f"Device {name} was added: choose it as the GPU of a server group, or see its times in",
            "models",
            "Models",
        )
