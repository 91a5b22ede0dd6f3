"""What the report on sweeps says of the paper's sweeps, which are typed here."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from nona.report.sweeps import figure, report, stability, text
from nona.results.studies.sweep import Estimate, SweepCurve, SweepReport


def curve_rows(sweep: SweepReport) -> list[dict[str, Any]]:
    """One flat row for every simulated point, SI units."""
    return report.curve_rows(sweep.to_json())


def merged_spans(curve: SweepCurve) -> list[tuple[float | None, float | None]]:
    """Ranges without a steady state, close ones merged."""
    return stability.merged_spans(_states(curve))


def stability_text(curve: SweepCurve, unit: str) -> str:
    """The ranges in which a scheduler has no steady state, in words."""
    return stability.stability_text(_states(curve), unit)


def stability_finding(sweep: SweepReport) -> str:
    """The schedulers that are stable at all values, and the edges of the others."""
    curves = {name: _states(curve) for name, curve in sweep.schedulers.items()}
    return stability.stability_finding({"schedulers": curves, "unit": sweep.unit, "values": sweep.values})


def ratio_text(ratio: Estimate) -> str:
    """A ratio with the ends of its interval."""
    return text.ratio_text({"mean": ratio.mean, "ci95": ratio.ci95})


def sweep_figure(sweep: SweepReport, view: str) -> go.Figure:
    """A quantity of the sweep over the swept number."""
    return figure.sweep_figure(sweep.to_json(), view)


def _states(curve: SweepCurve) -> dict[str, list[dict[str, float | str]]]:
    return {"points": [{"value": p.value, "state": p.state} for p in curve.points]}
