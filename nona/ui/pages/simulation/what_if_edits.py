"""The numbers of the what-if panel: their paths in the scenario, and their ranges."""

from __future__ import annotations

from nona.ui.session.state import AppState
from nona.units import quantity_text

FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
LEAST_SERVERS = 8
GROUP, LINK = ("cluster", "servers", 0, "count"), ("cluster", "network", "capacity")


def scaled(rates: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Rates times a factor, to six digits, as they are written into the scenario.

    >>> scaled((1000.0, 1 / 3), 1.1)
    (1100.0, 0.366667)
    """
    return tuple(float(f"{rate * factor:.6g}") for rate in rates)


def load_factor(state: AppState) -> float:
    """The present factor of the rates; rates that were changed elsewhere count as 1."""
    rates = tuple(row.rate for row in state.scenario.workload)
    base, factor = state.choices.get("load", ((), 1.0))
    if factor == 1.0 or scaled(base, factor) != rates:
        state.choices["load"] = base, factor = rates, 1.0
    return float(factor)


def set_load_factor(state: AppState, factor: float) -> None:
    """Multiply all rates, as they were at factor 1."""
    load_factor(state)
    base = state.choices["load"][0]
    wanted = base if factor == 1.0 else scaled(base, factor)
    rows = state.value(("workload",))
    for row, rate in zip(rows, wanted, strict=True):
        row["rate"] = quantity_text(rate, "rate")
    if state.edit(("workload",), rows):
        state.choices["load"] = (base, factor)


def most_servers(state: AppState) -> int:
    """The right end of the slider: twice the count that the scenario came with, or was given elsewhere."""
    count = state.scenario.cluster.servers[0].count
    seen, top = state.choices.get("servers", (-1, 0))
    if seen != state.revision or count > top:
        top = min(max(2 * count, LEAST_SERVERS), 100_000)
        state.choices["servers"] = (state.revision, top)
    return int(top)


def capacities(state: AppState) -> list[str]:
    """Capacities from a sixteenth to sixteen times the one that the scenario came with."""
    here = str(state.value(LINK))
    seen, texts = state.choices.get("capacities", (-1, []))
    if seen != state.revision or here not in texts:
        capacity = state.scenario.cluster.network.capacity
        texts = [here if f == 1 else _text(capacity * f) for f in FACTORS]
        state.choices["capacities"] = (state.revision, texts)
    return list(texts)


def _text(capacity: float) -> str:
    """A capacity to six digits of bits per second."""
    return str(quantity_text(float(f"{8 * capacity:.6g}") / 8, "bandwidth"))
