"""What is on offer: GPUs with layouts and prices, and links."""

from __future__ import annotations

from typing import Any

import streamlit as st

from nona.hardware.mig import maximal_layouts
from nona.planning.prices import listed_prices
from nona.ui.loaded.loading import device_names
from nona.ui.pages.plan.form.edits import OFFERS, PART, add_offer, set_gpu
from nona.ui.pages.workload.edits import add_entry, board_of, remove_entry
from nona.ui.session.state import AppState, Path
from nona.ui.widgets.fields import choice, count, label_text, late, plain, quantity

LINKS: Path = (PART, "links")
WHOLE, EVERY = "whole", "every layout"


def offer_fields(state: AppState) -> None:
    """A row for each kind of server on offer."""
    spec = state.scenario.plan
    names = list(device_names(state.scenario))
    for index in range(len(spec.offers) if spec else 0):
        _offer(state, index, names)
    if spec is not None and not spec.offers:
        st.caption("What the cluster has is on offer. Add a GPU to compare it with others.")
    st.button(
        "Add an offer",
        icon=":material/add:",
        key="plan-add-offer",
        on_click=add_offer,
        args=(state, names),
        help="Another kind of server that could be bought.",
    )
    if state.notice:
        st.warning(plain(state.notice), icon=":material/warning:")


def _offer(state: AppState, index: int, names: list[str]) -> None:
    path: Path = (*OFFERS, index)
    with st.container(border=True, gap="small", key=f"plan-offer-{index}"):
        with st.grid(2, min_column_width=170, vertical_alignment="bottom"):
            _gpu(state, index, names)
            _layout(state, index)
        with st.grid(4, min_column_width=84, vertical_alignment="bottom") as grid:
            price_field(state, label_text(f"{_currency(state)}/h"), (*path, "price"), _listed(state, index))
            count(state, "GPUs each", (*path, "gpus"), 1, 64, "GPUs of a server; the price is of one GPU.")
            _most(state, path)
            with grid.cell():
                st.button(
                    "Remove",
                    icon=":material/delete:",
                    type="tertiary",
                    key=f"plan-remove-offer-{state.revision}-{index}",
                    on_click=remove_entry,
                    args=(state, OFFERS, index),
                    help="Takes this offer out; Undo brings it back.",
                )


def _gpu(state: AppState, index: int, names: list[str]) -> None:
    now = state.value((*OFFERS, index, "gpu"))
    shown = names if now in names else [now, *names]
    revision = state.revision
    key = f"plan-gpu-{revision}-{index}"

    def commit() -> None:
        if not late(state, revision):
            set_gpu(state, index, st.session_state[key])
            state.revision += 1

    st.selectbox("GPU", shown, shown.index(now), key=key, on_change=commit, help="The GPU of these servers.")


def _layout(state: AppState, index: int) -> None:
    """How each GPU is sliced, where it can be."""
    board = board_of(state, state.value((*OFFERS, index, "gpu")))
    if board is None:
        st.selectbox(
            "Sliced",
            [WHOLE],
            disabled=True,
            key=f"plan-whole-{state.revision}-{index}",
            help="It has no MIG.",
        )
        return
    layouts = dict.fromkeys(layout.text for layout in maximal_layouts(board))
    values: dict[str, Any] = {WHOLE: None, EVERY: "all", **{text: text for text in layouts}}
    hint = "MIG slices of every GPU. Every layout: all maximal ones are tried, which takes longer."
    choice(state, "Sliced", (*OFFERS, index, "mig"), values, hint)


def _currency(state: AppState) -> str:
    return str(state.value((PART, "prices", "currency")))


def _listed(state: AppState, index: int) -> float | None:
    gpu = state.value((*OFFERS, index, "gpu"))
    spec = state.scenario.plan
    if spec is not None and gpu in spec.prices.gpus:
        return spec.prices.gpus[gpu]
    listed = listed_prices().get(gpu)
    return None if listed is None else listed.usd_per_hour


def price_field(state: AppState, label: str, path: Path, otherwise: float | None, hint: str = "") -> None:
    """A price per hour as people write it; empty: what holds otherwise."""
    revision = state.revision
    key = f"plan-price-{revision}-{'.'.join(map(str, path))}"
    draft, value = state.drafts.get(path), state.value(path)
    shown = str(draft.value) if draft else "" if value is None else f"{value:.6g}"

    def commit() -> None:
        if not late(state, revision):
            state.edit(path, str(st.session_state[key] or "").strip() or None)

    st.text_input(
        label,
        shown,
        key=key,
        placeholder="none" if otherwise is None else f"{otherwise:.4g}, listed" if otherwise else "0",
        on_change=commit,
        help=hint
        or "Per GPU and hour, or 900/month, or 30000/3years: bought and written off. "
        "Empty: the price of the list under Prices.",
    )
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _most(state: AppState, path: Path) -> None:
    now = state.value((*path, "most"))
    revision = state.revision
    key = f"plan-most-{revision}-{path[-1]}"

    def commit() -> None:
        if not late(state, revision):
            state.edit((*path, "most"), st.session_state[key])

    hint = "Servers of this kind that can be had; empty: as many as the search allows."
    st.number_input("At most", 1, 100_000, now, 1, key=key, placeholder="any", on_change=commit, help=hint)


def link_fields(state: AppState) -> None:
    """Links on offer; without any, the one of the cluster."""
    spec = state.scenario.plan
    links = spec.links if spec else ()
    with st.expander("Links", icon=":material/lan:"):
        st.caption("Capacities of the shared core. Without a row here the cluster's link stays as it is.")
        for index in range(len(links)):
            with st.grid(3, min_column_width=110, vertical_alignment="bottom") as grid:
                quantity(state, "Capacity", (*LINKS, index, "capacity"), "E.g. 25 Gbit/s.")
                price_field(state, "Price", (*LINKS, index, "price"), 0.0, "Per hour, or e.g. 400/month.")
                with grid.cell():
                    st.button(
                        "Remove",
                        icon=":material/delete:",
                        key=f"plan-remove-link-{state.revision}-{index}",
                        on_click=remove_entry,
                        args=(state, LINKS, index),
                    )
        st.button(
            "Add a link",
            icon=":material/add:",
            key="plan-add-link",
            on_click=add_entry,
            args=(state, LINKS, {"capacity": state.value(("cluster", "network", "capacity"))}),
            help="Another capacity that could be had.",
        )
