"""The paper's evaluation, reproduced: rows and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from nona.report.sweep_findings import merged_spans, ratio_text, stability_finding, stability_text
from nona.report.sweeps import points_table, simulated, value_text
from nona.report.text import listed, verb
from nona.results.document import Estimate
from nona.results.studies import Growth, OverloadRun, PaperStudy, Reach
from nona.results.sweeps import SweepReport, SweptCurve, SweptPoint
from nona.tables.formats import share_text
from nona.tables.table import COUNT, FACTOR, TIME, Column, Filled, Kind, Table
from nona.units import format_number, format_time

FAR = 0.9  # of the load at the edge: up to there a run has time to reach its steady state


class StableRatio(NamedTuple):
    """A ratio to nona, the sweep and the scheduler that it belongs to, and its point."""

    ratio: float
    sweep: str
    scheduler: str
    point: SweptPoint


def points(data: PaperStudy) -> Filled:
    """Every simulated point of every sweep, for pages and files."""
    rows = (row for name, report in data.sweeps.items() for row in simulated(report, name))
    return points_table(rows, next(iter(data.sweeps.values())))


def edge_of(curve: SweptCurve) -> float | None:
    """The first value from which on a scheduler has no steady state; ``None``: stable throughout."""
    for low, high in merged_spans(curve):
        if low is not None or high is not None:
            return low
    return None


def ratios(data: PaperStudy, far: bool = False) -> Iterator[StableRatio]:
    """The ratios wherever both are stable; ``far``: only well below the edge."""
    for name, report in data.sweeps.items():
        yield from _sweep_ratios(name, report, far)


def _sweep_ratios(name: str, report: SweepReport, far: bool) -> Iterator[StableRatio]:
    """:func:`ratios` of one sweep."""
    for scheduler, curve in report.schedulers.items():
        edge = edge_of(curve)
        for point in curve.points if scheduler != report.reference else ():
            close = edge is not None and point.value > FAR * edge
            mean, has_interval = point.ratio.mean, point.ratio.ci95 is not None
            if point.state == "stable" and mean is not None and has_interval and not (far and close):
                yield StableRatio(mean, name, scheduler, point)


def largest(data: PaperStudy, far: bool = False) -> StableRatio | None:
    """The point with the largest ratio to nona, of those that :func:`ratios` gives."""
    return max(ratios(data, far), key=_first, default=None)


def faster(data: PaperStudy, sweep: str) -> dict[str, tuple[int, int]]:
    """Scheduler → at how many swept values it is clearly faster than nona, of those where both are stable."""
    report = data.sweeps[sweep]
    by_scheduler = {}
    for scheduler, curve in report.schedulers.items():
        intervals = [p.ratio.ci95 for p in curve.points if p.value in report.values and p.ratio.ci95]
        wins = sum(high < 1 for _, high in intervals)
        if scheduler != report.reference and wins:
            by_scheduler[scheduler] = (wins, len(intervals))
    return by_scheduler


def summary(data: PaperStudy) -> Filled:
    """Each scheduler's edges, and its largest ratios to nona."""
    by_far = {far: list(ratios(data, far)) for far in (True, False)}

    def edge(name: str) -> Column[str]:
        sweep = data.sweeps[name]
        return Column(f"{name}: edge", lambda s: stability_text(sweep.schedulers[s], sweep.unit))

    def by_formula(name: str) -> Column[str]:
        sweep = data.sweeps[name]

        def place(scheduler: str) -> float | None:
            edges = sweep.schedulers[scheduler].formula_edges
            return edges[0].overloaded if edges else None

        return Column(f"{name}: edge by formula", place, Kind(partial(value_text, unit=sweep.unit)))

    def most(far: bool, where: str) -> Column[str]:
        def ratio(scheduler: str) -> Estimate | None:
            own = [r for r in by_far[far] if r.scheduler == scheduler]
            return max(own, key=_first).point.ratio if own else None

        return Column(f"largest ratio, {where}", ratio, FACTOR, interval=True)

    columns: tuple[Column[str], ...] = (
        Column("scheduler", str),
        *(column for name in data.sweeps for column in (edge(name), by_formula(name))),
        most(True, "well below its edge"),
        most(False, "anywhere stable"),
    )
    return Table("", columns).of(next(iter(data.sweeps.values())).schedulers.keys())


def _first(ratio: StableRatio) -> float:
    return ratio.ratio


class _Run(NamedTuple):
    scheduler: str
    run: OverloadRun


