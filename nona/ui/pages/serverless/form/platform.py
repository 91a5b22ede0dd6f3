"""The platform's own settings, folded away: nodes, prices, noise, containers, dispatch, configurations."""

from __future__ import annotations

import streamlit as st

from nona.scenario.late import LATE
from nona.scenario.serverless import ServerlessSpec
from nona.ui.pages.serverless.form.provenance import provenance_panel
from nona.ui.pages.serverless.form.size_lists import size_list
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, number, quantity, share

PART = "serverless"
WALK_HELP = (
    "Home: OpenWhisk's invoker for the function. Predecessor: the node of the previous stage, where its "
    "output is local. Warm: a node with an idle container. Walk: from home in steps coprime to the number "
    "of nodes."
)


def platform_controls(state: AppState) -> None:
    """All other settings of the simulated platform, each with its default and source."""
    with st.expander("Platform: nodes, prices, containers, dispatch", icon=":material/dns:"):
        _nodes(state)
        _containers(state)
        _memory(state)
        _dispatch(state)
        _configurations(state)
    provenance_panel(state)


def _nodes(state: AppState) -> None:
    st.markdown("**Nodes, prices, noise**")
    server = ("cluster", "servers", 0)
    with st.grid(3, min_column_width=180):
        with st.container():
            count(
                state, "vCPUs per node", (*server, "vcpus"), 1, 4096, "vCPUs that batches can get on a node."
            )
        with st.container():
            hint = "GPUs of a node; each is 7 vGPUs, or as many as its MIG board has slices."
            count(state, "GPUs per node", (*server, "gpus"), 1, 64, hint)
        with st.container():
            hint = "Standard deviation of the factor on every time (Gaussian: recollected; 0.1: assumed)."
            number(state, "Noise", (PART, "noise"), 0.0, 1.0, 0.01, hint)
        with st.container():
            hint = "US dollars per hour for a held vCPU. Recollected from the ESG paper, not confirmed."
            number(state, "vCPU-hour, US$", (PART, "prices", "vcpu_hour"), 0.0, 1e6, 0.001, hint, "%.4f")
        with st.container():
            hint = "US dollars per hour for a held vGPU (a seventh of a GPU). Recollected, not confirmed."
            number(state, "vGPU-hour, US$", (PART, "prices", "vgpu_hour"), 0.0, 1e6, 0.01, hint, "%.3f")
        with st.container():
            kinds = {"take their time alone": "alone", "share the cluster's network": "network"}
            hint = (
                "Alone: latency + bytes / bandwidth, whatever else is on its way. Shared: first come, first "
                "served over the core, and over cards and racks where the cluster has them, with the "
                "background on the network."
            )
            choice(state, "Transfers", (PART, "transfer", "remote"), kinds, hint)
        _transfers(state)


def _transfers(state: AppState) -> None:
    """What the chosen way of transfers needs to know."""
    spec = state.scenario.serverless or ServerlessSpec()
    if spec.transfer.remote == "alone":
        with st.container():
            hint = "Bandwidth to fetch a stage's input from another node. Assumed: 10 Gbit/s."
            quantity(state, "Remote fetch", (PART, "transfer", "remote_bandwidth"), hint)
        return
    with st.container():
        hint = "Of the core, which all transfers between nodes and from outside cross."
        quantity(state, "Network capacity", ("cluster", "network", "capacity"), hint)
    with st.container():
        hint = "Share of every link that other traffic takes."
        share(state, "Background on the network", ("background", "network", "utilization"), hint)
    with st.container():
        hint = "Of each node's card, in each direction by itself; empty: only the core is a limit."
        path = ("cluster", "network", "nic")
        quantity(state, "Card of a node", path, hint, optional=True, empty="no limit")


def _containers(state: AppState) -> None:
    spec = state.scenario.serverless or ServerlessSpec()
    path = (PART, "containers")
    st.markdown("**Cold starts**")
    with st.grid(3, min_column_width=180):
        with st.container():
            hint = "Idle containers of every function on every node at the start; 0: everything starts cold."
            count(state, "Warm at the start", (*path, "warm"), 0, 48, hint)
        with st.container():
            kinds = {"none": "none", "keep a spare one": "spare", "by predicted gaps (EWMA)": "ewma"}
            hint = (
                "Spare: start one more when too few are idle. EWMA: start one in time for the next call "
                "predicted from past gaps (recollected from ESG)."
            )
            choice(state, "Pre-warming", (*path, "prewarm"), kinds, hint)
        with st.container():
            hint = "How long an idle container is kept. 10 minutes: recollected from ESG."
            quantity(state, "Keep alive", (*path, "keep_alive"), hint)
        with st.container():
            hint = (
                "What an idle container pays, of the price of the vCPUs and vGPUs of its last batch (of the "
                "smallest configuration before its first). It holds none of them, so that many warm "
                "containers may cost more than the nodes. 0 %: only batches are paid for. Assumed."
            )
            share(state, "Idle containers pay", (PART, "idle_cost"), hint)
        if spec.containers.prewarm == "spare":
            with st.container():
                count(
                    state,
                    "Spare containers",
                    (*path, "spare"),
                    1,
                    48,
                    "Idle containers to keep per function.",
                )
        elif spec.containers.prewarm == "ewma":
            with st.container():
                hint = "Weight of the latest gap in the average: a higher weight follows changes faster."
                number(state, "EWMA weight", (*path, "ewma_weight"), 0.01, 1.0, 0.05, hint)


