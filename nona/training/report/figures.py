"""Figures of training: policies, GPUs and jobs over time, shares, one more GPU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from nona.core.figures import (
    DASHED,
    PALETTE,
    EstimateDot,
    PreviousValue,
    add_heat,
    add_line,
    add_points,
    distributions_figure,
    figure,
    rule,
    scaled,
    scheduler_style,
    text,
    zero_or_close,
)
from nona.core.registry import ChartStyle
from nona.core.tables import share_text
from nona.core.units import format_number
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.results import ElasticCourse, ElasticTrace
from nona.training.report.findings import (
    HOUR_S,
    Policies,
    dollars_text,
    hours_text,
    job_label,
    modelled_sentence,
)
from nona.training.results import GpuInterval, OneMoreReport, RoundFacts, TimeShares, TrainingPolicyResult

MOST_STEPS = 500  # of one line


def pareto_figure(policies: Mapping[str, TrainingPolicyResult]) -> go.Figure:
    """Cost against mean JCT with its interval; dashed: the policies that no other one beats in both."""
    chart = figure(380)
    rows = [(n, p, p.cost_usd, p.jct_s.mean) for n, p in policies.items()]
    points = [(n, p, usd, jct / HOUR_S) for n, p, usd, jct in rows if usd is not None and jct is not None]
    front = frontier([(usd, hours) for _, _, usd, hours in points])
    if len(front) > 1:
        usd_of, hours_of = [usd for usd, _ in front], [hours for _, hours in front]
        add_line(chart, "no policy is better in both", usd_of, hours_of, DASHED, width=1.5)
    for name, p, usd, hours in points:
        style = scheduler_style(name)
        hover = f"{text(name)}: mean JCT {hours_text(HOUR_S * hours)}, {dollars_text(usd)}"
        spans = [scaled(p.jct_s.ci95, 1 / HOUR_S)]
        add_points(chart, name, [usd], [hours], style, hover, size=11, spans=spans)
    chart.update_xaxes(title="cost of the measured jobs, $")
    zero_or_close(chart, [usd for *_, usd, _ in points])
    chart.update_yaxes(title="mean JCT, h", rangemode="tozero")
    return chart


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other one is at most as large as in both coordinates.

    >>> frontier([(1, 5), (2, 3), (3, 4), (4, 1)])
    [(1, 5), (2, 3), (4, 1)]
    """
    best, front = float("inf"), []
    for x, y in sorted(set(points)):
        if y < best:
            front.append((x, y))
            best = y
    return front


def jct_figure(policies: Policies, look: Callable[[str], ChartStyle] = scheduler_style) -> go.Figure:
    """Share of the measured jobs complete within a time, one line for each policy, over all runs."""
    curves = {}
    for name, p in policies.items():
        known = [(of / HOUR_S, percent) for percent, of in enumerate(p.jct_s.percentiles) if of is not None]
        if known:
            curves[name] = ([of for of, _ in known], [float(percent) for _, percent in known], look(name))
    return distributions_figure(curves, "JCT, h", "%{y:.0f} % of the jobs within %{x:,.3~r} h", steps=False)


def rho_figure(policies: Policies, look: Callable[[str], ChartStyle] = scheduler_style) -> go.Figure:
    """Share of the measured jobs with at most a ρ, one line for each policy; 1: as on an equal share."""
    rhos = {n: [j.rho for j in p.measured] for n, p in policies.items()}
    ordered = {name: sorted(v for v in own if v is not None) for name, own in rhos.items()}
    curves = {name: (*steps(own), look(name)) for name, own in ordered.items() if own}
    hover = "%{y:.1f} % of the jobs with ρ of at most %{x:,.3~r}"
    chart = distributions_figure(curves, "finish-time fairness ρ", hover)
    rule(chart, 1.0, "equal share", "x")
    return chart


def steps(values: Sequence[float], most: int = MOST_STEPS) -> tuple[list[float], list[float]]:
    """Return the empirical distribution of sorted values as steps, in per cent; at most ``most`` of them.

    >>> steps([1.0, 2.0])
    ([1.0, 1.0, 2.0], [0.0, 50.0, 100.0])
    """
    count = len(values)
    ranks = (
        range(count) if count <= most else sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})
    )
    return [values[0], *(values[k] for k in ranks)], [0.0, *(100 * (k + 1) / count for k in ranks)]


