"""Figures of a simulation: JCTs, hits, loads, uncertainty, warm-up, Gantt charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from nona.core.document import Estimate
from nona.core.figures import (
    OVERLOADED_DASH,
    PALETTE,
    PLAIN,
    QUIET,
    ROW,
    EstimateDot,
    PreviousValue,
    add_bars,
    add_line,
    add_means,
    add_points,
    distributions_figure,
    dot_of,
    dots_figure,
    figure,
    fitting_axis,
    log_axis,
    rule,
    scaled,
    scheduler_style,
    spread_wide,
    text,
)
from nona.core.figures import label_rows as name_rows
from nona.core.registry import ChartStyle
from nona.core.tables import kept_text, mean_text
from nona.core.units import format_time
from nona.queries.chart_data import Distributions, GanttBar, OverTime, Slos, WarmupSeries
from nona.queries.report.comparison import points
from nona.queries.report.tables import PARTS
from nona.queries.results import (
    Changes,
    Difference,
    HitsOverTime,
    MeanConfidence,
    Measure,
    MeasureChange,
    Schedulers,
)


def jct_over_time_figure(
    series: Mapping[str, OverTime], states: Mapping[str, str] | None = None
) -> go.Figure:
    """Mean JCT of the jobs that arrived in each time interval, one line per scheduler.

    The axis is logarithmic where the lines lie far apart, as they do beside an overloaded one.
    """
    chart = figure(360)
    for name, row in series.items():
        shown, look = _shown(name, states)
        add_line(chart, shown, row.t, [v * 1e3 for v in row.jct_s], look, f"{text(shown)}: %{{y:,.3~r}} ms")
    chart.update_xaxes(title="arrival, s after the first measured job")
    if spread_wide([sum(s.jct_s) / len(s.jct_s) for s in series.values() if s.jct_s]):
        log_axis(chart, [1e3 * v for s in series.values() for v in s.jct_s], "mean JCT, ms", "y")
    else:
        chart.update_yaxes(type="linear", title="mean JCT, ms", rangemode="tozero")
    return chart


def ecdf_figure(ecdf: Distributions, model: str, slo_s: Slos, states: Mapping[str, str]) -> go.Figure:
    """Distribution of completion times, for one model or ``"all"``, with SLOs as lines."""
    curves = {}
    for name, of in ecdf.items():
        shown, look = _shown(name, states)
        curves[shown] = ([v * 1e3 for v in of[model].x], [100 * v for v in of[model].y], look)
    chart = distributions_figure(curves, "JCT, ms", "%{y:.1f} % within %{x:,.3~r} ms")
    slos = [s for name, s in slo_s.items() if s is not None and model in (name, "all")]
    word = "SLO" if len(set(slos)) == 1 else "SLOs"
    for slo in sorted(set(slos)):  # one word for all of them: they may stand side by side
        rule(chart, slo * 1e3, word if slo == max(slos) else "", "x")
    return chart


def _shown(name: str, states: Mapping[str, str] | None) -> tuple[str, ChartStyle]:
    """Name and look of a line, which say where its scheduler is overloaded."""
    style = scheduler_style(name)
    if (states or {}).get(name) != "overloaded":
        return name, style
    return f"{name} (overloaded)", replace(style, dash=OVERLOADED_DASH)


def utilisation_figure(schedulers: Schedulers) -> go.Figure:
    """Mean utilisation of the executors and of the busiest link, background included."""
    chart = figure(110 + 44 * len(schedulers))
    names = list(schedulers)
    shares = [s.utilization for s in schedulers.values()]
    for values, label, colour in (
        ([s.compute for s in shares], "executors", PALETTE[0]),
        ([s.network for s in shares], "busiest link", PALETTE[2]),
    ):
        percent, hover = [_percent(v) for v in values], f"%{{y}}: {label} %{{x:.1f}} %"
        add_bars(chart, label, [text(n, 24) for n in names], percent, colour, hover)
    chart.update_layout(barmode="group", bargap=0.3)
    chart.update_xaxes(title="utilisation, %", range=[0, 101])
    chart.update_yaxes(autorange="reversed", showgrid=False)
    return chart


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


COLOURS = (PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[7], PALETTE[4], PALETTE[5])
LABELS = tuple((key, label, colour) for (key, label), colour in zip(PARTS.items(), COLOURS, strict=True))


def parts_figure(schedulers: Schedulers, model: str = "all") -> go.Figure:
    """Mean JCT of each scheduler, for one model or ``"all"``, stacked by its parts.

    An overloaded scheduler has no bar and says so.
    """
    chart = figure(140 + 34 * len(schedulers))
    of = [(s if model == "all" else s.models[model]).parts_s.by_name() for s in schedulers.values()]
    names = [text(n) + (" (overloaded)" if s.overloaded else "") for n, s in schedulers.items()]
    for key, label, colour in LABELS:
        values = [parts[key] for parts in of]
        if key == "fill_wait" and not any(values):
            continue
        times_ms = [None if v is None else v * 1e3 for v in values]
        add_bars(chart, label, names, times_ms, colour, f"%{{y}}: {label} %{{x:,.3~r}} ms")
    chart.update_layout(barmode="stack")
    chart.update_xaxes(title="mean JCT, ms", rangemode="tozero")
    chart.update_yaxes(autorange="reversed")
    return chart


def hits_over_time_figure(hits: HitsOverTime) -> go.Figure:
    """Share of the jobs of each window that kept their SLO, as steps, one line per scheduler."""
    chart = figure(320)
    for name, windows in hits.items():
        rated = [w for w in windows if w.hit_rate is not None]
        add_line(
            chart,
            name,
            [w.start_s for w in rated] + [w.end_s for w in rated[-1:]],
            [100 * (w.hit_rate or 0.0) for w in [*rated, *rated[-1:]]],
            scheduler_style(name),
            "%{fullData.name}: %{y:.1f} % of SLOs kept: %{customdata[0]} of %{customdata[1]} jobs that "
            "arrived from %{x:,.3~r} s to %{customdata[2]:,.3~r} s",
            steps=True,
            customdata=[[w.hits, w.jobs, w.end_s] for w in [*rated, *rated[-1:]]],
        )
    chart.update_xaxes(title="arrival, s after the first measured job")
    chart.update_yaxes(title="SLO hits, %", range=[0, 101])
    return chart


def jct_dots(schedulers: Schedulers) -> list[EstimateDot]:
    """Mean JCT of each scheduler, in milliseconds, with its interval."""
    return [dot_of(name, s.jct_s, 1e3, _time_text, s.state) for name, s in schedulers.items()]


def hit_dots(schedulers: Schedulers) -> list[EstimateDot]:
    """SLO hit rate of each scheduler, in per cent, with its interval."""
    return [dot_of(name, s.slo_hit_rate, 100, _hits_text, "no SLO") for name, s in schedulers.items()]


def difference_dots(differences: Mapping[str, Difference]) -> list[EstimateDot]:
    """Mean JCT of each scheduler minus that of a baseline, in milliseconds, with its paired interval."""
    return [dot_of(name, d.jct_s, 1e3, _time_text, d.verdict) for name, d in differences.items()]


def _time_text(value: Estimate) -> str:
    return mean_text(value, format_time)


def _hits_text(value: Estimate) -> str:
    return mean_text(value, kept_text)


SCALES: Mapping[Measure, float] = {"jct_s": 1e3, "slo_hit_rate": 100.0, "compute": 100.0, "network": 100.0}
AXES: Mapping[Measure, str] = {
    "jct_s": "mean JCT, ms",
    "slo_hit_rate": "SLO hit rate, %",
    "compute": "executors busy, %",
    "network": "busiest link busy, %",
}


def dumbbell_figure(changes: Mapping[str, Changes], measure: Measure) -> go.Figure:
    """One row per scheduler: the baseline hollow and grey, the run in colour, a line between them.

    ``changes`` is that of :func:`~nona.queries.report.comparison.changes`. A value that is not
    there, as the mean of an overloaded run, is said in words.
    """
    dots = [_dot(name, row.value(measure), measure) for name, row in changes.items()]
    return dots_figure(dots, AXES[measure], most=None if measure == "jct_s" else 100.0)


def _dot(name: str, row: MeasureChange, measure: Measure) -> EstimateDot:
    scale, new, old = SCALES[measure], row.new, row.old
    return EstimateDot(
        name,
        None if new.mean is None else scale * new.mean,
        scaled(new.ci95, scale),
        _change_label(row, measure),
        before=PreviousValue(None if old.mean is None else scale * old.mean, scaled(old.ci95, scale)),
    )


def _change_label(row: MeasureChange, measure: Measure) -> str:
    missing = [word for word, v in (("before", row.old), ("now", row.new)) if v.mean is None]
    if missing:
        return f"no value {' and '.join(missing)}"
    show = format_time if measure == "jct_s" else points
    sign = "+" if row.change.mean is not None and row.change.mean > 0 else ""
    return sign + mean_text(row.change, show)


def forest_figure(rows: Sequence[MeanConfidence]) -> go.Figure:
    """Diamond: prediction. Dot with line: simulated mean with 95 % interval. Bar: Little's law.

    The dotted line is the idle bound, below which no mean can lie; overloaded schedulers say so.
    ``rows`` are those of :func:`~nona.queries.report.uncertainty.confidence_rows`.
    """
    chart = figure(96 + ROW * len(rows))
    names = [text(r.scheduler, 24) for r in rows]
    idle = next((r.idle_s for r in rows if r.idle_s), None)
    means_s = [idle, *(v for r in rows for v in (r.jct_s.mean, r.predicted_s))]
    values = [1e3 * v for v in means_s if v is not None]
    _simulated(chart, rows, names)
    _marks(chart, [r.predicted_s for r in rows], names, "predicted", "diamond-open", 13)
    little = [None if r.state == "overloaded" else r.little_s for r in rows]
    _marks(chart, little, names, "by Little's law from the number of jobs", "line-ns-open", 14)
    if idle:
        look, hover = replace(PLAIN, dash="dot"), "idle bound: %{x:,.3~r} ms"
        add_line(chart, "idle bound", [1e3 * idle] * 2, [names[0], names[-1]], look, hover)
    name_rows(chart, [r.scheduler for r in rows], [_confidence_label(r) for r in rows])
    fitting_axis(chart, values, "mean JCT, ms")
    chart.update_xaxes(nticks=6)
    return chart


def _confidence_label(row: MeanConfidence) -> str:
    if row.jct_s.mean is None:
        return row.state
    return "no prediction" if row.error is None else f"prediction {100 * row.error:+.1f} %"


def _simulated(chart: go.Figure, rows: Sequence[MeanConfidence], names: Sequence[str]) -> None:
    jcts, hover = [r.jct_s for r in rows], "%{y}: simulated %{x:,.3~r} ms"
    add_means(chart, "simulated, 95 %", names, jcts, 1e3, PLAIN, hover, lying=True)
    looks = [scheduler_style(r.scheduler).colour for r in rows]
    chart.data[-1].marker.update(color=looks, line={"color": looks})


def _marks(
    chart: go.Figure,
    values: Sequence[float | None],
    names: Sequence[str],
    word: str,
    symbol: str,
    size: int,
) -> None:
    x = [None if v is None else 1e3 * v for v in values]
    add_points(chart, word, x, names, replace(PLAIN, symbol=symbol), f"%{{y}}: {word} %{{x:,.3~r}} ms", size)


def warmup_figure(series: WarmupSeries) -> go.Figure:
    """Above: mean JCT of pilot runs from their first job on. Below: MSER statistic over its minimum.

    A dot marks each scheduler's own cut, the vertical line the common one: the latest of them.
    """
    chart = figure(420)
    for name, curve in series.schedulers.items():
        look = ChartStyle(scheduler_style(name).colour, "dot" if curve.too_short else "solid", "circle")
        label = f"{name} (too short)" if curve.too_short else name
        jct_ms, hover = [1e3 * v for v in curve.jct_s], "%{fullData.name}: %{y:,.3~r} ms at job %{x:.0f}"
        add_line(chart, label, curve.at, jct_ms, look, hover, legendgroup=name)
        hover = "%{fullData.name}: %{y:,.3~r} times the minimum, %{x:.0f} jobs cut"
        add_line(
            chart,
            label,
            curve.statistic_at,
            curve.statistic,
            look,
            hover,
            legendgroup=name,
            showlegend=False,
            yaxis="y2",
        )
        if curve.statistic and not curve.too_short:
            hover = "%{fullData.name}: minimum at %{x:.0f} jobs"
            add_points(
                chart,
                label,
                [curve.cut],
                [1.0],
                look,
                hover,
                7,
                legendgroup=name,
                showlegend=False,
                yaxis="y2",
            )
    at = series.jobs
    chart.add_shape(
        type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line={"color": QUIET, "dash": "dash"}
    )
    chart.add_annotation(
        x=at, y=1, yref="paper", text=f"warm-up: {at:,} jobs", showarrow=False, xanchor="left", yanchor="top"
    )
    chart.update_xaxes(title="jobs since the empty start", rangemode="tozero", anchor="y2")
    chart.update_layout(
        yaxis={"domain": [0.45, 1.0], "title": "mean JCT, ms", "rangemode": "tozero"},
        yaxis2={
            "domain": [0.0, 0.38],
            "title": "MSER / minimum",
            "type": "log",
            "gridcolor": "rgba(128,128,128,.22)",
            "automargin": True,
        },
    )
    return chart


SPARSE = 20  # times the busy time
MOST_BARS = 1500
MOST_JOBS = 6  # drawn one below the other where jobs are rare
LANE = 26
MEMBER, HIGHEST = 11, 720  # pixels of a member of a batch, and of all lanes together where they are few


def gantt_figure(rows: Sequence[GanttBar]) -> go.Figure:
    """Task and message intervals of the first measured jobs, one colour per job, time in milliseconds.

    Messages are hatched. Where executors batch, a batch is a stack of its members, as high as it has members.
    Where jobs are so rare that on one time axis they would be mere ticks, each has lanes and a time axis of
    its own, from its start.
    """
    apart = are_rare(rows)
    shown = (_by_own_start(rows) if apart else list(rows))[:MOST_BARS]
    lanes = (
        list(dict.fromkeys(r.row for r in shown))
        if apart
        else sorted({r.row for r in shown}, key=_lane_order)
    )
    jobs = list(dict.fromkeys(r.job for r in shown))
    most = max((r.members for r in shown), default=1)
    lane = max(LANE, min(MEMBER * most, HIGHEST // max(len(lanes), 1))) if most > 1 else LANE
    chart = figure(96 + lane * len(lanes), legend=len(jobs) > 1 and not apart)
    for number, job in enumerate(jobs):
        _add(chart, [r for r in shown if r.job == job], number, most)
    chart.update_layout(
        barmode="overlay", bargap=0.25, dragmode="pan", uniformtext={"minsize": 9, "mode": "hide"}
    )
    chart.update_xaxes(
        title="ms after each job's first task was ready" if apart else "ms after the first task was ready"
    )
    chart.update_yaxes(categoryorder="array", categoryarray=lanes[::-1], fixedrange=True)
    return chart


def _add(chart: go.Figure, own: Sequence[GanttBar], number: int, most: int) -> None:
    """Draw the bars of one job: tasks plain, messages hatched; ``most`` members of a batch fill a row."""
    colour = PALETTE[number % len(PALETTE)]
    for hatch, part in (
        ("", [r for r in own if not _is_message(r)]),
        ("/", [r for r in own if _is_message(r)]),
    ):
        if not part:
            continue
        chart.add_bar(
            y=[r.row for r in part],
            x=[(r.end_s - r.start_s) * 1e3 for r in part],
            base=[r.start_s * 1e3 for r in part],
            orientation="h",
            **_stacked(part, most),
            name=f"job {number + 1}",
            legendgroup=str(number),
            showlegend=not hatch,
            marker={
                "color": colour,
                "line": {"width": 1, "color": colour},
                "pattern": {"shape": hatch, "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)", "size": 6},
            },
            text=["" if hatch else text(r.what, 14) for r in part],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": "#ffffff"},
            customdata=[[text(r.model), text(r.what, 80), r.wait_s * 1e3] for r in part],
            hovertemplate=(
                "%{customdata[0]}: %{customdata[1]}<br>%{x:,.3~r} ms from %{base:,.3~r} ms, "
                f"waited %{{customdata[2]:,.3~r}} ms<extra>job {number + 1}</extra>"
            ),
        )


def _stacked(part: Sequence[GanttBar], most: int) -> dict[str, list[float]]:
    """Where in its lane each bar lies; plotly's own way without batches."""
    if most == 1:
        return {}
    height = [_LANE if _is_message(r) else _LANE / most for r in part]
    return {
        "width": height,
        "offset": [-_LANE / 2 + r.place * h for r, h in zip(part, height, strict=True)],
    }