def _memory(state: AppState) -> None:
    spec = state.scenario.serverless or ServerlessSpec()
    path = (PART, "memory")
    st.markdown("**Memory of nodes**")
    with st.grid(3, min_column_width=180):
        with st.container():
            kinds = {"holds all containers": "none", "is that of its GPUs": "gpus", "is given": "node"}
            hint = (
                "Containers hold memory while they exist. For one that does not fit, idle ones of the node "
                "go, the least recently used first; where that is not enough, the batch waits."
            )
            choice(state, "Memory of a node", (*path, "limit"), kinds, hint)
        if spec.memory.limit == "node":
            with st.container():
                quantity(state, "Memory per node", (*path, "node"), "Bytes that containers share on a node.")
        if spec.memory.limit != "none":
            with st.container():
                hint = "Of a container of a function of which neither memory nor weights are known. Assumed."
                quantity(state, "Container, need unknown", (*path, "container"), hint)
            with st.container():
                hint = "Beside the weights of a network: context, libraries. Assumed."
                quantity(state, "Beside weights", (*path, "overhead"), hint)


def _dispatch(state: AppState) -> None:
    path = (PART, "dispatch")
    st.markdown("**Dispatch**")
    with st.grid(3, min_column_width=180):
        with st.container():
            orders = {
                "home, warm, walk, most free": ["home", "warm", "walk", "most-free"],
                "home, walk": ["home", "walk"],
                "warm, most free": ["warm", "most-free"],
                "most free": ["most-free"],
            }
            hint = f"Nodes tried for a workflow's first function, in order. {WALK_HELP}"
            choice(state, "First function to", (*path, "first"), orders, hint)
        with st.container():
            later = {
                "predecessor, warm, walk, most free": ["predecessor", "warm", "walk", "most-free"],
                "home, warm, walk, most free": ["home", "warm", "walk", "most-free"],
                "warm, most free": ["warm", "most-free"],
                "most free": ["most-free"],
            }
            hint = f"Nodes tried for the later functions, in order. {WALK_HELP}"
            choice(state, "Later functions to", (*path, "later"), later, hint)
        with st.container():
            orders_of = {"round robin": "round-robin", "least slack first": "least-slack"}
            hint = "Which queue is served first when several may be (the paper is silent)."
            choice(state, "Queues in", (*path, "order"), orders_of, hint)
        with st.container():
            hint = "After this many tries without room the smallest configuration is forced. Assumed."
            count(state, "Rechecks", (*path, "rechecks"), 1, 1_000_000, hint)
        with st.container():
            kinds = {"of its queue only": False, "of the whole controller": True}
            hint = "What waits for a search: its own queue, or all queues of the controller."
            choice(state, "A search takes time", (*path, "blocking"), kinds, hint)
        with st.container():
            rules = {rule.title: rule.name for rule in LATE.values()}
            hint = " ".join(
                [
                    "Jobs that no configuration keeps in time:",
                    *(f"{rule.title}: {rule.about}." for rule in LATE.values()),
                    "A policy's option late comes before it. No source says what ESG does.",
                ]
            )
            choice(state, "Late calls are", (*path, "late"), rules, hint)
        with st.container():
            kinds = {"left out": False, "run as they are": True}
            hint = "Configurations with a batch larger than the queue: skip them, or run them partly full."
            choice(state, "Batches too large are", (*path, "partial"), kinds, hint)


def _configurations(state: AppState) -> None:
    st.markdown("**Configurations**")
    path = (PART, "configurations")
    with st.grid(3, min_column_width=180):
        with st.container():
            size_list(state, "Batch sizes", (*path, "batch"), "Jobs that a batch may hold.")
        with st.container():
            size_list(state, "vCPUs", (*path, "vcpus"), "vCPUs that a batch may get.")
        with st.container():
            size_list(state, "vGPUs", (*path, "vgpus"), "vGPUs that a batch may get; MIG has 1, 2, 3, 4, 7.")
    spec = state.scenario.serverless
    if spec:
        c = spec.configurations
        n = len(c.batch) * len(c.vcpus) * len(c.vgpus)
        st.caption(f"{n} configurations per function; the grid is assumed, the paper says 256.")
