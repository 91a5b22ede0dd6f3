"""Offers of a plan: GPUs, batches, prices, and their edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import streamlit as st

from nona.app.form import field, form
from nona.app.models.loading import device_names
from nona.app.pages.scenario.edits import add_entry, board_of, remove_entry
from nona.app.session.editing import PlacePath
from nona.app.session.state import AppState
from nona.app.widgets.fields import button, label_text, plain
from nona.app.widgets.results import table
from nona.cluster.hardware.mig import maximal_layouts
from nona.cluster.prices import Price, PriceKind, age_text, listed_prices
from nona.core.tables import currency_sign
from nona.planning.report_plan_options import PRICE_LIST
from nona.scenario.schema import Scenario
from nona.scenario.words import words

PART = "plan"
OFFERS: PlacePath = (PART, "offers")
TARGETS: PlacePath = (PART, "targets")
_OF_OFFER = ("gpu", "mig", "gpus", "vcpus", "mps")


def begin_plan(state: AppState) -> None:
    """Add a part ``plan`` that offers what the cluster has.

    Queries and language models beside each other are each offered their own servers, so none is written.
    """
    mixed = state.scenario.workload and state.scenario.language
    if state.change((PART,), {"offers": [] if mixed else _offers_of(state.scenario)}):
        state.notify(
            "The servers of this cluster are on offer now. Add other GPUs, or find the plan at once."
        )


def begin_count(state: AppState) -> None:
    """Add a part ``plan`` in which the first servers that run tasks grow, under the scenario's schedulers."""
    groups = state.scenario.cluster.servers
    group = next((i for i, g in enumerate(groups) if g.engine is None), 0)
    if state.change((PART,), {"group": group, "schedulers": state.value(("schedulers",))}):
        state.notify("Count servers: the fewest for each scheduler, with all else unchanged.")


def group_field(state: AppState) -> None:
    """Draw the choice of the servers to count; other offers are removed."""
    groups = state.scenario.cluster.servers
    names = {i: f"group {i + 1}: {g.gpu}" for i, g in enumerate(groups) if g.engine is None}

    def choose_group(group: int | None) -> None:
        state.change((PART,), {**state.value((PART,)), "group": group, "offers": []})

    field(state, (PART, "group"), choices={None: words((PART, "group")).none, **names}, edit=choose_group)
    if state.value((PART, "group")) is not None:
        st.caption(
            "The fewest servers that also survive the required losses. With growth, the answer says "
            "how long they suffice."
        )


def end_plan(state: AppState) -> None:
    """Take the part ``plan`` out of the scenario."""
    state.change((PART,), None)


def _offers_of(scenario: Scenario) -> list[dict[str, Any]]:
    offers: list[dict[str, Any]] = []
    grows = scenario.plan.group if scenario.plan else None
    for group in scenario.cluster.servers if grows is None else scenario.cluster.servers[grows : grows + 1]:
        offer = {k: v for k, v in group.model_dump(mode="json").items() if k in _OF_OFFER and v is not None}
        if offer not in offers:
            offers.append(offer)
    return offers


def _add_offer(state: AppState, names: list[str]) -> None:
    plan = state.scenario.plan
    used = {o.gpu for o in plan.offers} if plan else set()
    gpu = next((n for n in names if n not in used), names[0])
    if plan is not None and not plan.offers:  # what the cluster has was on offer without being written
        state.edit(OFFERS, _offers_of(state.scenario))
    add_entry(state, OFFERS, {"gpu": gpu})


def _set_gpu(state: AppState, index: int, gpu: str) -> None:
    """Offer another GPU in that place: layout, clients and price were those of the old one."""
    kept = {k: v for k, v in state.value((*OFFERS, index)).items() if k in ("gpus", "vcpus", "most")}
    state.change((*OFFERS, index), {"gpu": gpu, **kept})


BATCHES: PlacePath = (PART, "batches")
ENGINES: PlacePath = (PART, "engines")
WHOLE, EVERY = "whole", "every layout"


def offer_fields(state: AppState) -> None:
    """Draw the fields of the GPUs that a plan may buy."""
    spec = state.scenario.plan
    names = list(device_names(state.scenario))
    for index in range(len(spec.offers) if spec else 0):
        _offer(state, index, names)
    if spec is not None and not spec.offers:
        what = "What the cluster has" if spec.group is None else "The GPU of that group"
        st.caption(f"{what} is on offer. Add a GPU to compare it with others.")
    hint = "Another kind of server that could be bought."
    button("Add an offer", "plan-add-offer", _add_offer, state, names, icon="add", hint=hint)
    if state.notice:
        st.warning(plain(state.notice), icon=":material/warning:")


