"""The numbers of the what-if panel: their paths in the scenario, and their ranges."""

from __future__ import annotations

from dataclasses import dataclass

from nona.ui.session.state import AppState
from nona.units import quantity_text

FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
LEAST_SERVERS = 8
GROUP, LINK = ("cluster", "servers", 0, "count"), ("cluster", "network", "capacity")


@dataclass(frozen=True, slots=True)
class Load:
    """The rates at factor 1, and the factor that they stand at."""

    base: tuple[float, ...] = ()
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class MostServers:
    """The right end of the slider, as of a revision of the session."""

    revision: int = -1
    top: int = 0


@dataclass(frozen=True, slots=True)
class Capacities:
    """The capacities of the slider, as of a revision of the session."""

    revision: int = -1
    texts: tuple[str, ...] = ()


def scaled(rates: tuple[float, ...], factor: float) -> tuple[float, ...]:
    """Rates times a factor, to six digits, as they are written into the scenario.

    >>> scaled((1000.0, 1 / 3), 1.1)
    (1100.0, 0.366667)
    """
    return tuple(float(f"{rate * factor:.6g}") for rate in rates)


def load_factor(state: AppState) -> float:
    """The present factor of the rates; rates that were changed elsewhere count as 1."""
    rates = tuple(row.rate for row in state.scenario.workload)
    load = state.choices.of(Load)
    if load.factor == 1.0 or scaled(load.base, load.factor) != rates:
        load = Load(rates)
        state.choices.keep(load)
    return load.factor


def set_load_factor(state: AppState, factor: float) -> None:
    """Multiply all rates, as they were at factor 1."""
    load_factor(state)
    base = state.choices.of(Load).base
    wanted = base if factor == 1.0 else scaled(base, factor)
    rows = state.value(("workload",))
    for row, rate in zip(rows, wanted, strict=True):
        row["rate"] = quantity_text(rate, "rate")
    if state.edit(("workload",), rows):
        state.choices.keep(Load(base, factor))


def most_servers(state: AppState) -> int:
    """The right end of the slider: twice the count that the scenario came with, or was given elsewhere."""
    count = state.scenario.cluster.servers[0].count
    held = state.choices.of(MostServers)
    if held.revision != state.revision or count > held.top:
        held = MostServers(state.revision, min(max(2 * count, LEAST_SERVERS), 100_000))
        state.choices.keep(held)
    return held.top


def capacities(state: AppState) -> list[str]:
    """Capacities from a sixteenth to sixteen times the one that the scenario came with."""
    here = str(state.value(LINK))
    held = state.choices.of(Capacities)
    if held.revision != state.revision or here not in held.texts:
        capacity = state.scenario.cluster.network.capacity
        texts = tuple(here if f == 1 else _text(capacity * f) for f in FACTORS)
        held = Capacities(state.revision, texts)
        state.choices.keep(held)
    return list(held.texts)


def _text(capacity: float) -> str:
    """A capacity to six digits of bits per second."""
    return str(quantity_text(float(f"{8 * capacity:.6g}") / 8, "bandwidth"))
