"""The findings of the study of decisions, as text and for its document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median

from nona.report.files import between_marks
from nona.report.studies.decisions import (
    FASTER,
    GAIN,
    GAP_TARGETS,
    GOAL,
    LIVE_GOAL,
    QUESTIONS,
    WITHIN,
    compared,
    counts,
    gained,
    missed_gains,
    networks,
    predicted_cells,
    promising,
    ratio_words,
    ratios_to,
    sides,
    unsteady,
    where,
    worst,
    worst_cases,
)
from nona.report.text import counted
from nona.results.studies import DecisionStudy, QuestionKey
from nona.tables.formats import share_text
from nona.units import format_number, format_time

HOW = (
    "Each network, alone or in a mix, is placed and simulated on 16 A100 servers, with the same jobs for all "
    "schedulers. A ratio is a mean completion time over that of the best rival, with the 95 % interval of "
    "the paired runs. The best rival is chosen in the same runs, which favours it a little."
)


def title(data: DecisionStudy, key: QuestionKey = "blind") -> str:
    """The main finding in one sentence."""
    question, cells = QUESTIONS[key], compared(data, key)
    if not cells:
        return f"{question.name} was not simulated"
    tally = sides(data, key)
    return (
        f"Of {counted(tally.cells, 'cell')}, {question.name} is faster than {question.rivals} in "
        f"{tally.faster}, within {share_text(tally.margin)} in {tally.equal}, slower in {tally.slower}"
    )


def heat_title(data: DecisionStudy, key: QuestionKey = "blind") -> str:
    """Locate the largest ratio."""
    cells = worst(data, key, 1)
    if not cells:
        return f"{QUESTIONS[key].name} was not simulated"
    return f"The largest ratio is {format_number(cells[0].answer.ratio)}: {where(cells[0].cell)}"


def findings(data: DecisionStudy) -> list[str]:
    """Counts and worst cells of both questions, the gain, and the accuracy of the predictions."""
    lines = [line for key in QUESTIONS for line in _question(data, key)]
    hopeful = promising(data)
    if hopeful:
        lines.insert(
            1,
            f"Where the lower bound leaves more than {share_text(GAIN)} to gain over the best rival "
            f"({len(hopeful)} cells), nona takes less than {FASTER} of its time in {gained(hopeful)}. The "
            "bound is a limit for every placement; it need not be attainable.",
        )
    return [*lines, *_live(data), *_predictions(data), *_placing(data), *_targets(data), *_unsteady(data)]


def which_scheduler(data: DecisionStudy) -> str:
    """Say when a decision without a look at queues pays, and when one with it does, in two sentences."""
    blind, live = sides(data, "blind"), ratios_to(data, "nona-live", "least-loaded")
    seen = [ratio for ratio, _ in ratios_to(data, "nona", "least-loaded")]
    ratios = [ratio for ratio, _ in live]
    gains = Counter(c.cell.load for c in compared(data, "blind") if c.answer.ratio < FASTER)
    often = f", most often at a load of {share_text(gains.most_common(1)[0][0])}" if gains else ""
    return (
        f"Where queues can be seen when a query arrives, choose a scheduler that reads them: nona-live is "
        f"faster than least-loaded in {sum(r < FASTER for r in ratios)} of {len(ratios)} shipped cells and "
        f"slower in {sum(r > GOAL for r in ratios)}; nona, which sees none, is slower than least-loaded in "
        f"{sum(r > GOAL for r in seen)}. Where no queue can be seen, nona pays: faster than all other such "
        f"schedulers in {blind.faster} of {blind.cells} cells, slower in {blind.slower}{often}."
    )


def _live(data: DecisionStudy) -> list[str]:
    """nona-live against least-loaded, and which schedulers are faster where it misses its goal."""
    baseline = ratios_to(data, "nona-live", "least-loaded")
    lines = []
    if baseline:
        most, cell = max(baseline, key=lambda pair: pair[0])
        faster = sum(ratio < FASTER for ratio, _ in baseline)
        lines.append(
            f"nona-live over least-loaded: at most {most:.3f} ({where(cell)}), below {FASTER} in {faster} of "
            f"{len(baseline)} cells."
        )
    missed = [c for c in compared(data, "live") if c.answer.ratio > LIVE_GOAL]
    if missed:
        rivals = Counter(c.answer.best for c in missed)
        loads = Counter(share_text(c.cell.load) for c in missed)
        lines.append(
            f"Where nona-live takes more than {LIVE_GOAL} of the best time ({counted(len(missed), 'cell')}), "
            f"the best is {_numbered(rivals)}; the load is {_numbered(loads)}."
        )
    return lines


def _numbered(counts_: Mapping[str, int]) -> str:
    ordered = sorted(counts_.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} in {n}" for name, n in ordered)


def _targets(data: DecisionStudy) -> list[str]:
    """Count the networks that keep the targets for the gap, at each link speed that has one."""
    lines = []
    for link, most in GAP_TARGETS.items():
        gaps: dict[str, float] = {}
        for cell in data.simulated():
            gap = cell.placement.gap
            if cell.link == link and gap is not None:
                gaps[cell.network] = max(gaps.get(cell.network, 0.0), gap)
        wide = {name: gap for name, gap in gaps.items() if gap > most}
        if gaps:
            above = (
                f"; above it: {', '.join(f'{n} {share_text(g)}' for n, g in wide.items())}" if wide else ""
            )
            lines.append(
                f"At {link:g} Gbit/s the gap is at most {share_text(most)} in every cell of "
                f"{len(gaps) - len(wide)} of {len(gaps)} networks and mixes{above}."
            )
    return lines


def _question(data: DecisionStudy, key: QuestionKey) -> list[str]:
    question, cells = QUESTIONS[key], compared(data, key)
    if not cells:
        return [f"{question.name} is not among the schedulers of this run."]
    goals = (GOAL,) if key == "blind" else (GOAL, LIVE_GOAL)
    parts = []
    for goal in goals:
        tally = counts(cells, goal)
        parts.append(
            f"at most {goal} in {tally.met} of {len(cells)} cells, above it in {tally.missed}"
            + (f", not significantly above in {tally.open}" if tally.open else "")
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
    errors = predicted_cells(data)
    if not errors:
        return []
    close = sum(abs(e) <= WITHIN for e, _ in errors)
    error, cell = max(errors, key=lambda pair: abs(pair[0]))
    return [
        f"The placement's objective is within {share_text(WITHIN)} of nona's simulated mean in {close} of "
        f"{len(errors)} cells; the largest error is {share_text(error, sign='+')} ({where(cell)})."
    ]


def _placing(data: DecisionStudy) -> list[str]:
    cells = [c for c in data.simulated() if c.link is not None]
    if not cells:
        return []
    slowest = max(cells, key=lambda c: c.placement.seconds)
    gaps = [(c.placement.gap, c) for c in cells if c.placement.gap is not None]
    lines = [
        f"The median CPU time of placing is {format_time(median(c.placement.seconds for c in cells))}, "
        f"the maximum {format_time(slowest.placement.seconds)} ({where(slowest)})."
    ]
    if gaps:
        gap, cell = max(gaps, key=lambda pair: pair[0])
        within = sum(g <= GAIN for g, _ in gaps)
        lines.append(
            f"The gap between objective and lower bound is at most {share_text(GAIN)} in {within} of "
            f"{len(gaps)} cells; the largest is {share_text(gap, 1)} ({where(cell)})."
        )
    return lines


def _unsteady(data: DecisionStudy) -> list[str]:
    lost: dict[str, int] = {}
    for cell in data.simulated():
        for name, entrant in cell.schedulers.items():
            lost[name] = lost.get(name, 0) + bool(entrant.reason)
    tallies = ", ".join(f"{name} in {n}" for name, n in lost.items() if n)
    lines = [f"Without a steady state: {tallies} of {len(data.cells)} cells."] if tallies else []
    return [*lines, *(f"Not placed: {where(c)}: {c.error}" for c in data.unplaced())]


def provenance(data: DecisionStudy) -> str:
    """The provenance of the numbers."""
    about = data.about
    size = f"{about.jobs:,} jobs" if about.jobs else f"about {about.events:,} events"
    return (
        f"{about.command}: version {about.version}, {about.date}, seed {about.seed}, "
        f"{len(data.cells)} cells ({about.cells} for each network; 3 loads each without messages), "
        f"{about.replications} to {about.most} runs of {size}, {format_time(about.seconds)} with "
        f"{about.workers} process{'es' if about.workers > 1 else ''}, {about.cluster}."
    )


def decisions_text(data: DecisionStudy) -> str:
    """Format the output of ``nona study decisions``."""
    parts = [f"{title(data)}.", "", *(f"- {line}" for line in findings(data))]
    for heading, rows in (
        ("By network", networks(data)),
        ("nona: the largest ratios", worst_cases(data, "blind")),
        ("nona: largest gains that the bound leaves open", missed_gains(data)),
        ("nona-live: the largest ratios", worst_cases(data, "live")),
    ):
        parts += ["", heading, rows.text()] if rows else []
    return "\n".join([*parts, "", HOW, provenance(data)])


def with_results(page: str, data: DecisionStudy) -> str:
    """``page`` with the text between its two marks replaced by text made from ``data``."""
    return between_marks(page, _results_markdown(data))


def _results_markdown(data: DecisionStudy) -> str:
    """Finding, details, and the tables with the worst cells."""
    parts = [f"**{title(data)}.**", "\n".join(f"* {line}" for line in findings(data))]
    for heading, rows in (
        ("nona: the largest ratios", worst_cases(data, "blind")),
        ("nona: largest gains that the bound leaves open", missed_gains(data)),
        ("nona-live: the largest ratios", worst_cases(data, "live")),
        ("Every network", networks(data)),
    ):
        parts += [f"### {heading}", rows.markdown()] if rows else []
    return "\n\n".join([*parts, provenance(data)])