def _offer(state: AppState, index: int, names: list[str]) -> None:
    path: PlacePath = (*OFFERS, index)
    with st.container(border=True, gap="small", key=f"plan-offer-{index}"):
        with st.grid(2, min_column_width=170, vertical_alignment="bottom"):
            choices = {name: name for name in names}
            field(state, (*path, "gpu"), choices=choices, edit=lambda gpu: _set_gpu(state, index, gpu))
            _layout(state, index)
        with st.grid(4, min_column_width=84, vertical_alignment="bottom") as grid:
            listed = _otherwise(_listed(state, index))
            price = label_text(f"{currency_sign(str(state.value((PART, 'prices', 'currency'))))}/h")
            field(state, (*path, "price"), price, _dated(state, index), empty=listed)
            field(state, (*path, "gpus"))
            field(state, (*path, "most"), empty="any")
            with grid.cell():
                st.button(
                    "Remove",
                    icon=":material/delete:",
                    type="tertiary",
                    key=f"plan-remove-offer-{state.revision}-{index}",
                    on_click=remove_entry,
                    args=(state, OFFERS, index),
                    help="Removes this offer. Undo brings it back.",
                )


def _layout(state: AppState, index: int) -> None:
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
    field(state, (*OFFERS, index, "mig"), choices={None: WHOLE, "all": EVERY, **{t: t for t in layouts}})


def _kind(state: AppState) -> PriceKind:
    spec = state.scenario.plan
    return spec.prices.kind if spec else "on-demand"


def _age(price: Price) -> str:
    return age_text(price.date, date.today())


def _dated(state: AppState, index: int) -> str:
    price = listed_prices(_kind(state)).get(state.value((*OFFERS, index, "gpu")))
    return f" It is as of {price.date}: {_age(price)}." if price else ""


def _listed(state: AppState, index: int) -> float | None:
    gpu = state.value((*OFFERS, index, "gpu"))
    spec = state.scenario.plan
    if spec is not None and gpu in spec.prices.gpus:
        return spec.prices.gpus[gpu]
    listed = listed_prices(_kind(state)).get(gpu)
    return None if listed is None else listed.usd_per_hour


def _otherwise(price: float | None) -> str:
    return "none" if price is None else f"{price:.4g}, listed"


def batch_fields(state: AppState) -> None:
    """Batches on offer; without any, those of the workload's rows."""
    spec = state.scenario.plan
    with st.expander("Batches", icon=":material/stacks:"):
        st.caption(
            "Each row is a largest batch for all models. Without a row, the scenario's batching applies."
        )
        hint = "Another largest batch to try; 1: one query at a time."
        count = len(spec.batches) if spec else 0
        _entry_rows(state, BATCHES, count, ("size", "delay"), "batch", {"size": 4}, hint)


def roles_text(scenario: Scenario) -> str:
    """Return the roles of the cluster's engines."""
    engines = (group.engine for group in scenario.cluster.servers)
    apart = any(engine is not None and engine.role != "both" for engine in engines)
    return f"prefill and decode {'apart' if apart else 'together'}, as in the cluster"


def engine_fields(state: AppState) -> None:
    """Engine settings on offer; without any, those of the cluster's engines."""
    spec = state.scenario.plan
    with st.expander("Roles (prefill, decode) and settings of engines", icon=":material/tune:"):
        st.caption(f"Each setting is tried on every offer. Without a row here: {roles_text(state.scenario)}.")
        hint = "Other settings to try on every offer."
        count = len(spec.engines) if spec else 0
        keys = ("roles", "scheduler", "budget", "sequences", "prefix_cache")
        _entry_rows(state, ENGINES, count, keys, "setting", {}, hint)


def _entry_rows(
    state: AppState,
    path: PlacePath,
    count: int,
    keys: Sequence[str],
    noun: str,
    new: Mapping[str, object],
    hint: str,
) -> None:
    """Draw a row of fields for each entry, with a button to remove it, and one to add another."""
    for index in range(count):
        with st.grid(len(keys) + 1, min_column_width=110, vertical_alignment="bottom") as grid:
            for key in keys:
                field(state, (*path, index, key))
            with grid.cell():
                st.button(
                    "Remove",
                    icon=":material/delete:",
                    key=f"plan-remove-{noun}-{state.revision}-{index}",
                    on_click=remove_entry,
                    args=(state, path, index),
                )
    button(f"Add a {noun}", f"plan-add-{noun}", add_entry, state, path, new, icon="add", hint=hint)


PRICES = (PART, "prices")


def money_fields(state: AppState) -> None:
    """Draw the fields of prices and the table of shipped prices."""
    form(state, PRICES, "currency server gb", 3, 130)
    field(state, (*PRICES, "kind"))
    st.caption(
        "Shipped prices, each with its date: check them before you buy. *Read there*: read at the source. "
        "*Recollected*: from memory."
    )
    alt = "Shipped prices with their dates and sources"
    table(PRICE_LIST.fill(listed_prices(_kind(state))), "plan-prices", alt, name="prices")
