"""The chart of a sweep that still runs: light enough for many lines that grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from nona.report.scheduler_styles import scheduler_style
from nona.report.sweep_values import axis_scale, by_ratio

HEIGHT = 420
CROSS = "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z"
# ECharts' own names of dashes; it has three.
_DASHES = {"solid": "solid", "dash": "dashed", "longdash": "dashed"}


def live_sweep(report: Mapping[str, Any]) -> None:
    """Every curve as far as it is known."""
    st.echarts_chart(
        live_option(report),
        height=HEIGHT,
        key="sweep-live",
        alt=f"Mean JCT of every scheduler over {report['label'].lower()}, so far",
    )


def live_option(report: Mapping[str, Any]) -> dict[str, Any]:
    """The curves as ECharts takes them: lines of the stable points, crosses where a curve ends."""
    factor, unit = axis_scale(report["unit"])
    series = [s for name, curve in report["schedulers"].items() for s in _series(name, curve, factor)]
    values = report["values"]
    return {
        "animation": False,
        "legend": {"type": "scroll", "data": list(report["schedulers"])},
        "grid": {"left": 8, "right": 24, "top": 48, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "xAxis": {
            "type": "log" if by_ratio(report["unit"]) else "value",
            "name": report["label"] + (f", {unit}" if unit else ""),
            "nameLocation": "middle",
            "nameGap": 28,
            "min": factor * values[0],
            "max": factor * values[-1],
        },
        "yAxis": {"type": "log", "name": "mean JCT, ms (log)", "nameTextStyle": {"align": "left"}},
        "series": series,
    }


def _series(name: str, curve: Mapping[str, Any], factor: float) -> list[dict[str, Any]]:
    style = scheduler_style(name)
    line: list[list[float | str]] = []
    for p in curve["points"]:
        mean = p["jct_s"]["mean"]
        line.append([factor * p["value"], "-" if mean is None else 1e3 * mean])
    known = {p["value"]: p["jct_s"]["mean"] for p in curve["points"]}
    ends = [
        [factor * e["overloaded"], 1e3 * known[e["stable"]]]
        for e in curve["edges"]
        if known.get(e["stable"]) is not None
    ]
    drawn: dict[str, Any] = {
        "name": name,
        "type": "line",
        "data": line,
        "symbolSize": 6,
        "color": style.colour,
        "lineStyle": {"width": 2, "type": _DASHES.get(style.dash, "dotted")},
    }
    cross = {
        "name": f"{name} unstable",
        "type": "scatter",
        "data": ends,
        "symbol": CROSS,
        "symbolSize": 10,
        "color": style.colour,
    }
    return [drawn, cross] if ends else [drawn]