MOST_BARS = 2500
MOST_LANES = 48
SPANS_S = (3600.0, 6 * 3600.0, 86_400.0, 3 * 86_400.0, 7 * 86_400.0, 30 * 86_400.0)


@dataclass(frozen=True, slots=True)
class DrawnIntervals:
    """Stays within a window, cut to it; ``left_out`` are those that no longer fit on the chart."""

    stays: tuple[GpuInterval, ...]
    start_s: float
    end_s: float
    left_out: int


def window(
    stays: Sequence[GpuInterval], start_s: float, end_s: float, gpu: str, first: int = 0
) -> DrawnIntervals:
    """Draw the stays on GPUs ``first`` … ``first + MOST_LANES − 1`` of a type ("": all) in a window.

    >>> stay = GpuInterval(jobs=(0,), gpu="v100", gpus=(0, 60), start_s=0.0, end_s=10.0)
    >>> shown = window([stay], 4.0, 8.0, "v100")
    >>> shown.stays[0].start_s, shown.stays[0].end_s, shown.stays[0].gpus
    (4.0, 8.0, (0,))
    """
    lanes = range(first, first + MOST_LANES)
    inside, bars, left = [], 0, 0
    for stay in stays:
        own = tuple(g for g in stay.gpus if g in lanes)
        if (gpu and stay.gpu != gpu) or not own or stay.end_s <= start_s or stay.start_s >= end_s:
            continue
        if bars + len(own) > MOST_BARS:
            left += 1
            continue
        bars += len(own)
        ends = {"start_s": max(stay.start_s, start_s), "end_s": min(stay.end_s, end_s)}
        inside.append(stay.model_copy(update={**ends, "gpus": own}))
    return DrawnIntervals(tuple(inside), start_s, end_s, left)