_LANE = 0.8  # of the height between two lanes


def _is_message(row: GanttBar) -> bool:
    return row.row.endswith("link")


def spans_of(rows: Sequence[GanttBar]) -> dict[int, tuple[float, float]]:
    """Job → from the start of its first interval to the end of its last, in order of their starts."""
    spans: dict[int, tuple[float, float]] = {}
    for r in rows:
        start, end = spans.get(r.job, (r.start_s, r.end_s))
        spans[r.job] = (min(start, r.start_s), max(end, r.end_s))
    return dict(sorted(spans.items(), key=lambda item: item[1]))


def are_rare(rows: Sequence[GanttBar]) -> bool:
    """Return whether the jobs' window exceeds ``SPARSE`` times the time in which any job is present."""
    spans = list(spans_of(rows).values())
    if len(spans) < 2:
        return False
    return max(e for _, e in spans) - spans[0][0] > SPARSE * sum(e - s for s, e in spans)


def _by_own_start(rows: Sequence[GanttBar]) -> list[GanttBar]:
    """Return the first jobs one below the other, each from time 0, lanes named after the job."""
    spans = list(spans_of(rows).items())[:MOST_JOBS]
    placed: list[GanttBar] = []
    for number, (job, (start, _)) in enumerate(spans, start=1):
        own = sorted((r for r in rows if r.job == job), key=lambda r: _lane_order(r.row))
        placed += [
            r.model_copy(
                update={
                    "row": f"job {number} · {r.row}",
                    "start_s": r.start_s - start,
                    "end_s": r.end_s - start,
                }
            )
            for r in own
        ]
    return placed


def _lane_order(name: str) -> tuple[int, ...]:
    numbers = tuple(int(w) for w in name.replace("·", " ").split() if w.isdigit())
    return numbers or (-1,)
