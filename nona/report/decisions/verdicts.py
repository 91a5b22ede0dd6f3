"""Whether a ratio meets its goal, judged by its interval, and how many do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Data = Mapping[str, Any]
GOAL = 1.01  # a ratio of at most that is as good as the best
LIVE_GOAL = 1.02
GAIN, FASTER = 0.05, 0.99  # where the bound leaves more than the first, the ratio shall be below the second
GAP_TARGETS: Mapping[float, float] = {25.0: 0.05, 200.0: 0.15}  # link, Gbit/s → the gap aimed at
WITHIN = 0.10  # of the simulated mean: a prediction that is close


@dataclass(frozen=True, slots=True)
class Question:
    """What a ratio of the data compares: ``name`` over the best of ``rivals``."""

    key: str
    name: str
    rivals: str
    goal: float


QUESTIONS: Mapping[str, Question] = {
    q.key: q
    for q in (
        Question("blind", "nona", "the best other scheduler that does not see queues", GOAL),
        Question("live", "nona-live", "the best of all other schedulers", LIVE_GOAL),
    )
}


def compared(data: Data, key: str) -> list[Data]:
    """The cells that answer a question: there is a ratio, and for ``blind`` something to distribute."""
    return [
        cell
        for cell in data["cells"]
        if cell.get(key) is not None and (key == "live" or cell["link"] is not None)
    ]


def unsteady(data: Data, key: str) -> list[Data]:
    """The cells in which the scheduler that a question is about has no steady state, so no ratio."""
    name = QUESTIONS[key].name
    return [
        cell
        for cell in data["cells"]
        if "reason" in cell.get("schedulers", {}).get(name, {})
        and (key == "live" or cell["link"] is not None)
    ]


def verdict(answer: Data, goal: float) -> str:
    """``met``: at most ``goal``; ``missed``: the whole interval is above; ``open``: above, not significantly.

    >>> [verdict({"ratio": r, "low": r - 0.01}, 1.01) for r in (0.9, 1.015, 1.2)]
    ['met', 'open', 'missed']
    """
    if answer["ratio"] <= goal:
        return "met"
    low = answer["low"]
    return "missed" if low is not None and low > goal else "open"


def counts(cells: Iterable[Data], key: str, goal: float) -> dict[str, int]:
    """Verdict → number of cells."""
    found = dict.fromkeys(("met", "open", "missed"), 0)
    for cell in cells:
        found[verdict(cell[key], goal)] += 1
    return found


@dataclass(frozen=True, slots=True)
class Sides:
    """Numbers of cells in which a scheduler is faster than its best rival, within ``margin``, or slower.

    Cells in which it has no steady state count as slower.
    """

    faster: int
    equal: int
    slower: int
    margin: float

    @property
    def cells(self) -> int:
        """All of them."""
        return self.faster + self.equal + self.slower


def sides(data: Data, key: str) -> Sides:
    """Count the cells of a question by the goal's margin.

    >>> cells = [{"link": 25, "blind": {"ratio": r}} for r in (0.8, 1.005, 1.2)]
    >>> sides({"cells": cells}, "blind")
    Sides(faster=1, equal=1, slower=1, margin=0.01)
    """
    margin = round(QUESTIONS[key].goal - 1, 6)
    ratios = [c[key]["ratio"] for c in compared(data, key)]
    faster = sum(r < 1 - margin for r in ratios)
    slower = sum(r > 1 + margin for r in ratios)
    lost = len(unsteady(data, key))
    return Sides(faster, len(ratios) - faster - slower, slower + lost, margin)


def promising(data: Data) -> list[Data]:
    """Cells in which the bound leaves significantly more than :data:`GAIN` to gain over the best rival."""
    return [
        c
        for c in compared(data, "blind")
        if c["potential"] is not None and c["potential"]["low"] is not None and c["potential"]["low"] > GAIN
    ]


def gained(cells: Iterable[Data]) -> int:
    """The number of cells in which nona takes less than :data:`FASTER` of the best rival's time."""
    return sum(c["blind"]["ratio"] < FASTER for c in cells)


def worst(data: Data, key: str, most: int = 10) -> list[Data]:
    """The cells with the largest ratios, the largest first."""
    return sorted(compared(data, key), key=lambda c: -c[key]["ratio"])[:most]


def ratios_to(data: Data, name: str, other: str) -> list[tuple[float, Data]]:
    """(mean of ``name`` / mean of ``other``, cell) of every cell in which both have a steady state."""
    pairs = []
    for cell in data["cells"]:
        held = cell.get("schedulers", {})
        mean_s, other_s = held.get(name, {}).get("mean_s"), held.get(other, {}).get("mean_s")
        if mean_s and other_s:
            pairs.append((mean_s / other_s, cell))
    return pairs


def prediction_error(cell: Data) -> float | None:
    """(objective − simulated mean of nona) / simulated; ``None`` without a steady state."""
    simulated = cell.get("schedulers", {}).get("nona", {}).get("mean_s")
    predicted = cell.get("placement", {}).get("objective_s")
    return predicted / simulated - 1.0 if simulated and predicted is not None else None


def predicted_cells(data: Data) -> Sequence[tuple[float, Data]]:
    """(error, cell) of every cell with a comparable prediction."""
    pairs = [(prediction_error(c), c) for c in data["cells"]]
    return [(e, c) for e, c in pairs if e is not None]


def family_of(data: Data, cell: Data) -> str:
    """The family of a cell's network."""
    return str(data["networks"][cell["network"]]["family"])
