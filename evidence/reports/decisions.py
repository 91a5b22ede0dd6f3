"""The study of decisions: verdicts on ratios, rows of cells and networks, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

from evidence.presented import Presented, Shown
from evidence.results import (
    CellConditions,
    DecisionStudy,
    Entrant,
    NetworkFacts,
    QuestionKey,
    RatioToBest,
    SimulatedCell,
    UnplacedCell,
)
from nona.core.document import Estimate
from nona.core.tables import (
    COUNT,
    SHARE,
    TIME,
    WHOLE_SHARE,
    Column,
    FilledTable,
    NumberKind,
    Table,
    mean_text,
    share_text,
    time_text,
)
from nona.core.text import count_text
from nona.core.units import format_number, format_time

LINK = NumberKind("{:g} Gbit/s".format)
Verdict = Literal["met", "open", "missed"]
GOAL = 1.01  # a ratio of at most that is as good as the best
LIVE_GOAL = 1.02
FASTER = 0.99  # a ratio below it is a gain
WITHIN = 0.10  # of the simulated mean: a prediction that is close


class Question(NamedTuple):
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


class Compared(NamedTuple):
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
    """Return the cells in which the scheduler that a question is about has no steady state, so no ratio."""
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


def counts(cells: Iterable[Compared], goal: float) -> Counter[Verdict]:
    """Return the number of cells by verdict."""
    return Counter(verdict(c.answer, goal) for c in cells)


class Sides(NamedTuple):
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


def worst(data: DecisionStudy, key: QuestionKey, most: int = 10) -> list[Compared]:
    """Return the cells with the largest ratios, the largest first."""
    return sorted(compared(data, key), key=lambda c: -c.answer.ratio)[:most]


def _ratios_to(data: DecisionStudy, name: str, other: str) -> list[float]:
    """Mean of ``name`` / mean of ``other`` in every cell in which both have a steady state."""
    pairs = ((cell.mean_s(name), cell.mean_s(other)) for cell in data.simulated())
    return [mean_s / other_s for mean_s, other_s in pairs if mean_s and other_s]


def prediction_error(cell: SimulatedCell) -> float | None:
    """(mean by formula − simulated mean of nona) / simulated; ``None`` without a steady state."""
    simulated, predicted = cell.mean_s("nona"), cell.placement.predicted_s
    return predicted / simulated - 1.0 if simulated and predicted is not None else None


def _predicted(data: DecisionStudy) -> list[tuple[float, SimulatedCell]]:
    """(error, cell) of every cell with a comparable prediction."""
    return [(e, c) for c in data.simulated() if (e := prediction_error(c)) is not None]


RATIO = NumberKind("{:.3f}".format)


def where(cell: CellConditions) -> str:
    """Network and conditions of a cell in words.

    >>> where(CellConditions(network="gpt2", link=25.0, background=0.3, load=0.5))
    'gpt2, 25 Gbit/s, background 30 %, load 50 %'
    """
    words = [cell.network]
    if cell.link is not None:
        words += [f"{cell.link:g} Gbit/s", f"background {share_text(cell.background or 0.0)}"]
    return ", ".join([*words, f"load {share_text(cell.load)}"])


def ratio_words(answer: RatioToBest) -> str:
    """Return the ratio with its interval.

    >>> ratio_words(RatioToBest(best="local", ratio=1.9034, low=1.8884, high=1.9185, pairs=5))
    '1.903 ± 0.015'
    """
    return mean_text(answer.estimate, RATIO.show)


class _Network(NamedTuple):
    facts: NetworkFacts
    own: DecisionStudy  # its cells alone

    def ratios(self, question: Question) -> list[float]:
        return [c.answer.ratio for c in compared(self.own, question.key)]

    def met(self, question: Question) -> str | None:
        cells = compared(self.own, question.key)
        of = len(cells) + len(unsteady(self.own, question.key))
        return f"{counts(cells, question.goal)['met']} of {of}" if of else None

    @property
    def gaps(self) -> list[float]:
        return [c.placement.gap for c in self.own.simulated() if c.placement.gap is not None]

    @property
    def errors(self) -> list[float]:
        return [abs(e) for e, _ in _predicted(self.own)]


def _answers(question: Question) -> tuple[Column[_Network], ...]:
    name = question.name
    return (
        Column(f"{name} at most {question.goal}", lambda r: r.met(question)),
        Column(
            f"{name}, median", lambda r: median(r.ratios(question)) if r.ratios(question) else None, RATIO
        ),
        Column(f"{name}, worst", lambda r: max(r.ratios(question), default=None), RATIO, decides=True),
    )


def networks(data: DecisionStudy) -> FilledTable:
    """For each network how often each goal is met, the worst ratio, and the cost and gap of its placement."""
    cells = {name: tuple(c for c in data.simulated() if c.network == name) for name in data.networks}
    columns: tuple[Column[_Network], ...] = (
        Column("family", lambda r: r.facts.family),
        Column("interior", lambda r: r.facts.interior, COUNT),
        *(column for question in QUESTIONS.values() for column in _answers(question)),
        Column("largest gap", lambda r: max(r.gaps, default=None), SHARE),
        Column("largest prediction error", lambda r: max(r.errors, default=None), SHARE),
        Column(
            "longest placing time",
            lambda r: max((c.placement.seconds for c in r.own.simulated()), default=None),
            TIME,
        ),
    )
    return Table("network", columns).fill(
        {
            name: _Network(facts, data.model_copy(update={"cells": cells[name]}))
            for name, facts in data.networks.items()
        }
    )


def _cases(cases: Iterable[Compared], question: Question) -> FilledTable:
    columns: tuple[Column[Compared], ...] = (
        Column("ratio", lambda c: c.answer.estimate, RATIO, interval=True, decides=True),
        Column("network", lambda c: c.cell.network, decides=True),
        Column("link", lambda c: c.cell.link, LINK, decides=True),
        Column("background", lambda c: c.cell.background, WHOLE_SHARE),
        Column("load", lambda c: c.cell.load, WHOLE_SHARE, decides=True),
        Column(question.name, lambda c: c.cell.mean_s(question.name), TIME),
        Column("best other", lambda c: f"{c.answer.best} {time_text(c.cell.mean_s(c.answer.best))}"),
        Column("goal", lambda c: verdict(c.answer, question.goal)),
        Column("objective", lambda c: c.cell.placement.objective_s, TIME),
        Column("gap", lambda c: c.cell.placement.gap, SHARE),
    )
    return Table("", columns).fill(cases)


def worst_cases(data: DecisionStudy, key: QuestionKey, most: int = 10) -> FilledTable:
    """Return the cells with the largest ratios."""
    return _cases(worst(data, key, most), QUESTIONS[key])


AnyCell = SimulatedCell | UnplacedCell


def _answer_of(cell: AnyCell, key: QuestionKey) -> RatioToBest | None:
    return cell.answer(key) if isinstance(cell, SimulatedCell) else None


def _of_question(question: Question) -> tuple[Column[AnyCell], ...]:
    def ratio(cell: AnyCell) -> Estimate | None:
        answer = _answer_of(cell, question.key)
        return answer.estimate if answer else None

    def best(cell: AnyCell) -> str | None:
        answer = _answer_of(cell, question.key)
        return answer.best if answer else None

    return (
        Column(f"{question.name} / best", ratio, RATIO, f"{question.key}_ratio", interval=True),
        Column(f"best rival of {question.name}", best, key=f"{question.key}_best"),
    )


CONDITIONS: tuple[Column[AnyCell], ...] = (
    Column("network", lambda c: c.network),
    Column("link", lambda c: c.link, LINK),
    Column("background", lambda c: c.background, WHOLE_SHARE),
    Column("load", lambda c: c.load, WHOLE_SHARE),
)


def _placed(heading: str, of: Callable[[SimulatedCell], float | None], kind: NumberKind) -> Column[AnyCell]:
    return Column(heading, lambda c: of(c) if isinstance(c, SimulatedCell) else None, kind)


PLACED = (
    _placed("objective", lambda c: c.placement.objective_s, TIME),
    _placed("by formula", lambda c: c.placement.predicted_s, TIME),
    _placed("gap", lambda c: c.placement.gap, SHARE),
    _placed("placed in", lambda c: c.placement.seconds, TIME),
)


def cells(data: DecisionStudy) -> FilledTable:
    """Every cell with the mean of every scheduler."""

    def mean(name: str) -> Column[AnyCell]:
        return _placed(name, lambda c: c.mean_s(name), TIME)

    names = dict.fromkeys(name for cell in data.simulated() for name in cell.schedulers)
    asked = (column for question in QUESTIONS.values() for column in _of_question(question))
    note: Column[AnyCell] = Column("note", lambda c: None if isinstance(c, SimulatedCell) else c.error)
    return Table("", (*CONDITIONS, *asked, *PLACED, *map(mean, names), note)).fill(data.cells)


class _Entered(NamedTuple):
    cell: SimulatedCell
    name: str
    entrant: Entrant


def entrants(data: DecisionStudy) -> FilledTable:
    """Each cell and scheduler, for files."""

    def of(column: Column[AnyCell]) -> Column[_Entered]:
        return Column(
            column.heading,
            lambda r: column.value_of(r.cell),
            column.kind,
            column.key,
            interval=column.interval,
        )

    asked = (column for question in QUESTIONS.values() for column in _of_question(question))
    columns: tuple[Column[_Entered], ...] = (
        *map(of, CONDITIONS),
        Column("scheduler", lambda r: r.name),
        Column("reason", lambda r: r.entrant.reason),
        Column("mean", lambda r: r.entrant.mean_s, TIME),
        Column("half_width", lambda r: r.entrant.half_width_s, TIME),
        Column("runs", lambda r: None if r.entrant.reason else r.entrant.runs, COUNT),
        *map(of, (*PLACED[:3], *asked)),
    )
    return Table("", columns).fill(
        _Entered(cell, name, entrant)
        for cell in data.simulated()
        for name, entrant in cell.schedulers.items()
    )


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


HOW = (
    "Each network, alone or in a mix, is placed and simulated on 16 A100 servers, with the same jobs for all "
    "schedulers. A ratio is a mean completion time over that of the best rival, with the 95 % interval of "
    "the paired runs. The best rival is chosen in the same runs, which favours it a little."
)


def title(data: DecisionStudy, key: QuestionKey = "blind") -> str:
    """Return the main finding in one sentence."""
    question, cells = QUESTIONS[key], compared(data, key)
    if not cells:
        return f"{question.name} was not simulated"
    tally = sides(data, key)
    return (
        f"Of {count_text(tally.cells, 'cell')}, {question.name} is faster than {question.rivals} in "
        f"{tally.faster}, within {share_text(tally.margin)} in {tally.equal}, slower in {tally.slower}"
    )


def heat_title(data: DecisionStudy, key: QuestionKey = "blind") -> str:
    """Locate the largest ratio."""
    cells = worst(data, key, 1)
    if not cells:
        return f"{QUESTIONS[key].name} was not simulated"
    return f"The largest ratio is {format_number(cells[0].answer.ratio)}: {where(cells[0].cell)}"


def findings(data: DecisionStudy) -> list[str]:
    """Count and worst cells of both questions, the gain, and the accuracy of the predictions."""
    lines = [line for key in QUESTIONS for line in _question(data, key)]
    return [*lines, *_predictions(data), *_placing(data), *_unsteady(data)]


def _question(data: DecisionStudy, key: QuestionKey) -> list[str]:
    question, cells = QUESTIONS[key], compared(data, key)
    if not cells:
        return [f"{question.name} is not among the schedulers of this run."]
    parts = []
    for goal in dict.fromkeys((GOAL, question.goal)):
        tally = counts(cells, goal)
        parts.append(
            f"at most {goal} in {tally['met']} of {len(cells)} cells, above it in {tally['missed']}"
            + (f", not significantly above in {tally['open']}" if tally["open"] else "")
        )
    if lost := unsteady(data, key):
        parts.append(f"without a steady state in {len(lost)} more, e.g. {where(lost[0])}")
    (last,) = worst(data, key, 1)
    return [
        f"{question.name} over {question.rivals}: {'; '.join(parts)}. Median "
        f"{median(c.answer.ratio for c in cells):.3f}; the largest is {ratio_words(last.answer)} against "
        f"{last.answer.best} ({where(last.cell)})."
    ]


def _predictions(data: DecisionStudy) -> list[str]:
    errors = _predicted(data)
    if not errors:
        return []
    close = sum(abs(e) <= WITHIN for e, _ in errors)
    error, cell = max(errors, key=lambda pair: abs(pair[0]))
    return [
        f"The formula's mean is within {share_text(WITHIN)} of nona's simulated mean in {close} of "
        f"{len(errors)} cells; the largest error is {share_text(error, sign='+')} ({where(cell)})."
    ]


def _placing(data: DecisionStudy) -> list[str]:
    cells = [c for c in data.simulated() if c.link is not None]
    if not cells:
        return []
    slowest = max(cells, key=lambda c: c.placement.seconds)
    return [
        f"The median CPU time of placing is {format_time(median(c.placement.seconds for c in cells))}, "
        f"the maximum {format_time(slowest.placement.seconds)} ({where(slowest)})."
    ]


def _unsteady(data: DecisionStudy) -> list[str]:
    lost = Counter(n for cell in data.simulated() for n, e in cell.schedulers.items() if e.reason)
    names = (name for cell in data.simulated() for name in cell.schedulers)
    tallies = ", ".join(f"{name} in {lost[name]}" for name in dict.fromkeys(names) if lost[name])
    lines = [f"Without a steady state: {tallies} of {len(data.cells)} cells."] if tallies else []
    return [*lines, *(f"Not placed: {where(c)}: {c.error}" for c in data.unplaced())]


def presented(data: DecisionStudy) -> Presented:
    """Return the study with its tables: the worst cells of both questions, every network, every cell."""
    tables = (
        Shown("decisions-networks", "By network", networks(data)),
        Shown("decisions-worst", "nona: the largest ratios", worst_cases(data, "blind")),
        Shown("decisions-live", "nona-live: the largest ratios", worst_cases(data, "live")),
        Shown("decisions-cells", "All cells with every scheduler", cells(data), folded=True, printed=()),
    )
    about = data.about
    size = f"{about.jobs:,} jobs" if about.jobs else f"about {about.events:,} events"
    provenance = (
        f"{about.origin}, {len(data.cells)} cells ({about.cells} for each network; 3 loads each without "
        f"messages), {about.replications} to {about.most} runs of {size}, {format_time(about.seconds)} with "
        f"{about.workers} process{'es' if about.workers > 1 else ''}, {about.cluster}."
    )
    return Presented(title(data), findings(data), tables, HOW, provenance)
