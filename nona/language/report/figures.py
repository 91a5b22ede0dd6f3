"""Figures of simulated language engines: steps, caches, the two times to tokens, means by router."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from nona.core.arrays import Ints
from nona.core.document import Estimate
from nona.core.figures import (
    PALETTE,
    EstimateDot,
    add_bars,
    add_line,
    add_points,
    dots_figure,
    figure,
    fitting_axis,
    rule,
    scaled,
    scheduler_style,
    text,
)
from nona.core.registry import ChartStyle
from nona.core.tables import kept_text, mean_text
from nona.core.text import count_text
from nona.core.units import format_number, format_size, format_time
from nona.language.gpu import MemorySplit
from nona.language.report.tables import MEASURES, pause_text
from nona.language.results import (
    EngineStep,
    LongestPause,
    RequestPoint,
    RequestTargets,
    RouterResult,
    SizeCurve,
    TokenTimes,
)

DECODES, PROMPTS, PAUSE = PALETTE[1], PALETTE[2], PALETTE[3]
BINS = 40


def goodput_figure(schedulers: Mapping[str, RouterResult]) -> go.Figure:
    """Share of requests that met all targets, by router."""
    dots = []
    for name, of in schedulers.items():
        mean, ends = of.goodput.mean, of.goodput.ci95
        label = mean_text(of.goodput, kept_text)
        dots.append(EstimateDot(name, None if mean is None else 100 * mean, scaled(ends, 100), label))
    return dots_figure(dots, "goodput, %", most=100.0)


def times_figure(schedulers: Mapping[str, RouterResult], row: str, measure: str) -> go.Figure:
    """Mean of one of the times of a row's requests, by router, with intervals."""
    dots = []
    for name, of in schedulers.items():
        if of.state == "overloaded":
            continue  # they grow with the length of the run
        times: TokenTimes = getattr(of.models[row], measure)
        mean = None if times.mean is None else 1e3 * times.mean
        label = mean_text(Estimate(mean=times.mean, ci95=times.ci95), format_time)
        dots.append(EstimateDot(name, mean, scaled(times.ci95, 1e3), label))
    return dots_figure(dots, f"{MEASURES[measure]}, mean, ms")


def plane_figure(
    points: Mapping[str, Sequence[RequestPoint]], row: int, targets: RequestTargets
) -> go.Figure:
    """Time to the first token against time per further token, a point per request; targets as lines."""
    chart = figure(400)
    first: list[float | None] = []
    further: list[float | None] = []
    for name, requests in points.items():
        of = [p for p in requests if p.row == row and p.ttft_s is not None and p.tpot_s is not None]
        x, y = [1e3 * (p.ttft_s or 0.0) for p in of], [1e3 * (p.tpot_s or 0.0) for p in of]
        first += x
        further += y
        look = scheduler_style(name)
        hover = f"{text(name)}: first token %{{x:,.3~r}} ms, then %{{y:,.3~r}} ms each"
        add_points(chart, name, x, y, look, hover, size=5, opacity=0.55)
    fitting_axis(chart, first, "to the first token, ms", "x")
    fitting_axis(chart, further, "per further token, ms", "y")
    if targets.ttft_s is not None:
        rule(chart, 1e3 * targets.ttft_s, "target", "x")
    if targets.tpot_s is not None:
        rule(chart, 1e3 * targets.tpot_s, "target", "y")
    return chart


