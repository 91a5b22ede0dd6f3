"""GPUs and prices: a row for each group of servers, all of one type of GPU."""

from __future__ import annotations

import streamlit as st

from nona.hardware.catalogue import devices
from nona.planning.prices import Price, listed_prices
from nona.ui.pages.cluster.group_edits import remove_group, replace_groups
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, plain

GROUPS = ("cluster", "servers")
PRICES = ("training", "prices")


def gpu_fields(state: AppState) -> None:
    """Type, servers, GPUs of a server and price of each group; the network is on the page Cluster."""
    groups = state.scenario.cluster.servers
    names = [*devices(), *state.scenario.cluster.devices]
    for number, group in enumerate(groups):
        path = (*GROUPS, number)
        with st.grid(5, min_column_width=118):
            with st.container():
                choice(state, "GPU", (*path, "gpu"), names, "Type of the GPUs of these servers.")
            with st.container():
                count(state, "Servers", (*path, "count"), 1, 100_000, "Servers of this kind.")
            with st.container():
                hint = "GPUs of each server. Jobs on several GPUs are fastest within one server."
                count(state, "GPUs per server", (*path, "gpus"), 1, 64, hint)
            with st.container():
                _price(state, group.gpu, number)
            if len(groups) > 1:
                with st.container(vertical_alignment="bottom", height="stretch"):
                    st.button(
                        "Remove",
                        icon=":material/delete:",
                        key=f"training-remove-{state.revision}-{number}",
                        on_click=remove_group,
                        args=(state, number),
                        help="Takes these servers out of the cluster; Undo brings them back.",
                    )
    st.button(
        "Add a type of GPU",
        icon=":material/add:",
        key="training-add-gpus",
        on_click=_add,
        args=(state, names),
        help="Adds a group of four servers with a type of GPU that the cluster does not have yet.",
    )


def _price(state: AppState, gpu: str, number: int) -> None:
    spec = state.scenario.training
    prices = dict(spec.prices) if spec else {}
    listed = listed_prices().get(gpu)
    key = f"training-price-{state.revision}-{number}-{gpu}"

    def commit() -> None:
        value = st.session_state[key]
        own = {**prices, gpu: value} if value is not None else {k: v for k, v in prices.items() if k != gpu}
        state.edit(PRICES, own)

    st.number_input(
        "Price, $/h",
        0.0,
        1e6,
        prices.get(gpu),
        0.1,
        format="%.2f",
        key=key,
        placeholder=f"{listed.usd_per_hour:.2f}" if listed else "none",
        on_change=commit,
        help=f"US dollars an hour for one GPU of this type, in every group. {_listed_text(listed)}",
    )


def _listed_text(listed: Price | None) -> str:
    if listed is None:
        return "Empty: it costs nothing, because no price is shipped."
    told = plain(f"{listed.source}, {listed.date}")
    return f"Empty: the shipped price, \\${listed.usd_per_hour:.2f} ({told})."


def _add(state: AppState, names: list[str]) -> None:
    groups = state.scenario.cluster.servers
    used = {g.gpu for g in groups}
    preferred = [n for n in ("v100", "p100", "k80", *names) if n in names and n not in used]
    replace_groups(state, [*range(len(groups))], {"count": 4, "gpu": (preferred or names)[0]})
