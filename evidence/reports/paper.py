"""The paper's evaluation, reproduced: rows and findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import plotly.graph_objects as go

from evidence.presented import Presented, Shown
from evidence.results import Growth, OverloadRun, PaperStudy, Reach
from nona.core.document import Estimate
from nona.core.figures import add_points, figure, rule, scheduler_style, text
from nona.core.html import pieces as html
from nona.core.tables import (
    COUNT,
    FACTOR,
    TIME,
    Column,
    FilledTable,
    NumberKind,
    Table,
    mean_text,
    share_text,
    times_text,
)
from nona.core.text import join_words
from nona.core.units import format_number, format_time
from nona.queries.sweeps.figures import sweep_figure
from nona.queries.sweeps.findings import stability_finding, stability_text, unstable_spans
from nona.queries.sweeps.report import points_table, simulated, value_text
from nona.queries.sweeps.results import SweepReport, SweptCurve, SweptPoint

FAR = 0.9  # of the load at the edge: up to there a run has time to reach its steady state


class StableRatio(NamedTuple):
    """A ratio to nona, the sweep and the scheduler that it belongs to, and its point."""

    ratio: float
    sweep: str
    scheduler: str
    point: SweptPoint


def points(data: PaperStudy) -> FilledTable:
    """Every simulated point of every sweep, for pages and files."""
    rows = (row for name, report in data.sweeps.items() for row in simulated(report, name))
    return points_table(rows, next(iter(data.sweeps.values())))


def edge_of(curve: SweptCurve) -> float | None:
    """Return the first value from which on a scheduler has no steady state; ``None``: stable throughout."""
    return next((low for low, high in unstable_spans(curve) if (low, high) != (None, None)), None)


def ratios(data: PaperStudy, far: bool = False) -> Iterator[StableRatio]:
    """The ratios wherever both are stable; ``far``: only well below the edge."""
    for name, report in data.sweeps.items():
        yield from _sweep_ratios(name, report, far)


def _sweep_ratios(name: str, report: SweepReport, far: bool) -> Iterator[StableRatio]:
    for scheduler, curve in report.schedulers.items():
        edge = edge_of(curve)
        for point in curve.points if scheduler != report.reference else ():
            close = edge is not None and point.value > FAR * edge
            mean, has_interval = point.ratio.mean, point.ratio.ci95 is not None
            if point.state == "stable" and mean is not None and has_interval and not (far and close):
                yield StableRatio(mean, name, scheduler, point)


def largest(data: PaperStudy, far: bool = False) -> StableRatio | None:
    """Return the point with the largest ratio to nona, of those that :func:`ratios` gives."""
    return max(ratios(data, far), key=lambda r: r.ratio, default=None)


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


def summary(data: PaperStudy) -> FilledTable:
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

        return Column(f"{name}: edge by formula", place, NumberKind(partial(value_text, unit=sweep.unit)))

    def wins(name: str) -> Column[str]:
        by_scheduler = faster(data, name)

        def loads(scheduler: str) -> str | None:
            wins, of = by_scheduler.get(scheduler, (0, 0))
            return f"at {wins} of {of} loads" if wins else None

        return Column(f"{name}: clearly faster than nona", loads)

    def most(far: bool, where: str) -> Column[str]:
        def ratio(scheduler: str) -> Estimate | None:
            own = [r for r in by_far[far] if r.scheduler == scheduler]
            return max(own, key=lambda r: r.ratio).point.ratio if own else None

        return Column(f"largest ratio, {where}", ratio, FACTOR, interval=True)

    columns: tuple[Column[str], ...] = (
        Column("scheduler", str),
        *(column for name in data.sweeps for column in (edge(name), by_formula(name), wins(name))),
        most(True, "well below its edge"),
        most(False, "anywhere stable"),
    )
    return Table("", columns).fill(next(iter(data.sweeps.values())).schedulers.keys())


class _Run(NamedTuple):
    scheduler: str
    run: OverloadRun
    claimed: float | None


def _growth(data: PaperStudy) -> FilledTable:
    """Each run in overload."""
    columns: tuple[Column[_Run], ...] = (
        Column("scheduler", lambda r: r.scheduler),
        Column("jobs", lambda r: r.run.jobs, COUNT),
        Column("arrive within", lambda r: r.run.length_s, TIME),
        Column("mean JCT", lambda r: r.run.jct_s, TIME),
        Column("not complete", lambda r: r.run.unfinished, COUNT),
        Column("times nona", lambda r: r.run.ratio, FACTOR),
        Column("jobs until the claim", lambda r: r.claimed, COUNT, optional=True),
    )
    return Table("", columns).fill(
        _Run(row.scheduler, run, jobs_for(row, data.claim) if run is row.runs[-1] else None)
        for row in data.overload.schedulers
        for run in row.runs
    )


def grows(row: Growth) -> bool:
    """Return whether the ratio keeps growing with the run: more than half as fast as the number of jobs."""
    if len(row.runs) < 2:
        return False
    before, last = row.runs[-2:]
    return last.ratio / before.ratio > 0.5 * last.jobs / before.jobs


def jobs_for(row: Growth, claim: float) -> int | None:
    """Jobs after which a growing ratio is ``claim``, in proportion to the last run; else ``None``."""
    if not grows(row):
        return None
    last = row.runs[-1]
    return round(last.jobs * claim / last.ratio)


OURS = (
    "The paper publishes the workload (AlexNet, ResNet-18, VGG-16, DenseNet-121, GPT-2), the 80 servers, "
    "the background traffic and work, and the kinds of baselines. Rates, GPUs, task times, the link and the "
    "loads are our choice. The heuristics of Decima's simulator are included; two policies trained here, "
    "decima-blind and decima-link, replace its learned policy."
)


def title(data: PaperStudy) -> str:
    """Return the main finding in one sentence."""
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
    """Return the findings, one a line, the most important first."""
    edges = (f"Background {name}: {stability_finding(report)}" for name, report in data.sweeps.items())
    return [_largest(data), *edges, *(_reach(r, data.claim) for r in data.reach), _faster(data)]


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
        f"unstable, the largest ratio measured is {mean_text(far.point.ratio, times_text)}: "
        f"{far.scheduler} at {_where(data, far.sweep, far.point.value)}."
    )
    if near.point is not far.point:
        sweep = data.sweeps[near.sweep]
        edge = edge_of(sweep.schedulers[near.scheduler])
        until = "" if edge is None else f", unstable from {value_text(edge, sweep.unit)}"
        text += (
            f" Just below an edge it is {mean_text(near.point.ratio, times_text)} ({near.scheduler} at "
            f"{_where(data, near.sweep, near.point.value)}{until}), in runs too short "
            "for the queues to reach their mean length."
        )
    return text


def _reach(row: Reach, claim: float) -> str:
    return (
        f"A ratio of {claim:.0f} in steady state: by the formula {row.scheduler} reaches it when "
        f"{format_number(100 * row.room, 2)} percentage points of the link remain below its edge at "
        f"{share_text(row.edge, 3)}. There the relaxation time of the link's queue is about "
        f"{format_time(row.relaxation_s)}, {format_number(row.jobs, 2)} jobs: no run of usual length "
        "shows it."
    )


def _faster(data: PaperStudy) -> str:
    low = min(ratios(data), key=lambda r: r.ratio, default=None)
    if low is None or not any(faster(data, sweep) for sweep in data.sweeps):
        return "No scheduler is clearly faster than nona at any load."
    return (
        "Faster than nona are those that observe queues and choose idle servers, while nona draws servers "
        "blindly, like the paper's stochastic scheduler; the smallest ratio is "
        f"{format_number(low.ratio, 2)} ({low.scheduler}, {_where(data, low.sweep, low.point.value)})."
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
        f"At {where} link background, beyond their edges, {join_words(reached)} reach {data.claim:.0f} times "
        "nona in a run that is long enough"
    )


def provenance(data: PaperStudy) -> str:
    """Return the provenance of the numbers in one line."""
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, "
        f"{data.replications} runs of {data.jobs:,} jobs per point, scenario {data.scenario}."
    )


def presented(data: PaperStudy) -> Presented:
    """Return the study with its tables: every scheduler, every run in overload, every point."""
    tables = (
        Shown("paper", "Every scheduler's edges and its ratios to nona", summary(data)),
        Shown("paper-overload", "Every run in overload", _growth(data)),
        Shown("paper-points", "All points with their intervals", points(data), folded=True, printed=()),
    )
    return Presented(title(data), findings(data), tables, OURS, provenance(data))


def growth_figure(data: PaperStudy) -> go.Figure:
    """Ratio of the mean JCT to nona's over the jobs in the run, log-log, and the paper's number."""
    chart = figure(360)
    for row in data.overload.schedulers:
        x, y = [r.jobs for r in row.runs], [r.ratio for r in row.runs]
        hover = f"{text(row.scheduler)}: %{{y:,.3~r}} × at %{{x:,}} jobs"
        add_points(chart, row.scheduler, x, y, scheduler_style(row.scheduler), hover, size=8, joined=True)
    chart.update_xaxes(type="log", title="jobs in the run (log)", dtick=1)
    chart.update_yaxes(type="log", title="mean JCT relative to nona (log)", dtick=1)
    rule(chart, data.claim, f"{data.claim:.0f} ×")
    return chart


def paper_html(data: PaperStudy) -> str:
    """Return the report on the data of ``nona study paper``; equal data give equal bytes."""
    return html.document(
        "The paper's evaluation",
        [
            html.header(title(data), description=provenance(data)),
            html.bullets(findings(data), "findings"),
            html.section(
                "Every scheduler", html.table(summary(data), "Edges of stability and ratios to nona")
            ),
            *(_sweep(name, report) for name, report in data.sweeps.items()),
            html.section(
                "Beyond the edges",
                html.table(_growth(data), "Mean completion time over nona's, by the length of the run"),
            ),
            html.section(
                "Every point", html.table(points(data), "All simulated points with their intervals")
            ),
            html.section("Limits", html.paragraph(OURS)),
        ],
    )


def _sweep(name: str, report: SweepReport) -> html.ReportPart | None:
    """Ratio to nona over the swept number; each curve ends where its scheduler is unstable."""
    finding, view = stability_finding(report), f"Ratio to {report.reference}"
    picture = html.chart(finding, sweep_figure(report, view), finding, "Crosses: edges of stability.")
    return html.section(f"Background {name}", picture)