def fitting_span(stays: Sequence[GpuInterval], end_s: float) -> float:
    """Return the longest of the usual spans of which a chart holds all bars, wherever its window begins.

    >>> fitting_span([], 7200.0)
    21600.0
    """
    best = SPANS_S[0]
    for span in SPANS_S:
        bars: Counter[int] = Counter()
        for stay in stays:
            for place in range(int(stay.start_s // span), int(stay.end_s // span) + 1):
                bars[place] += len(stay.gpus)
        if max(bars.values(), default=0) > MOST_BARS:
            break
        best = span
        if span >= end_s:
            break
    return best


def round_at(rounds: Sequence[RoundFacts], time_s: float) -> RoundFacts | None:
    """Return the round in which an instant lies; the last one that began before it where none does."""
    latest = None
    for r in rounds:
        if r.start_s > time_s:
            break
        latest = r
    return latest


def thinned(rounds: Sequence[RoundFacts], most: int = 1000) -> list[RoundFacts]:
    """Every k-th round, so that at most ``most`` are left.

    >>> first = RoundFacts(number=0, start_s=0.0, end_s=1.0, running=0, waiting=0, priorities=())
    >>> rounds = [first.model_copy(update={"number": k}) for k in range(9)]
    >>> [r.number for r in thinned(rounds, 3)]
    [0, 3, 6]
    """
    return list(rounds[:: max(1, math.ceil(len(rounds) / most))])


LANE = 17
TOP = 48  # pixels above the bars: room for the chart's own buttons
MOST_BORDERS = 300  # of more bars, borders would hide the colours


def gantt_figure(shown: DrawnIntervals, names: Sequence[str], at_s: float | None = None) -> go.Figure:
    """GPUs as rows, a bar for each stay of a job; two jobs on one GPU are hatched.

    A bar carries the middle of its stay in seconds, for the round that a click asks for; ``at_s`` marks a
    round.
    """
    bars = [(stay, gpu) for stay in shown.stays for gpu in stay.gpus]
    lanes = sorted({(stay.gpu, gpu) for stay, gpu in bars})
    chart = figure(TOP + 76 + LANE * max(1, len(lanes)), legend=False)
    chart.add_bar(
        y=[f"{s.gpu} {gpu}" for s, gpu in bars],
        x=[(s.end_s - s.start_s) / HOUR_S for s, _ in bars],
        base=[s.start_s / HOUR_S for s, _ in bars],
        orientation="h",
        marker={
            "color": [PALETTE[s.jobs[0] % len(PALETTE)] for s, _ in bars],
            "line": {"width": 0.5 if len(bars) <= MOST_BORDERS else 0, "color": "rgba(128,128,128,.6)"},
            "pattern": {"shape": ["/" if len(s.jobs) > 1 else "" for s, _ in bars], "size": 5},
        },
        customdata=[[(s.start_s + s.end_s) / 2, _interval_hover(s, names)] for s, _ in bars],
        hovertemplate="%{customdata[1]}<extra></extra>",
    )
    if at_s is not None:
        _marked(chart, at_s)
    chart.update_layout(bargap=0.12, barmode="overlay", clickmode="event+select", margin={"t": TOP})
    chart.update_xaxes(title="hours", range=[shown.start_s / HOUR_S, shown.end_s / HOUR_S])
    chart.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=[f"{kind} {gpu}" for kind, gpu in lanes][::-1],
        showgrid=False,
        fixedrange=True,
    )
    return chart


def _marked(chart: go.Figure, at_s: float) -> None:
    """Draw a line at the chosen round over the bars: dark between two light edges, visible on any colour."""
    for colour, width in (("#ffffff", 6), ("#16182b", 2.5)):
        chart.add_vline(x=at_s / HOUR_S, line={"color": colour, "width": width}, layer="above")
    chart.add_annotation(
        x=at_s / HOUR_S, y=1, yref="paper", yanchor="bottom", text="round", showarrow=False, font={"size": 12}
    )


def _interval_hover(stay: GpuInterval, names: Sequence[str]) -> str:
    jobs = " with ".join(text(job_label(names[j]), 40) for j in stay.jobs)
    length = hours_text(stay.end_s - stay.start_s)
    return f"{jobs}<br>{length} from {hours_text(stay.start_s)} on, {stay.gpu}"


def rounds_figure(rounds: Sequence[RoundFacts]) -> go.Figure:
    """Jobs that run and jobs that wait, round by round."""
    chart = figure(280)
    for label, values, look in (
        ("running", [r.running for r in rounds], ChartStyle(PALETTE[1], "solid", "circle")),
        ("waiting", [r.waiting for r in rounds], ChartStyle(PALETTE[2], "dash", "circle")),
    ):
        x, hover = [r.start_s / HOUR_S for r in rounds], f"round %{{customdata}}: %{{y}} {label}"
        numbers = [r.number for r in rounds]
        add_line(chart, label, x, values, look, hover, steps=True, customdata=numbers)
    chart.update_xaxes(title="hours")
    chart.update_yaxes(title="jobs", rangemode="tozero")
    return chart


ROW = 20
SHARES_TOP = 96  # pixels above the rows: room for the chart's own buttons
COLOURS = ((0.0, "rgba(99,102,241,.06)"), (1.0, "rgba(99,102,241,.62)"))


def allocation_figure(rows: Sequence[TimeShares], types: Sequence[str], names: Sequence[str]) -> go.Figure:
    """Two heat maps with the same rows (jobs) and colours: mean share X, and share of time received."""
    chart = figure(SHARES_TOP + 46 + ROW * max(1, len(rows)), legend=False)
    labels = [text(job_label(names[r.job]), 28) for r in rows]
    for axis, title, shares in (
        ("x", "allocation X", [[r.planned.get(t, 0.0) for t in types] for r in rows]),
        ("x2", "received", [[r.received.get(t, 0.0) for t in types] for r in rows]),
    ):
        hover = f"%{{y}} on %{{x}}: {title} %{{z:.3f}}"
        add_heat(chart, shares, COLOURS, (0, 1), hover, x=list(types), y=labels, xaxis=axis)
        chart.add_scatter(  # text of its own: it has the colour of the theme
            x=[t for _ in rows for t in types],
            y=[label for label in labels for _ in types],
            xaxis=axis,
            mode="text",
            text=[f"{v:.2f}" if v >= 0.005 else "" for row in shares for v in row],
            textfont={"size": 11},
            hoverinfo="skip",
        )
    span = [-0.5, len(types) - 0.5]
    chart.update_layout(
        xaxis={
            "domain": [0, 0.48],
            "title": "allocation X",
            "type": "category",
            "side": "top",
            "range": span,
        },
        xaxis2={
            "domain": [0.52, 1],
            "title": "received",
            "type": "category",
            "side": "top",
            "anchor": "y",
            "range": span,
            "showgrid": False,
            "tickfont": {"size": 11},
        },
        margin={"t": SHARES_TOP},
    )
    chart.update_yaxes(type="category", range=[len(rows) - 0.5, -0.5], showgrid=False)
    return chart


def one_more_finding(report: OneMoreReport) -> str:
    """Return the GPU that shortens the mean JCT most, and the one that does so at the least price."""
    base = report.base.mean_jct_s
    saved = {r.gpu: base - r.mean_jct_s for r in report.rows if base and r.mean_jct_s is not None}
    if base is None or not saved:
        return "No job was completed, so nothing can be compared."
    best = max(saved, key=lambda g: (saved[g], g))
    if saved[best] <= 0:
        none = f"No extra GPU of any type shortens the mean JCT under {report.policy}."
        return none + modelled_sentence(report.modelled)
    row = next(r for r in report.rows if r.gpu == best)
    span = "" if row.ci95 is None else f", to between {hours_text(row.ci95[0])} and {hours_text(row.ci95[1])}"
    sure = "" if row.ci95 is not None else " in a single run, which may be chance"
    sentence = (
        f"One more {best} shortens the mean JCT under {report.policy} most, by {hours_text(saved[best])} "
        f"({share_text(saved[best] / base, 1)}{span}){sure}"
    )
    per = {r.gpu: saved[r.gpu] / r.price_hour for r in report.rows if r.price_hour and r.gpu in saved}
    cheap = max(per, key=lambda g: (per[g], g), default=best)
    mark = modelled_sentence(report.modelled)
    if cheap == best or per[cheap] <= 0:
        return f"{sentence}.{mark}"
    return f"{sentence}; per dollar, one more {cheap} saves the most.{mark}"


def one_more_dots(report: OneMoreReport) -> list[EstimateDot]:
    """Return the mean JCT in hours for each type of GPU, beside that of the cluster as it is."""
    base = report.base.mean_jct_s
    before = None if base is None else PreviousValue(base / HOUR_S, None, "as it is")
    return [
        EstimateDot(
            name=r.gpu,
            value=None if r.mean_jct_s is None else r.mean_jct_s / HOUR_S,
            interval=None if r.ci95 is None else [v / HOUR_S for v in r.ci95],
            label=f"{hours_text(r.mean_jct_s)}, as it is {hours_text(base)}",
            note="no job complete" if r.mean_jct_s is None else "",
            before=before,
        )
        for r in report.rows
    ]


Gaps = list[float | None]
Traces = Mapping[str, ElasticTrace]
MEASURES: Mapping[str, tuple[str, Callable[[ElasticTrace], tuple[float, ...]]]] = {
    "GPUs in use": ("GPUs", lambda trace: trace.used),
    "Jobs that run": ("jobs", lambda trace: trace.running),
    "Jobs that wait": ("jobs", lambda trace: trace.waiting),
    "Goodput": ("jobs' worth of progress per hour", lambda trace: smooth(trace.goodput)),
}
WINDOW = 15  # ticks of a mean of goodput


def elastic_style(name: str) -> ChartStyle:
    """Return the look of a policy for elastic jobs."""
    registered = ELASTIC.get(name)
    return (registered.style if registered else None) or scheduler_style(name)


def smooth(values: tuple[float, ...], window: int = WINDOW) -> tuple[float, ...]:
    """Means of the last values.

    >>> smooth((2.0, 4.0, 6.0), 2)
    (2.0, 3.0, 5.0)
    """
    means, total = [], 0.0
    for k, value in enumerate(values):
        total += value - (values[k - window] if k >= window else 0.0)
        means.append(max(total, 0.0) / min(k + 1, window))
    return tuple(means)


def measure_title(measure: str, unit: str, means: Mapping[str, float]) -> str:
    """Return the largest and the smallest mean over a run.

    >>> measure_title("GPUs in use", "GPUs", {"a": 60.0, "b": 48.0})
    'GPUs in use: 60 GPUs on average under a, 48 under b'
    """
    order = sorted(means, key=lambda n: (-means[n], n))
    title = f"{measure}: {format_number(means[order[0]])} {unit} on average under {order[0]}"
    return title if len(order) == 1 else f"{title}, {format_number(means[order[-1]])} under {order[-1]}"


def time_figure(traces: Traces, measure: str, at_s: float | None = None) -> go.Figure:
    """One measure of the cluster over time, a line for each policy; ``at_s`` is marked."""
    unit, values = MEASURES[measure]
    chart = figure(320)
    for name, trace in traces.items():
        x, hover = [t / HOUR_S for t in trace.time_s], f"{text(name)}: %{{y:,.3~r}} {unit} at %{{x:.2f}} h"
        add_line(chart, name, x, values(trace), elastic_style(name), hover, width=1.6, steps=True)
    if at_s is not None:
        rule(chart, at_s / HOUR_S, "", "x")
    chart.update_xaxes(title="hours", rangemode="tozero")
    chart.update_yaxes(title=unit, rangemode="tozero")
    return chart


ROWS: tuple[tuple[str, Callable[[ElasticCourse], tuple[float, ...]]], ...] = (
    ("GPUs", lambda course: course.gpus),
    ("batch, samples", lambda course: course.batch),
    ("goodput, samples/s", lambda course: course.goodput),
    ("efficiency", lambda course: course.efficiency),
)


def _broken(course: ElasticCourse, values: Sequence[float], tick_s: float) -> tuple[Gaps, Gaps]:
    """Return times and values of a course, with a gap wherever the job had no GPUs.

    >>> some = ElasticCourse(time_s=(60, 120, 300), gpus=(), batch=(), efficiency=(), goodput=())
    >>> _broken(some, (4, 5, 6), 60)
    ([0.0, 60.0, 120.0, 120.0, 240.0, 300.0, 300.0], [4, 5, 5, None, 6, 6, None])
    """
    x: Gaps = []
    y: Gaps = []
    for k, (time_s, value) in enumerate(zip(course.time_s, values, strict=True)):
        x.append(time_s - tick_s)
        y.append(value)
        if k + 1 == len(values) or course.time_s[k + 1] - time_s > 1.5 * tick_s:
            x += [time_s, time_s]
            y += [value, None]
    return x, y


def job_figure(courses: Mapping[str, ElasticCourse], arrival_s: float, tick_s: float) -> go.Figure:
    """GPUs, batch size, goodput and statistical efficiency of one job since its arrival, by policy."""
    chart = figure(620)
    for row, (title, values) in enumerate(ROWS):
        top = 0.93 * (1 - row / len(ROWS))
        axis = "y" if not row else f"y{row + 1}"
        for name, course in courses.items():
            times, shown = _broken(course, values(course), tick_s)
            add_line(
                chart,
                name,
                [None if t is None else (t - arrival_s) / HOUR_S for t in times],
                shown,
                elastic_style(name),
                f"{text(name)}: %{{y:,.3~r}} ({title}) after %{{x:.2f}} h",
                width=1.6,
                steps=True,
                yaxis=axis,
                legendgroup=text(name),
                showlegend=not row,
            )
        look = {
            "domain": [top - 0.19, top],
            "title": {"text": title},
            "rangemode": "tozero",
            "automargin": True,
            "gridcolor": "rgba(128,128,128,.22)",
            "zeroline": False,
            "anchor": "x",
        }
        chart.update_layout({f"yaxis{row + 1 if row else ''}": look})
    chart.update_xaxes(title="hours since its arrival", anchor=f"y{len(ROWS)}", rangemode="tozero")
    return chart