GROWTH = Table[_Run](
    "",
    (
        Column("scheduler", lambda r: r.scheduler),
        Column("jobs", lambda r: r.run.jobs, COUNT),
        Column("arrive within", lambda r: r.run.length_s, TIME),
        Column("mean JCT", lambda r: r.run.jct_s, TIME),
        Column("not complete", lambda r: r.run.unfinished, COUNT),
        Column("times nona", lambda r: r.run.ratio, FACTOR),
    ),
)


def growth(data: PaperStudy) -> Filled:
    """Each run in overload."""
    return GROWTH.of(_Run(row.scheduler, run) for row in data.overload.schedulers for run in row.runs)


def grows(row: Growth) -> bool:
    """Return whether the ratio keeps growing with the run: more than half as fast as the number of jobs."""
    if len(row.runs) < 2:
        return False
    before, last = row.runs[-2:]
    return last.ratio / before.ratio > 0.5 * last.jobs / before.jobs


def jobs_for(row: Growth, claim: float) -> float | None:
    """Jobs after which a growing ratio is ``claim``, in proportion to the last run; else ``None``."""
    if not grows(row):
        return None
    last = row.runs[-1]
    return last.jobs * claim / last.ratio


EARLY = 0.02  # relative: an edge that is seen so much before the formula's has another reason
OURS = (
    "The paper publishes the workload (AlexNet, ResNet-18, VGG-16, DenseNet-121, GPT-2), the 80 servers, "
    "the background traffic and work, and the kinds of baselines. Rates, GPUs, task times, the link and the "
    "loads are our choice. The heuristics of Decima's simulator are included; two policies trained here, "
    "decima-blind and decima-link, replace its learned policy."
)


def title(data: PaperStudy) -> str:
    """The main finding in one sentence."""
    claim, far = data.claim, largest(data, far=True)
    if far is None:
        return "No scheduler has a ratio to nona: none is stable at the same values"
    where = _where(data, far.sweep, far.point.value)
    return (
        f"Well below every edge the largest ratio to nona is {format_number(far.ratio)} ({far.scheduler}, "
        f"{where}); "
        f"{claim:.0f} is {'' if far.ratio < claim else 'also '}an effect of edges"
    )


def findings(data: PaperStudy) -> list[str]:
    """The findings, one a line, the most important first."""
    lines = [_largest(data), *(_edges(data, name) for name in data.sweeps)]
    lines += [_reach(r, data.claim) for r in data.reach]
    lines += [_overload(data), _faster(data), _meaning(data)]
    return [line for line in lines if line]


def _where(data: PaperStudy, sweep: str, value: float) -> str:
    report = data.sweeps[sweep]
    label = report.label
    return f"{value_text(value, report.unit)} {label[0].lower()}{label[1:]}"


def _largest(data: PaperStudy) -> str:
    far, near = largest(data, far=True), largest(data)
    if far is None or near is None:
        return "No point has two stable schedulers to compare."
    text = (
        f"With both schedulers stable, and at most {FAR:.0%} of the load at which the other becomes "
        f"unstable, the largest ratio measured is {ratio_text(far.point.ratio)}: {far.scheduler} at "
        f"{_where(data, far.sweep, far.point.value)}."
    )
    if near.point is not far.point:
        sweep = data.sweeps[near.sweep]
        edge = edge_of(sweep.schedulers[near.scheduler])
        until = "" if edge is None else f", unstable from {value_text(edge, sweep.unit)}"
        text += (
            f" Just below an edge it is {ratio_text(near.point.ratio)} ({near.scheduler} at "
            f"{_where(data, near.sweep, near.point.value)}{until}), in runs too short "
            "for the queues to reach their mean length."
        )
    return text


def _edges(data: PaperStudy, sweep: str) -> str:
    report = data.sweeps[sweep]
    edges = []
    for name, curve in report.schedulers.items():
        seen, formula = edge_of(curve), curve.formula_edges
        if seen is not None and formula and formula[0].overloaded > seen * (1 + EARLY):
            edges.append(f"{name} from {value_text(formula[0].overloaded, report.unit)}")
    early = (
        f" By the formula, for runs of unlimited length: {listed(edges)}; in runs of {data.jobs:,} jobs "
        "their queues grow earlier."
        if edges
        else ""
    )
    return f"Background {sweep}: {stability_finding(report)}{early}"


def _reach(row: Reach, claim: float) -> str:
    return (
        f"A ratio of {claim:.0f} in steady state: by the formula {row.scheduler} reaches it when "
        f"{format_number(100 * row.room, 2)} percentage points of the link remain below its edge at "
        f"{share_text(row.edge, 3)}. There the relaxation time of the link's queue is about "
        f"{format_time(row.relaxation_s)}, {format_number(row.jobs, 2)} jobs: no run of usual length "
        "shows it."
    )