def steps_figure(
    steps: Sequence[EngineStep],
    engines: Sequence[str],
    pause: LongestPause | None = None,
    rows: Sequence[str] = (),
) -> go.Figure:
    """Return a cell per step of each engine; those with tokens of prompts in another colour.

    The longest ``pause`` of an answer is a bar within its engine's; ``rows`` are the names of the rows.
    """
    chart = figure(120 + 34 * len(engines))
    for label, colour, prompts in (("tokens of answers", DECODES, False), ("with prompts", PROMPTS, True)):
        of = [s for s in steps if (s.prefill > 0) == prompts]
        chart.add_bar(
            x=[1e3 * (s.end_s - s.begin_s) for s in of],
            base=[1e3 * s.begin_s for s in of],
            y=[text(engines[s.engine], 24) for s in of],
            orientation="h",
            name=label,
            marker={"color": colour, "line": {"width": 0.5, "color": "rgba(255,255,255,.5)"}},
            customdata=[
                f"{format_time(s.end_s - s.begin_s)}: {s.decodes} answers, {s.prefill:,} tokens of prompts; "
                f"{s.running} run, {s.waiting} wait, {s.kv:,} tokens in the cache"
                for s in of
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    if pause is not None:
        add_bars(
            chart,
            "longest pause of an answer",
            [text(engines[pause.engine], 24)],
            [1e3 * (pause.end_s - pause.begin_s)],
            PAUSE,
            text(pause_text(pause, rows)),
            base=[1e3 * pause.begin_s],
            width=0.25,
        )
    chart.update_layout(barmode="overlay", bargap=0.35)
    chart.update_xaxes(title="time, ms")
    chart.update_yaxes(autorange="reversed", showgrid=False)
    return chart


def lengths_figure(tokens: Ints, what: str) -> go.Figure:
    """Histogram of the tokens of requests, up to their 99.5th percentile, as shares of them."""
    most = max(int(np.percentile(tokens, 99.5)), int(tokens.min()) + 1)
    shares, edges = np.histogram(np.minimum(tokens, most), BINS, range=(0, most))
    chart = figure(200)
    middles, percent = ((edges[:-1] + edges[1:]) / 2).tolist(), (100 * shares / len(tokens)).tolist()
    colour = PROMPTS if what.startswith("input") else DECODES
    hover = "about %{x:,.0f} tokens: %{y:.1f} % of the requests"
    add_bars(chart, "", middles, percent, colour, hover, upright=True)
    rule(chart, float(tokens.mean()), f"mean {tokens.mean():,.0f}", "x")
    chart.update_layout(bargap=0.05, showlegend=False)
    chart.update_xaxes(title=f"{what} of a request")
    chart.update_yaxes(title="requests, %")
    return chart


def sizes_figure(curves: Sequence[SizeCurve], own_rate: float = 0.0) -> go.Figure:
    """Time per output token over the rate, a line for each size of engines; ``own_rate`` is marked."""
    chart = figure(320)
    for curve, colour in zip(curves, PALETTE, strict=False):
        name = f"{count_text(curve.engines, 'engine')} of {count_text(curve.gpus, 'GPU')}"
        token_ms = [None if of is None else 1e3 * of for of in curve.tpot_s]
        hover = f"{name}: " + "%{y:.3g} ms per token at %{x:.3g} requests/s"
        add_line(chart, name, curve.rates, token_ms, ChartStyle(colour, "solid", "circle"), hover)
    shown = [ms for curve in curves for of in curve.tpot_s[:-2] if (ms := 1e3 * (of or 0.0))]
    if own_rate:
        rule(chart, own_rate, f"this scenario: {format_number(own_rate)}/s", "x")
    chart.update_xaxes(title="requests/s", rangemode="tozero")
    chart.update_yaxes(title="per output token, ms", range=[0, 1.1 * max(shown, default=1.0)])
    return chart


def sizes_finding(curves: Sequence[SizeCurve]) -> str:
    """Say which size gives tokens soonest at low rates, which serves most, and where they change places."""
    first = min(curves, key=lambda c: c.tpot_s[0] or math.inf)
    last = max(curves, key=lambda c: c.rates[-1])
    head = f"Engines of {count_text(first.gpus, 'GPU')} give tokens soonest at low rates"
    if first is last:
        return f"{head}, and serve the most: {format_number(last.rates[-1])} requests/s."
    low, high = (
        {rate: token_s for rate, token_s in zip(c.rates, c.tpot_s, strict=True) if token_s is not None}
        for c in (first, last)
    )
    turn = next((rate for rate in low if rate in high and high[rate] < low[rate]), first.rates[-1])
    most = f"which serve up to {format_number(last.rates[-1])} in place of {format_number(first.rates[-1])}"
    engines = f"engines of {count_text(last.gpus, 'GPU')}"
    return f"{head}; from {format_number(turn)} requests/s on {engines} do, {most}."


def memory_figure(split: MemorySplit) -> go.Figure:
    """Return the memory of one GPU that an engine takes, as one bar: weights, activations, graphs, KV."""
    chart = figure(130)
    parts = ("weights", split.weights), ("activations", split.activations)
    rest = ("graphs", split.graphs + split.libraries), ("KV cache", max(0.0, split.kv))
    for number, (name, size) in enumerate((*parts, *rest)):
        add_bars(chart, name, [""], [size / 1e9], PALETTE[number], f"{name}: {format_size(size)}")
    chart.update_layout(barmode="stack", bargap=0.2)
    chart.update_xaxes(title="memory of one GPU, GB", range=[0, split.usable / 1e9])
    chart.update_yaxes(showticklabels=False)
    return chart


def cache_figure(steps: Sequence[EngineStep], engines: Sequence[str], tokens: Sequence[int]) -> go.Figure:
    """Share of each engine's cache that holds tokens, step by step."""
    chart = figure(260)
    for number, name in enumerate(engines):
        of = [s for s in steps if s.engine == number]
        if not of:
            continue
        look = ChartStyle(PALETTE[number % len(PALETTE)], "solid", "circle")
        shares = [100 * s.kv / max(1, tokens[number]) for s in of]
        add_line(
            chart,
            name,
            [1e3 * s.begin_s for s in of],
            shares,
            look,
            f"{text(name)}: %{{y:.1f}} %",
            steps=True,
        )
    chart.update_xaxes(title="time, ms")
    chart.update_yaxes(title="cache in use, %", rangemode="tozero")
    return chart
