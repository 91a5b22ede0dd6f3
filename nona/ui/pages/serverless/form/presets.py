"""The named settings of the ESG paper: how strict the SLO is, how much load there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from nona.ui.session.state import AppState
from nona.ui.widgets.fields import number, quantity

SLO_PATH = ("serverless", "slo_factor")
LOAD_PATH = ("serverless", "interval")
OWN = "own"
SLOS = {"strict": 0.8, "moderate": 1.0, "relaxed": 1.2}
LOADS = {"light": ("40 ms", "67.2 ms"), "normal": ("20 ms", "33.6 ms"), "heavy": ("10 ms", "16.8 ms")}
SLO_HELP = (
    "The deadline from a call's arrival to its last stage's end, as a multiple of L: the workflow's time "
    "with every function at batch 1, 1 vCPU, 1 vGPU. Strict 0.8 L, moderate 1.0 L, relaxed 1.2 L (from the "
    "ESG slides); as on Workload: each row's own SLO."
)
LOAD_HELP = (
    "Gaps between calls of all workflows together, drawn uniformly: light 40 to 67.2 ms, normal 20 to 33.6 "
    "ms, heavy 10 to 16.8 ms. Recollected from the ESG paper, not confirmed. As on Workload: each row's own "
    "rate and arrival process."
)


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The rows that stand at ``own``, even while their values are those of a named setting."""

    keys: frozenset[str] = frozenset()


def slo_preset(state: AppState) -> None:
    """SLO strictness: a named setting, an own factor, or the rows' own SLOs."""
    names = {"strict": "strict 0.8 L", "moderate": "moderate 1 L", "relaxed": "relaxed 1.2 L"}
    shown = slo_name(state)

    def take(name: str) -> None:
        if name in SLOS:
            state.edit(SLO_PATH, SLOS[name])
        else:
            state.edit(SLO_PATH, (state.value(SLO_PATH) or 1.0) if name == OWN else None)

    _switch(state, "SLO", "slo-preset", names, shown, take, SLO_HELP)
    if shown == OWN:
        hint = "Every workflow's SLO is this many times its L. Above 1: relaxed."
        number(state, "SLO factor", SLO_PATH, 0.05, 100.0, 0.05, hint)


def load_preset(state: AppState) -> None:
    """Load: a named setting, own gaps, or the rows' own rates."""
    shown = load_name(state)

    def take(name: str) -> None:
        now = state.value(LOAD_PATH) or {"least": "20 ms", "most": "33.6 ms"}
        if name in LOADS:
            least, most = LOADS[name]
            state.edit(LOAD_PATH, {"least": least, "most": most})
        else:
            state.edit(LOAD_PATH, now if name == OWN else None)

    names = {name: name for name in LOADS}
    _switch(state, "Load", "load-preset", names, shown, take, LOAD_HELP)
    if shown == OWN:
        left, right = st.columns(2)
        with left:
            quantity(
                state, "Shortest gap", (*LOAD_PATH, "least"), "The shortest time from a call to the next."
            )
        with right:
            quantity(state, "Longest gap", (*LOAD_PATH, "most"), "The longest time from a call to the next.")


def slo_name(state: AppState) -> str:
    """Which SLO setting the scenario has: a preset's name, ``own``, or ``rows``."""
    factor = state.scenario.serverless.slo_factor if state.scenario.serverless else None
    if factor is None:
        return "rows"
    preset = next((name for name, value in SLOS.items() if abs(value - factor) < 1e-9), OWN)
    return OWN if "slo-preset" in state.choices.of(OwnSettings).keys else preset


def load_name(state: AppState) -> str:
    """Which load setting the scenario has: a preset's name, ``own``, or ``rows``."""
    interval = state.scenario.serverless.interval if state.scenario.serverless else None
    if interval is None:
        return "rows"
    value = state.value(LOAD_PATH)
    preset = next((n for n, (a, b) in LOADS.items() if (a, b) == (value["least"], value["most"])), OWN)
    return OWN if "load-preset" in state.choices.of(OwnSettings).keys else preset


def _switch(
    state: AppState,
    label: str,
    key: str,
    names: dict[str, str],
    shown: str,
    take: Callable[[str], None],
    hint: str,
) -> None:
    """One row of named settings; the scenario changes with a click."""
    texts = {**names, OWN: "own", "rows": "as on Workload"}
    drawn = state.revision
    own = f"{key}-{drawn}-{shown}"

    def commit() -> None:
        if state.revision != drawn:
            return  # the demo, say, has opened another scenario meanwhile
        name = next((n for n, t in texts.items() if t == st.session_state[own]), shown)
        own_keys = state.choices.of(OwnSettings).keys - {key}
        state.choices.keep(OwnSettings(own_keys | {key} if name == OWN else own_keys))
        take(name)

    st.segmented_control(
        label, list(texts.values()), default=texts[shown], required=True, key=own, help=hint, on_change=commit
    )
