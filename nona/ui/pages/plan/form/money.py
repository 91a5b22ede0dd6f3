"""Prices of GPUs, servers and data; watts and CO₂."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.planning.prices import listed_prices
from nona.ui.pages.plan.form.edits import PART, WATTS, set_watts
from nona.ui.pages.plan.form.offers import price_field
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import label_text, late, line, number, quantity
from nona.ui.widgets.tables import table

PRICES = (PART, "prices")


def money_fields(state: AppState) -> None:
    """What is paid beside the GPUs, what GPUs draw, and the shipped list with its sources."""
    with st.grid(4, min_column_width=130, vertical_alignment="bottom"):
        line(state, "Currency", (*PRICES, "currency"), "A label only: nothing is converted.")
        hint = "Per server and hour, for all but its GPUs: power, rack, administration."
        price_field(state, "Beside the GPUs", (*PRICES, "server"), 0.0, hint)
        number(state, "Per GB moved", (*PRICES, "gb"), 0.0, 1e6, 0.01, "Over the shared link.", "%.4f")
        hint = "kg of CO₂ per kWh of your electricity; empty: CO₂ is not reckoned."
        quantity(state, "CO₂ per kWh", (*PRICES, "co2_kg_per_kwh"), hint, optional=True, empty="not reckoned")
    spec = state.scenario.plan
    gpus = list(
        dict.fromkeys(
            o.gpu for o in (spec.offers if spec and spec.offers else state.scenario.cluster.servers)
        )
    )
    st.caption(
        "Watts of one GPU, idle and busy. Energy is given where those of all GPUs of an option are known."
    )
    for gpu in gpus:
        _watts(state, gpu)
    st.caption(
        "The shipped prices. They are as of their dates: check them before you buy. *Read there*: the figure "
        "was read at the source; *recollected*: it was not."
    )
    table(
        pd.DataFrame(_listed_rows()),
        "plan-prices",
        "Shipped prices with their dates and sources",
        name="prices",
    )


def _watts(state: AppState, gpu: str) -> None:
    given = state.value(WATTS).get(gpu) or {}
    listed = listed_prices().get(gpu)
    known = {
        "idle": listed.watts_idle if listed else None,
        "busy": listed.watts_busy if listed else None,
    }
    revision = state.revision
    keys = {name: f"plan-watts-{revision}-{gpu}-{name}" for name in known}

    def commit() -> None:
        if not late(state, revision):
            set_watts(state, gpu, {name: st.session_state[key] for name, key in keys.items()})

    with st.grid(2, min_column_width=130):
        for name, key in keys.items():
            otherwise = known[name]
            st.number_input(
                label_text(f"{gpu}, {name}, W"),
                0.0,
                1e6,
                given.get(name),
                1.0,
                format="%.4g",
                key=key,
                placeholder="not known" if otherwise is None else f"{otherwise:.4g}",
                on_change=commit,
                help="What one GPU draws; empty: the listed figure, where there is one.",
            )


def _listed_rows() -> list[dict[str, object]]:
    return [
        {
            "GPU": name,
            "USD per hour": price.usd_per_hour,
            "as of": price.date,
            "source": price.source,
            "provenance": "read there" if price.checked == "yes" else "recollected",
        }
        for name, price in listed_prices().items()
    ]
