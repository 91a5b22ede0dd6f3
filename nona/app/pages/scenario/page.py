"""The Scenario page: what always holds in a bar, then the mix, the servers, the network, all else."""

from __future__ import annotations

import streamlit as st

from nona.app.models.loading import model_names
from nona.app.pages.scenario import cluster as scenario_cluster
from nona.app.pages.scenario.batching import batching_of_all_rows
from nona.app.pages.scenario.cluster_drawing import cluster_drawing
from nona.app.pages.scenario.edits import add_group, add_model, ask_before_adding
from nona.app.pages.scenario.language import another_language_row, language_row, load_tiles
from nona.app.pages.scenario.workload import load_gauges, row_editor, trace_upload
from nona.app.pages.scenario.workload_facts import rates_of
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.fields import button, plain, show_error, shown_at_once
from nona.app.widgets.results import tiles
from nona.app.widgets.terms import guide_link
from nona.cluster.hardware.cluster import Cluster
from nona.cluster.prices import HOURS
from nona.core.errors import NonaError
from nona.core.tables import share_text
from nona.core.units import format_number, format_size
from nona.planning.servers import cost_note, cost_over
from nona.queries.report.clusters import weights_problems
from nona.queries.report.workloads import OfferedLoad


def clusters_of(state: AppState) -> tuple[Cluster | None, Cluster | None]:
    """All servers, and those that run tasks; ``None``, with the reason on the page, where there are none."""
    spec = state.scenario.cluster
    try:
        everything = spec.build(engines=True)
        return everything, None if all(g.engine for g in spec.servers) else spec.build()
    except NonaError as error:
        show_error(error)
        return None, None


def standing(state: AppState, cluster: Cluster | None, load: OfferedLoad | None) -> None:
    """Draw the bar that stays in sight: what the scenario asks of its servers, and what they cost."""
    scenario, rates = state.scenario, rates_of(state)
    best, blind = (
        ("–", "–") if load is None else (share_text(load.background + q, 1) for q in (load.best, load.even))
    )
    requests = load_tiles(state) if scenario.language else []
    at_random = (
        "Load if servers are picked at random",
        blind,
        "Load of the busiest GPU or slice if every one is picked equally often, as local and spread do.",
    )
    queries = [
        (
            "Queries/s",
            "–" if rates is None else format_number(sum(rates), 4),
            "All models together, on average.",
        ),
        (
            "Load, best placement",
            best,
            "Background and queries on the busiest kind of GPU or slice, with the work divided as evenly as "
            "possible. From 100 % on, queues grow without bound.",
        ),
        *([at_random] if all(row.concurrency is None for row in scenario.workload) else []),
        ("Weights in memory", *_weights(state, cluster)),
    ]
    with st.container(key="standing"):
        tiles(
            [
                *(queries if scenario.workload or not requests else []),
                *requests,
                ("Cost per hour", cost_over(scenario, 1.0), plain(cost_note(scenario))),
                (
                    "Cost per month",
                    cost_over(scenario, HOURS["month"]),
                    "Price of all servers around the clock; page Plan has the prices.",
                ),
            ]
        )


def _weights(state: AppState, cluster: Cluster | None) -> tuple[str, str]:
    """Return the share of an executor's memory that all weights take, and what that means."""
    hint = "Weights of all models of the mix, as a share of the memory of the smallest GPU or slice."
    if cluster is None:
        return "–", hint
    classes = tuple(cluster.classes.values())
    weights = scenario_cluster.weights_of(state, classes[0].name)
    if weights_problems(weights, classes):
        return "too large", "The weights do not fit everywhere; the warning under Servers names the models."
    room = min(executor.memory_bytes for executor in classes)
    taken = f"{format_size(sum(weights.values()))} of {format_size(room)}."
    return share_text(sum(weights.values()) / room, 1), f"{hint} {taken}"


def mix(state: AppState, load: OfferedLoad | None) -> None:
    """Draw the models of the mix: load, a card for each, another one; then the language models."""
    rows, training = state.scenario.workload, state.scenario.training
    rates = rates_of(state)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Models", anchor="mix", width="content")
        guide_link("words", "What the words mean")
    language = state.scenario.language
    if rows:
        load_gauges(state, load)
    elif not language:
        with_jobs = "This scenario has training jobs only. " if training is not None else ""
        st.caption(f"{with_jobs}No queries arrive. Choose a model below and add it.")
    if not rows and training is not None:
        st.page_link(page_file("training"), label="Open Training", icon=":material/model_training:")
    for index in shown_at_once(len(rows), "rows-at-once", "Rows"):
        row_editor(state, index, load, rates[index] / sum(rates) if rates and sum(rates) else 0.0)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Another model",
            model_names(state),
            key="another-model",
            width=260,
            help="A sample, or a model that you uploaded.",
        )
        hint = "Adds a row with 10 queries per second."
        button("Add it to the mix", "add-to-mix", add_model, state, chosen, icon="add", hint=hint)
        st.page_link(page_file("models"), label="Look at models", icon=":material/account_tree:")
    ask_before_adding(state)
    if language:
        st.subheader("Language models", anchor="language")
    for index in shown_at_once(len(language), "language-at-once", "Rows"):
        language_row(state, index)
    another_language_row(state)


def servers(state: AppState, cluster: Cluster | None, tasks: Cluster | None) -> None:
    """Draw the groups of servers with their GPUs, and the whole as a drawing.

    ``tasks``: those that run tasks.
    """
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Servers", anchor="servers", width="content")
        guide_link("mig", "How MIG slices a GPU")
    if cluster is not None:
        scenario_cluster.capacity_tiles(cluster, tasks, state.scenario.cost)
    if tasks is not None:
        scenario_cluster.hardware_notices(state, tasks)
    with st.container(key="settings-cluster"):
        for index in shown_at_once(len(state.scenario.cluster.servers), "groups-at-once", "Groups"):
            scenario_cluster.group_editor(state, index)
        hint = "Another kind of server in addition to those above."
        button("Add a server group", "add-server-group", add_group, state, icon="add", hint=hint)
    if cluster is not None:
        cluster_drawing(state.scenario, None)


def links(state: AppState, cluster: Cluster | None) -> None:
    """Draw the network that the servers share, and the load of others."""
    with st.container(key="settings-network"):
        left, right = st.columns(2)
        with left.container(border=True, height="stretch"):
            st.subheader("Network", anchor="network")
            scenario_cluster.core_editor(state)
        with right.container(border=True, height="stretch"):
            scenario_cluster.background_editor(state)
        with st.container(border=True):
            scenario_cluster.path_editor(state, cluster)


def more(state: AppState, cluster: Cluster | None) -> None:
    """Draw what few scenarios need: traces, memory in detail, devices of one's own."""
    st.subheader("More")
    with st.expander("Arrival traces (CSV)", icon=":material/timeline:"):
        trace_upload(state)
    if cluster is not None:
        with st.expander("Memory: which weights fit where", icon=":material/memory:"):
            scenario_cluster.memory_table(state, cluster)
    with st.expander("Batching of all rows", icon=":material/stacks:"):
        batching_of_all_rows(state)
    own = state.scenario.cluster.devices
    with st.expander(
        f"Devices of your own: {len(own)}" if own else "Devices of your own",
        icon=":material/developer_board:",
        expanded=bool(own or state.choices.complaints.get("device-error")),
    ):
        scenario_cluster.device_list(state)
        scenario_cluster.device_form(state)
    with st.expander("All devices, and where their figures come from", icon=":material/table:"):
        scenario_cluster.device_table(state)
