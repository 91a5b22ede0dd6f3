"""The chart of a sweep that still runs: light enough for many lines that grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.sweeps.ends import CurveEnd, curve_ends
from nona.report.sweeps.values import axis_scale, by_ratio
from nona.results.sweep import SweepOutcome, SweepReport, SweptCurve

HEIGHT = 420
CROSS = "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z"
# ECharts' own names of dashes; it has three.
_DASHES = {"solid": "solid", "dash": "dashed", "longdash": "dashed"}


def live_sweep(live: Mapping[str, Any]) -> None:
    """Every curve as far as it is known; ``live`` is what the job sent."""
    report = SweepOutcome.from_json(live)
    st.echarts_chart(
        live_option(report),
        height=HEIGHT,
        key="sweep-live",
        alt=f"Mean JCT of every scheduler over {report.label.lower()}, so far",
    )


def live_option(report: SweepReport) -> dict[str, Any]:
    """The curves as ECharts takes them: lines of the stable points, crosses where a curve ends."""
    factor, unit = axis_scale(report.unit)
    series = [_line(name, curve, factor) for name, curve in report.schedulers.items()]
    series += [_cross(end) for end in curve_ends(report, lambda p: p.jct_s, 1e3)]
    values = report.values
    return {
        "animation": False,
        "legend": {"type": "scroll", "top": 0, "bottom": "auto", "data": list(report.schedulers)},
        "grid": {"left": 8, "right": 24, "top": 72, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "xAxis": {
            "type": "log" if by_ratio(report.unit) else "value",
            "name": report.label + (f", {unit}" if unit else ""),
            "nameLocation": "middle",
            "nameGap": 28,
            "min": factor * values[0],
            "max": factor * values[-1],
        },
        "yAxis": {"type": "log", "name": "mean JCT, ms (log)", "nameTextStyle": {"align": "left"}},
        "series": series,
    }


def _line(name: str, curve: SweptCurve, factor: float) -> dict[str, Any]:
    style = scheduler_style(name)
    line: list[list[float | str]] = []
    for p in curve.points:
        mean = p.jct_s.mean
        line.append([factor * p.value, "-" if mean is None else 1e3 * mean])
    return {
        "name": name,
        "type": "line",
        "data": line,
        "symbolSize": 6,
        "color": style.colour,
        "lineStyle": {"width": 2, "type": _DASHES.get(style.dash, "dotted")},
    }


def _cross(end: CurveEnd) -> dict[str, Any]:
    return {
        "name": f"{end.name}: {end.label}",
        "type": "scatter",
        "data": [[end.x, end.y]],
        "symbol": CROSS,
        "symbolSize": 10,
        "color": scheduler_style(end.name).colour,
    }
