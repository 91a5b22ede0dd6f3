"""A run compared with its baseline: for each scheduler the old and the new value with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.compare import Before, Dot, dots_figure, scaled
from nona.report.means import mean_text
from nona.report.simulations.compared.text import points
from nona.results.simulation.compared import Change, Changes, Measure
from nona.units import format_time

SCALES: Mapping[Measure, float] = {"jct_s": 1e3, "slo_hit_rate": 100.0, "compute": 100.0, "network": 100.0}
AXES: Mapping[Measure, str] = {
    "jct_s": "mean JCT, ms",
    "slo_hit_rate": "SLO hit rate, %",
    "compute": "executors busy, %",
    "network": "busiest link busy, %",
}


def dumbbell_figure(changes: Mapping[str, Changes], measure: Measure) -> go.Figure:
    """One row per scheduler: the baseline hollow and grey, the run in colour, a line between them.

    ``changes`` is that of :func:`~nona.report.simulations.compared.baseline.changes`. A value that is not
    there, as the mean of an overloaded run, is said in words.
    """
    dots = [_dot(name, row.of(measure), measure) for name, row in changes.items()]
    return dots_figure(dots, AXES[measure], most=None if measure == "jct_s" else 100.0)


def _dot(name: str, row: Change, measure: Measure) -> Dot:
    scale, new, old = SCALES[measure], row.new, row.old
    return Dot(
        name,
        None if new.mean is None else scale * new.mean,
        scaled(new.ci95, scale),
        _label(row, measure),
        before=Before(None if old.mean is None else scale * old.mean, scaled(old.ci95, scale)),
    )


def _label(row: Change, measure: Measure) -> str:
    """The change in words: the label below the scheduler's name."""
    missing = [word for word, v in (("before", row.old), ("now", row.new)) if v.mean is None]
    if missing:
        return f"no value {' and '.join(missing)}"
    show = format_time if measure == "jct_s" else points
    sign = "+" if row.change.mean is not None and row.change.mean > 0 else ""
    return sign + mean_text(row.change, show)
