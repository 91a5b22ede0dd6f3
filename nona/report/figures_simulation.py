"""Figures of a simulation. Overloaded schedulers are drawn dashed and named so; their means are not shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from nona.report.figures import PALETTE, QUIET, colours, figure, text

Row = Mapping[str, Any]
SPARSE = 20  # times the busy time
MOST_BARS = 1500


def jct_over_time_figure(
    series: Mapping[str, Row], states: Mapping[str, str] | None = None, running: bool = False
) -> go.Figure:
    """Mean JCT of the jobs that arrived in each stretch of time, one line per scheduler.

    The axis is logarithmic where the lines lie far apart, as they do beside an overloaded one.
    """
    made = figure(300)
    for name, colour in colours(series).items():
        overloaded = (states or {}).get(name) == "overloaded"
        made.add_scatter(
            x=series[name]["t"],
            y=[v * 1e3 for v in series[name]["jct_s"]],
            name=text(name) + (" (overloaded)" if overloaded else ""),
            mode="lines",
            line={"color": colour, "width": 2, "dash": "dot" if overloaded else "solid"},
            hovertemplate="%{y:.4g} ms<extra>%{fullData.name}</extra>",
        )
    made.update_xaxes(title="arrival, s after the first measured job")
    means = [sum(s["jct_s"]) / len(s["jct_s"]) for s in series.values() if s["jct_s"]]
    wide = bool(means) and max(means) > 20 * min(means) > 0
    made.update_yaxes(
        title="mean JCT, ms" + (" (so far)" if running else "") + (", log" if wide else ""),
        type="log" if wide else "linear",
        rangemode="normal" if wide else "tozero",
    )
    return made


def ecdf_figure(
    ecdf: Mapping[str, Row], model: str, slo_s: float | None, states: Mapping[str, str]
) -> go.Figure:
    """Share of jobs done within a time, for one model or ``"all"``, with the SLO as a line."""
    made = figure(340)
    for name, colour in colours(ecdf).items():
        curve = ecdf[name][model]
        overloaded = states.get(name) == "overloaded"
        made.add_scatter(
            x=[v * 1e3 for v in curve["x"]],
            y=[100 * v for v in curve["y"]],
            name=text(name) + (" (overloaded)" if overloaded else ""),
            mode="lines",
            line={"color": colour, "width": 2, "shape": "hv", "dash": "dot" if overloaded else "solid"},
            hovertemplate="%{y:.1f} % within %{x:.4g} ms<extra>%{fullData.name}</extra>",
        )
    if slo_s:
        made.add_vline(x=slo_s * 1e3, line={"color": PALETTE[7], "dash": "dash"}, annotation_text="SLO")
    made.update_xaxes(title="JCT, ms", rangemode="tozero")
    made.update_yaxes(title="jobs done, %", range=[0, 101])
    return made


def hit_rate_figure(schedulers: Mapping[str, Row]) -> go.Figure:
    """SLO hit rate of each scheduler in per cent, with its 95 % confidence interval."""
    return _bars(schedulers, "slo_hit_rate", 100.0, "SLO hit rate, %", stable_only=False, most=100.0)


def jct_figure(schedulers: Mapping[str, Row]) -> go.Figure:
    """Mean JCT of each stable scheduler in milliseconds, with its 95 % confidence interval."""
    return _bars(schedulers, "jct_s", 1e3, "mean JCT, ms", stable_only=True)


def _bars(
    schedulers: Mapping[str, Row],
    key: str,
    scale: float,
    title: str,
    stable_only: bool,
    most: float = math.inf,
) -> go.Figure:
    made = figure(300, legend=False)
    names = list(schedulers)
    tone = colours(names)
    hidden = {n for n in names if stable_only and schedulers[n]["state"] == "overloaded"}
    means = [None if n in hidden else schedulers[n][key]["mean"] for n in names]
    spans = [None if n in hidden else schedulers[n][key]["ci95"] for n in names]
    made.add_bar(
        x=[text(n) for n in names],
        y=[0 if m is None else scale * m for m in means],
        text=[_label(n in hidden, m, scale) for n, m in zip(names, means, strict=True)],
        textposition="inside",
        insidetextanchor="start",
        marker_color=[tone[n] for n in names],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [_reach(s, m, scale, 1, most) for s, m in zip(spans, means, strict=True)],
            "arrayminus": [_reach(s, m, scale, 0, most) for s, m in zip(spans, means, strict=True)],
            "color": QUIET,
        },
        hovertemplate="%{x}: %{y:.4g}<extra></extra>",
    )
    made.update_yaxes(title=title, rangemode="tozero")
    return made


def _reach(span: Sequence[float] | None, mean: float | None, scale: float, end: int, most: float) -> float:
    """Length of an error bar to one end of an interval, cut off where no value can lie."""
    if span is None or mean is None:
        return 0.0
    return abs(min(max(scale * span[end], 0.0), most) - scale * mean)


def _label(hidden: bool, mean: float | None, scale: float) -> str:
    return "overloaded" if hidden else "–" if mean is None else f"{scale * mean:.4g}"


def utilisation_figure(schedulers: Mapping[str, Row]) -> go.Figure:
    """Mean utilisation of the executors and of the link, background included."""
    made = figure(300)
    names = list(schedulers)
    for key, label, colour in (("compute", "executors", PALETTE[0]), ("network", "link", PALETTE[2])):
        made.add_bar(
            x=[text(n) for n in names],
            y=[_percent(schedulers[n]["utilization"][key]) for n in names],
            name=label,
            marker_color=colour,
            hovertemplate=f"{label}: %{{y:.1f}} %<extra>%{{x}}</extra>",
        )
    made.update_layout(barmode="group")
    made.update_yaxes(title="utilisation, %", range=[0, 101])
    return made


def executor_figure(load: Row) -> go.Figure:
    """Utilisation of every executor under one scheduler."""
    values = [100 * v for v in load["executors"]]
    made = figure(220, legend=False)
    made.add_bar(
        x=[str(i) for i in range(len(values))],
        y=values,
        marker_color=PALETTE[0],
        hovertemplate="executor %{x}: %{y:.1f} %<extra></extra>",
    )
    made.update_xaxes(title="executor", type="category")
    made.update_yaxes(title="utilisation, %", range=[0, 101])
    return made


def gantt_figure(rows: Sequence[Row]) -> go.Figure:
    """Task and message intervals of the first measured jobs, one colour per job, time in milliseconds.

    Where jobs are so rare that all of them together would be mere ticks, only the first ones are drawn.
    """
    shown = dense_start(rows)[:MOST_BARS]
    lanes = sorted({r["row"] for r in shown}, key=_lane)
    made = figure(90 + 26 * len(lanes), legend=True)
    tone = colours(str(r["job"]) for r in shown)
    for number, (job, colour) in enumerate(tone.items()):
        own = [r for r in shown if str(r["job"]) == job]
        made.add_bar(
            y=[r["row"] for r in own],
            x=[(r["end_s"] - r["start_s"]) * 1e3 for r in own],
            base=[r["start_s"] * 1e3 for r in own],
            orientation="h",
            name=f"job {number + 1}",
            marker={"color": colour, "line": {"width": 0}},
            customdata=[[text(r["model"]), text(r["what"], 80), r["wait_s"] * 1e3] for r in own],
            hovertemplate=(
                "%{customdata[0]}: %{customdata[1]}<br>%{x:.4g} ms from %{base:.4g} ms, "
                "waited %{customdata[2]:.4g} ms<extra>%{fullData.name}</extra>"
            ),
        )
    made.update_layout(barmode="overlay", bargap=0.25)
    made.update_xaxes(title="ms after the first of these tasks was ready")
    made.update_yaxes(categoryorder="array", categoryarray=lanes[::-1])
    return made


def dense_start(rows: Sequence[Row]) -> list[Row]:
    """The rows of as many first jobs as fit into ``SPARSE`` times the busy time of the first of them.

    >>> row = lambda job, start: {"job": job, "start_s": start, "end_s": start + 1.0}
    >>> [r["job"] for r in dense_start([row(7, 0.0), row(8, 2.0), row(9, 1e6)])]
    [7, 8]
    """
    spans: dict[int, tuple[float, float]] = {}
    for r in rows:
        start, end = spans.get(r["job"], (r["start_s"], r["end_s"]))
        spans[r["job"]] = (min(start, r["start_s"]), max(end, r["end_s"]))
    order = sorted(spans, key=lambda job: spans[job])
    kept, busy = set(order[:1]), 0.0
    for job in order:
        busy += spans[job][1] - spans[job][0]
        if spans[job][1] - spans[order[0]][0] > SPARSE * busy:
            break
        kept.add(job)
    return [r for r in rows if r["job"] in kept]


def _lane(name: str) -> tuple[int, ...]:
    numbers = tuple(int(w) for w in name.replace("·", " ").split() if w.isdigit())
    return numbers or (-1,)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