def _overload(data: PaperStudy) -> str:
    over = data.overload
    parts = []
    for row in over.schedulers:
        first, last = row.runs[0], row.runs[-1]
        if not grows(row):
            parts.append(
                f"that of {row.scheduler} stays near {format_number(last.ratio, 2)}, as it reacts to the "
                "congestion"
            )
        elif last.ratio >= data.claim:
            parts.append(
                f"that of {row.scheduler} is {format_number(first.ratio, 2)} after {first.jobs:,} jobs and "
                f"{format_number(last.ratio)} after {last.jobs:,}"
            )
        else:
            wanted = jobs_for(row, data.claim) or 0.0  # it grows, so there is one
            parts.append(
                f"that of {row.scheduler} is {format_number(last.ratio)} after {last.jobs:,} jobs and "
                f"would be {data.claim:.0f} after about {format_number(wanted, 2)}"
            )
    if not parts:
        return ""
    return (
        f"Beyond the edges, at {value_text(over.value, 'fraction')} link background, the ratio depends on "
        f"the length of the run: {'; '.join(parts)}."
    )


def _faster(data: PaperStudy) -> str:
    parts = []
    for sweep in data.sweeps:
        by_scheduler = faster(data, sweep)
        if by_scheduler:
            parts.append(f"over background {sweep} {_wins(by_scheduler)}")
    if not parts:
        return "No scheduler is clearly faster than nona at any load."
    low = min(ratios(data), key=lambda found: found.ratio)
    where = _where(data, low.sweep, low.point.value)
    least = f"{low.scheduler} at {where} takes {format_number(low.ratio, 2)} times as long as nona"
    return (
        f"Faster than nona: {'; '.join(parts)}; the smallest ratio: {least}. These observe queues and choose "
        "idle servers, while nona draws servers blindly, like the paper's stochastic scheduler."
    )


def _wins(found: Mapping[str, tuple[int, int]]) -> str:
    """The schedulers with their loads: those that are faster at all of them together."""
    always = [name for name, (wins, of) in found.items() if wins == of]
    ever = f"{listed(always)} at every load at which {verb(always, 'it is', 'they are')} stable"
    parts = [ever] if always else []
    parts += [f"{name} at {wins} of {of} loads" for name, (wins, of) in found.items() if wins < of]
    return ", ".join(parts)


def _meaning(data: PaperStudy) -> str:
    far = largest(data, far=True)
    if far is None or far.ratio >= data.claim:
        return ""
    return (
        f"In this scenario, “up to {data.claim:.0f} times” is therefore not a gain at a load at which "
        f"both schedulers are stable: there it is at most {format_number(far.ratio, 2)} times. A "
        "comparison gives such a "
        "ratio beyond the edge of the other scheduler, or so close to it that no run is long enough: it "
        "shows where that edge is. The real difference is the edge: the load up to which it is stable."
    )


def ratio_title(sweep: str, report: SweepReport) -> str:
    """Title of a sweep's chart: the largest ratio well below the edges, and the first edge."""
    highest = max(_sweep_ratios(sweep, report, far=True), key=lambda r: r.ratio, default=None)
    edges = [(edge, name) for name, c in report.schedulers.items() if (edge := edge_of(c)) is not None]
    lead = f"Background {sweep}: no two schedulers are stable"
    if highest is not None:
        most = f"{format_number(highest.ratio, 2)} times nona ({highest.scheduler})"
        lead = f"Background {sweep}: well below the edges at most {most}"
    if not edges:
        return f"{lead}; all are stable"
    edge, name = min(edges)
    return f"{lead}; {name} is the first to become unstable, at {value_text(edge, report.unit)}"


def growth_title(data: PaperStudy) -> str:
    """Title of the chart of runs in overload."""
    rows = data.overload.schedulers
    reached = [r.scheduler for r in rows if grows(r) and r.runs[-1].ratio >= data.claim]
    where = value_text(data.overload.value, "fraction")
    if not reached:
        return f"At {where} link background no run in overload reaches {data.claim:.0f} times nona"
    return (
        f"At {where} link background, beyond their edges, {listed(reached)} reach {data.claim:.0f} times "
        "nona in a run that is long enough"
    )


def provenance(data: PaperStudy) -> str:
    """The provenance of the numbers in one line."""
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, "
        f"{data.replications} runs of {data.jobs:,} jobs per point, scenario {data.scenario}."
    )


def paper_text(data: PaperStudy) -> str:
    """Format the output of ``nona study paper``."""
    lines = [title(data) + ".", "", *(f"- {f}" for f in findings(data)), ""]
    lines += [summary(data).text(), *(["", shown.text()] if (shown := growth(data)) else [])]
    return "\n".join([*lines, "", OURS, provenance(data)])
