"""The study of decisions: verdicts on ratios, and rows of cells and networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from nona.results.studies import (
    CellConditions,
    DecisionStudy,
    Entrant,
    PlacementFigures,
    PossibleGain,
    QuestionKey,
    RatioToBest,
    SimulatedCell,
    UnplacedCell,
)
from nona.tables.formats import or_dash, share_text, time_text

Verdict = Literal["met", "open", "missed"]
GOAL = 1.01  # a ratio of at most that is as good as the best
LIVE_GOAL = 1.02
GAIN, FASTER = 0.05, 0.99  # where the bound leaves more than the first, the ratio shall be below the second
GAP_TARGETS: Mapping[float, float] = {25.0: 0.05, 200.0: 0.15}  # link, Gbit/s → the gap aimed at
WITHIN = 0.10  # of the simulated mean: a prediction that is close


@dataclass(frozen=True, slots=True)
class Question:
    """Comparison behind a ratio of the data: ``name`` over the best of ``rivals``."""

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
    verdicts = [verdict(c.answer, goal) for c in cells]
    return Counts(verdicts.count("met"), verdicts.count("open"), verdicts.count("missed"))


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
    return [c for c in compared(data, "blind") if _surely_left(c.cell) > GAIN]


def _surely_left(cell: SimulatedCell) -> float:
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


Row = dict[str, str | float | None]


def where(cell: CellConditions) -> str:
    """Network and conditions of a cell in words.

    >>> where(CellConditions(network="gpt2", link=25.0, background=0.3, load=0.5))
    'gpt2, 25 Gbit/s, background 30 %, load 50 %'
    """
    words = [cell.network]
    if cell.link is not None:
        words += [f"{cell.link:g} Gbit/s", f"background {share_text(cell.background or 0.0)}"]
    return ", ".join([*words, f"load {share_text(cell.load)}"])


def ratio_words(answer: RatioToBest | None) -> str:
    """The ratio with its interval.

    >>> ratio_words(RatioToBest(best="local", ratio=1.9034, low=1.8884, high=1.9185, pairs=5))
    '1.903 (1.888 to 1.919)'
    """
    if answer is None:
        return "–"
    if answer.low is None or answer.high is None:
        return f"{answer.ratio:.3f}"
    return f"{answer.ratio:.3f} ({answer.low:.3f} to {answer.high:.3f})"


def network_rows(data: DecisionStudy) -> list[Row]:
    """For each network how often each goal is met, the worst ratio, and the cost and gap of its placement."""
    rows = []
    for name, facts in data.networks.items():
        cells = [c for c in data.simulated() if c.network == name]
        own = data.model_copy(update={"cells": tuple(cells)})
        row: Row = {"network": name, "family": facts.family, "interior": facts.interior}
        for question in QUESTIONS.values():
            row |= _goal_columns(own, question)
        rows.append(row | _placing_columns(cells))
    return rows


def _goal_columns(own: DecisionStudy, question: Question) -> Row:
    cells = compared(own, question.key)
    ratios = [c.answer.ratio for c in cells]
    met = counts(cells, question.goal).met
    of = len(cells) + len(unsteady(own, question.key))
    return {
        f"{question.name} at most {question.goal}": f"{met} of {of}" if of else "–",
        f"{question.name}, median": f"{median(ratios):.3f}" if ratios else "–",
        f"{question.name}, worst": f"{max(ratios):.3f}" if ratios else "–",
    }


def _placing_columns(cells: Sequence[SimulatedCell]) -> Row:
    gaps = [c.placement.gap for c in cells if c.placement.gap is not None]
    errors = [abs(e) for c in cells if (e := prediction_error(c)) is not None]
    return {
        "largest gap": share_text(max(gaps), 1) if gaps else "–",
        "largest prediction error": share_text(max(errors), 1) if errors else "–",
        "longest placing time": time_text(max((c.placement.seconds for c in cells), default=None)),
    }


def worst_rows(data: DecisionStudy, key: QuestionKey, most: int = 10) -> list[Row]:
    """The cells with the largest ratios."""
    return [_compared_row(case, QUESTIONS[key]) for case in worst(data, key, most)]


def missed_gains(data: DecisionStudy, most: int = 10) -> list[Row]:
    """The cells in which nona gains little although the bound leaves much, the largest remainder first."""
    cells = [c for c in promising(data) if c.answer.ratio >= FASTER]
    ordered = sorted(cells, key=lambda c: -_surely_left(c.cell))[:most]
    return [_compared_row(case, QUESTIONS["blind"]) for case in ordered]


def _compared_row(found: Compared, question: Question) -> Row:
    cell, answer = found.cell, found.answer
    return {
        "cell": where(cell),
        question.name: time_text(cell.mean_s(question.name)),
        "best other": f"{answer.best} {time_text(cell.mean_s(answer.best))}",
        "ratio": ratio_words(answer),
        "goal": verdict(answer, question.goal),
        "objective": time_text(cell.placement.objective_s),
        "gap": _gap(cell.placement),
        "possible gain": _potential(cell.potential),
    }


def _gap(placement: PlacementFigures) -> str:
    return or_dash(placement.gap, lambda gap: share_text(gap, 1))


def _potential(found: PossibleGain | None) -> str:
    return "–" if found is None else share_text(max(found.value, 0.0), 1)


def cell_rows(data: DecisionStudy) -> list[Row]:
    """Every cell as a table shows it."""
    return [_cell_row(cell) for cell in data.cells]


def _cell_row(cell: SimulatedCell | UnplacedCell) -> Row:
    row: Row = {
        "network": cell.network,
        "link": or_dash(cell.link, lambda link: f"{link:g} Gbit/s"),
        "background": or_dash(cell.background, share_text),
        "load": share_text(cell.load),
    }
    simulated = cell if isinstance(cell, SimulatedCell) else None
    for key, question in QUESTIONS.items():
        answer = None if simulated is None else simulated.answer(key)
        row[f"{question.name} / best"] = ratio_words(answer)
        row[f"best rival of {question.name}"] = "–" if answer is None else answer.best
    row["objective"] = "–" if simulated is None else time_text(simulated.placement.objective_s)
    row["gap"] = "–" if simulated is None else _gap(simulated.placement)
    row["possible gain"] = "–" if simulated is None else _potential(simulated.potential)
    row["placed in"] = "–" if simulated is None else time_text(simulated.placement.seconds)
    for name, entrant in simulated.schedulers.items() if simulated is not None else ():
        row[name] = time_text(entrant.mean_s)
    row["note"] = "" if isinstance(cell, SimulatedCell) else cell.error
    return row


def file_rows(data: DecisionStudy) -> list[Row]:
    """One flat row for each cell and scheduler, SI units: for CSV and Parquet files."""
    return [
        _file_row(cell, name, entrant)
        for cell in data.simulated()
        for name, entrant in cell.schedulers.items()
    ]


def _file_row(cell: SimulatedCell, name: str, entrant: Entrant) -> Row:
    placement = cell.placement
    row: Row = {
        "network": cell.network,
        "link": cell.link,
        "background": cell.background,
        "load": cell.load,
        "scheduler": name,
        "reason": entrant.reason,
        "mean_s": entrant.mean_s,
        "half_width_s": entrant.half_width_s,
        "runs": None if entrant.reason else entrant.runs,
        "objective_s": placement.objective_s,
        "lower_bound_s": placement.lower_bound_s,
        "gap": placement.gap,
    }
    for key in QUESTIONS:
        answer = cell.answer(key)
        row[f"{key}_best"] = None if answer is None else answer.best
        row[f"{key}_ratio"] = None if answer is None else answer.ratio
        row[f"{key}_low"] = None if answer is None else answer.low
        row[f"{key}_high"] = None if answer is None else answer.high
    return row


def heat(
    data: DecisionStudy, key: QuestionKey
) -> tuple[Sequence[float], Sequence[float], list[list[list[float]]]]:
    """(links, backgrounds, ratios of the cells at each background and link)."""
    at: dict[tuple[float, float], list[float]] = {}
    for case in compared(data, key):
        link, background = case.cell.link, case.cell.background
        if link is not None and background is not None:
            at.setdefault((background, link), []).append(case.answer.ratio)
    links = sorted({link for _, link in at})
    backgrounds = sorted({background for background, _ in at})
    return links, backgrounds, [[at.get((b, link), []) for link in links] for b in backgrounds]
