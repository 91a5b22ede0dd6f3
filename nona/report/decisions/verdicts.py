"""Whether a ratio meets its goal, judged by its interval, and how many do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nona.results.studies.decisions import (
    CellConditions,
    DecisionStudy,
    QuestionKey,
    RatioToBest,
    SimulatedCell,
)

Verdict = Literal["met", "open", "missed"]
GOAL = 1.01  # a ratio of at most that is as good as the best
LIVE_GOAL = 1.02
GAIN, FASTER = 0.05, 0.99  # where the bound leaves more than the first, the ratio shall be below the second
GAP_TARGETS: Mapping[float, float] = {25.0: 0.05, 200.0: 0.15}  # link, Gbit/s → the gap aimed at
WITHIN = 0.10  # of the simulated mean: a prediction that is close


@dataclass(frozen=True, slots=True)
class Question:
    """What a ratio of the data compares: ``name`` over the best of ``rivals``."""

    key: QuestionKey
    name: str
    rivals: str
    goal: float


QUESTIONS: Mapping[QuestionKey, Question] = {
    q.key: q
    for q in (
        Question("blind", "nona", "the best other scheduler that does not see queues", GOAL),
        Question("live", "nona-live", "the best of all other schedulers", LIVE_GOAL),
    )
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A cell that answers a question, and the answer."""

    cell: SimulatedCell
    answer: RatioToBest


def compared(data: DecisionStudy, key: QuestionKey) -> list[Compared]:
    """The cells that answer a question: there is a ratio, and for ``blind`` something to distribute."""
    return [
        Compared(cell, answer)
        for cell in data.simulated()
        if (answer := cell.answer(key)) is not None and _is_asked(cell, key)
    ]


def unsteady(data: DecisionStudy, key: QuestionKey) -> list[SimulatedCell]:
    """The cells in which the scheduler that a question is about has no steady state, so no ratio."""
    name = QUESTIONS[key].name
    return [
        cell
        for cell in data.simulated()
        if name in cell.schedulers and cell.schedulers[name].reason and _is_asked(cell, key)
    ]


def _is_asked(cell: SimulatedCell, key: QuestionKey) -> bool:
    return key == "live" or cell.link is not None


def verdict(answer: RatioToBest, goal: float) -> Verdict:
    """``met``: at most ``goal``; ``missed``: the whole interval is above; ``open``: above, not significantly.

    >>> def answer(ratio: float) -> RatioToBest:
    ...     return RatioToBest(best="local", ratio=ratio, low=ratio - 0.01, high=2.0, pairs=5)
    >>> [verdict(answer(ratio), 1.01) for ratio in (0.9, 1.015, 1.2)]
    ['met', 'open', 'missed']
    """
    if answer.ratio <= goal:
        return "met"
    return "missed" if answer.low is not None and answer.low > goal else "open"


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of cells by verdict."""

    met: int
    open: int
    missed: int


def counts(cells: Iterable[Compared], goal: float) -> Counts:
    """Count the verdicts on a goal."""
    found = [verdict(c.answer, goal) for c in cells]
    return Counts(found.count("met"), found.count("open"), found.count("missed"))


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


def sides(data: DecisionStudy, key: QuestionKey) -> Sides:
    """Count the cells of a question by the goal's margin."""
    margin = round(QUESTIONS[key].goal - 1, 6)
    ratios = [c.answer.ratio for c in compared(data, key)]
    faster = sum(r < 1 - margin for r in ratios)
    slower = sum(r > 1 + margin for r in ratios)
    lost = len(unsteady(data, key))
    return Sides(faster, len(ratios) - faster - slower, slower + lost, margin)


def promising(data: DecisionStudy) -> list[Compared]:
    """Cells in which the bound leaves significantly more than :data:`GAIN` to gain over the best rival."""
    return [c for c in compared(data, "blind") if surely_left(c.cell) > GAIN]


def surely_left(cell: SimulatedCell) -> float:
    """The lower end of the possible gain; 0 where it is not known."""
    left = cell.potential.low if cell.potential is not None else None
    return 0.0 if left is None else left


def gained(cells: Iterable[Compared]) -> int:
    """The number of cells in which nona takes less than :data:`FASTER` of the best rival's time."""
    return sum(c.answer.ratio < FASTER for c in cells)


def worst(data: DecisionStudy, key: QuestionKey, most: int = 10) -> list[Compared]:
    """The cells with the largest ratios, the largest first."""
    return sorted(compared(data, key), key=lambda c: -c.answer.ratio)[:most]


def ratios_to(data: DecisionStudy, name: str, other: str) -> list[tuple[float, SimulatedCell]]:
    """(mean of ``name`` / mean of ``other``, cell) of every cell in which both have a steady state."""
    pairs = []
    for cell in data.simulated():
        mean_s, other_s = cell.mean_s(name), cell.mean_s(other)
        if mean_s and other_s:
            pairs.append((mean_s / other_s, cell))
    return pairs


def prediction_error(cell: SimulatedCell) -> float | None:
    """(objective − simulated mean of nona) / simulated; ``None`` without a steady state."""
    simulated, predicted = cell.mean_s("nona"), cell.placement.objective_s
    return predicted / simulated - 1.0 if simulated and predicted is not None else None


def predicted_cells(data: DecisionStudy) -> Sequence[tuple[float, SimulatedCell]]:
    """(error, cell) of every cell with a comparable prediction."""
    pairs = [(prediction_error(c), c) for c in data.simulated()]
    return [(e, c) for e, c in pairs if e is not None]


def family_of(data: DecisionStudy, cell: CellConditions) -> str:
    """The family of a cell's network."""
    return data.networks[cell.network].family
