"""The copy of the scenario that the what-if sliders change: its numbers, Apply and Discard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nona.report.simulations.compared.scenario_diff import change_text
from nona.scenario.schema import Scenario
from nona.study import Number, number_named, numbers_of
from nona.study.sweeps.numbers import CAPACITY, LOAD
from nona.ui.session.state import AppState

FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
LEAST_SERVERS, MOST_SERVERS = 8, 100_000
Standing = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Move:
    """A number of the copy (SI), and where it stood in the scenario when it was moved."""

    stood: Standing
    value: float


@dataclass(frozen=True, slots=True)
class Copy:
    """The moved numbers by their keys."""

    moves: Mapping[str, Move] = field(default_factory=dict)


def value(state: AppState, number: Number) -> float:
    """The number as it stands in the copy (SI)."""
    move = moves(state).get(number.key)
    return number.of(state.scenario) if move is None else move.value


def moves(state: AppState) -> dict[str, Move]:
    """The moves that still hold: those of numbers that have not been changed in the scenario since."""
    known = {n.key: n for n in numbers_of(state.scenario)}
    return {
        key: move
        for key, move in state.choices.of(Copy).moves.items()
        if key in known and move.stood == _standing(state.scenario, known[key])
    }


def move(state: AppState, number: Number, value: float) -> None:
    """Set a number of the copy; the scenario stays."""
    held = moves(state)
    if value == number.of(state.scenario):
        held.pop(number.key, None)
    else:
        held[number.key] = Move(_standing(state.scenario, number), value)
    state.choices.keep(Copy(held))


def copied(state: AppState) -> Scenario:
    """The scenario with the moved numbers; the scenario itself where none is moved.

    Raises
    ------
    ScenarioError
        When a number breaks a rule of this scenario.
    """
    found = state.scenario
    for key, moved in moves(state).items():
        found = number_named(state.scenario, key).set(found, moved.value)
    return found


def changed_text(state: AppState) -> str:
    """What is different in the copy; empty where nothing is."""
    return change_text(state.scenario, copied(state)) if moves(state) else ""


def apply(state: AppState) -> None:
    """Take the copy as the scenario, as one step to undo."""
    changed = changed_text(state)
    if changed:
        state.apply(copied(state), f"what if: {changed}")
        state.toast = "The scenario has these numbers now. Undo takes them back."
    discard(state)


def discard(state: AppState) -> None:
    """Make the copy equal to the scenario again."""
    state.choices.keep(Copy())


def most_servers(scenario: Scenario) -> int:
    """The right end of the slider of servers: twice the scenario's count.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 12}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> most_servers(parse_scenario(text))
    24
    """
    return min(max(2 * scenario.cluster.servers[0].count, LEAST_SERVERS), MOST_SERVERS)


def capacities(scenario: Scenario) -> list[float]:
    """Capacities (bytes/s) from a sixteenth to sixteen times the scenario's, to six digits in bits."""
    here = number_named(scenario, CAPACITY).of(scenario)
    return [here if f == 1 else float(f"{8 * here * f:.6g}") / 8 for f in FACTORS]


def _standing(scenario: Scenario, number: Number) -> Standing:
    if number.key == LOAD:
        return scenario.name, tuple(row.rate for row in scenario.workload)
    return scenario.name, (number.of(scenario),)
