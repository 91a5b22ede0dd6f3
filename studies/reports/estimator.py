"""The study of the throughput estimator: findings, every point, and the error of each way of estimating."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import add_means, figure
from nona.tables import Column, Kind, Table, mean_text
from studies.policy_results import EstimatorPoint, EstimatorStudy, Way
from studies.presented import Presented, Shown

# Name and look of each way of estimating.
WAYS: dict[Way, tuple[str, Look]] = {
    "match": ("matched reference", Look("#4c78d8", "solid", "circle")),
    "completed": ("completed row", Look("#0f9b8e", "dash", "square")),
    "table-mean": ("mean of the table", Look("#8390a6", "longdash", "diamond")),
    "random-reference": ("random reference", Look("#b3873a", "dashdot", "triangle-up")),
    "nearest": ("nearest reference", Look("#b45fd0", "longdashdot", "star")),
}
KINDS = {"known": "model in the reference", "new": "model left out"}
ESTIMATED = (
    "A job's rate next to another job on one GPU is estimated from the pairs that were profiled: the row is "
    "completed, and the most similar known model's row is used. Errors are those of the share of its own "
    "rate that a job keeps."
)
ERROR, PART = Kind("{:.3f}".format), Kind("{:.0%}".format)


def converged(data: EstimatorStudy, kind: str) -> tuple[EstimatorPoint, ...]:
    """The points of one kind with the completion that goes on longest, by share profiled."""
    stop = min(p.stop for p in data.points)
    return tuple(p for p in data.points if p.reference == kind and p.stop == stop)


def _enough(points: Sequence[EstimatorPoint]) -> EstimatorPoint | None:
    """The least share profiled from which on the match is surely better than the mean of the table."""
    enough = None
    for p in reversed(points):
        match, mean = p.errors["match"].ci95, p.errors["table-mean"].mean
        if match is None or mean is None or match[1] >= mean:
            break
        enough = p
    return enough


def title(data: EstimatorStudy) -> str:
    """The main finding in one sentence."""
    enough = _enough(converged(data, "new"))
    if enough is None:
        return "For a new model the estimator is not surely better than the mean of the table"
    return (
        "For a new model the estimator is better than the mean of the table once "
        f"{enough.profiled:.0%} of its pairs are profiled"
    )


def findings(data: EstimatorStudy) -> list[str]:
    """List the findings: recognition of known models, errors of new ones, the cost of stopping early."""
    lines = [
        f"With {p.profiled:.0%} of its pairs profiled, a job of a known model is matched to its own in "
        f"{p.found.mean:.0%} of cases; the error is {mean_text(p.errors['match'], ERROR.show)} of the rate "
        "alone."
        for p in converged(data, "known")
        if p.found.mean is not None and p.profiled in (0.1, 0.2, 0.5)
    ]
    for early in data.points:
        late = next(p for p in converged(data, early.reference) if p.profiled == early.profiled)
        if early.stop > late.stop and early.profiled == 0.2:
            lines.append(
                f"Stopping the completion at {early.stop:g} per entry, as the public program does, gives "
                f"{mean_text(early.errors['match'], ERROR.show)} instead of "
                f"{mean_text(late.errors['match'], ERROR.show)} ({KINDS[early.reference]}, 20% profiled)."
            )
    return lines


def _error(way: Way) -> Column[EstimatorPoint]:
    return Column(WAYS[way][0], lambda p: p.errors[way], ERROR, interval=True)


ESTIMATES = Table[EstimatorPoint](
    "",
    (
        Column("reference", lambda p: KINDS[p.reference]),
        Column("stop", lambda p: p.stop, Kind("{:g}".format)),
        Column("profiled", lambda p: p.profiled, PART),
        Column("recognised", lambda p: p.found, PART, interval=True),
        *map(_error, WAYS),
    ),
)


def presented(data: EstimatorStudy) -> Presented:
    """The study with every point; errors are shares of the rate alone."""
    about = data.about
    heading = "Mean error of each way of estimating"
    tables = (Shown("estimator-points", heading, ESTIMATES.of(data.points), folded=True),)
    provenance = (
        f"Made by {about.command} (version {about.version}, {about.made}, {about.seconds:.0f} s): "
        f"{about.models} models on {', '.join(about.types)}, each profiled {about.replications} times. "
        f"Table: {about.table}."
    )
    return Presented(title(data), findings(data), tables, ESTIMATED, provenance)


def estimator_figure(data: EstimatorStudy, kind: str = "new") -> go.Figure:
    """Mean error of each way of estimating with its 95 % interval, over the share profiled in per cent."""
    chart = figure(360)
    points = converged(data, kind)
    for way, (name, look) in WAYS.items():
        shares, errors = [100 * p.profiled for p in points], [p.errors[way] for p in points]
        hover = f"{name}, %{{x:,.3~r}} % profiled: error %{{y:.3f}}"
        add_means(chart, name, shares, errors, 1, look, hover)
    chart.update_xaxes(title="pairs profiled, %", rangemode="tozero")
    chart.update_yaxes(title="mean error of the share kept", rangemode="tozero")
    return chart
