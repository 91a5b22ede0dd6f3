"""The study of the throughput estimator as text, computed from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.means import mean_text
from nona.report.text import table
from nona.results.studies.estimator import EstimatorPoint, EstimatorStudy, Way

WAYS: dict[Way, str] = {
    "match": "matched reference",
    "completed": "completed row",
    "table-mean": "mean of the table",
    "random-reference": "random reference",
    "nearest": "nearest reference",
}
KINDS = {"known": "model in the reference", "new": "model left out"}


def _share(value: float) -> str:
    return f"{value:.3f}"


def converged(data: EstimatorStudy, kind: str) -> tuple[EstimatorPoint, ...]:
    """The points of one kind with the completion that goes on longest, by share profiled."""
    stop = min(p.stop for p in data.points)
    return tuple(p for p in data.points if p.reference == kind and p.stop == stop)


def _enough(points: Sequence[EstimatorPoint]) -> EstimatorPoint | None:
    """The least share profiled from which on the match is surely better than the mean of the table."""
    found = None
    for p in reversed(points):
        match, mean = p.errors["match"].ci95, p.errors["table-mean"].mean
        if match is None or mean is None or match[1] >= mean:
            break
        found = p
    return found


def estimator_title(data: EstimatorStudy) -> str:
    """The main finding in one sentence."""
    found = _enough(converged(data, "new"))
    if found is None:
        return "For a new model the estimator is not surely better than the mean of the table"
    return (
        "For a new model the estimator is better than the mean of the table once "
        f"{found.profiled:.0%} of its pairs are profiled"
    )


def estimator_findings(data: EstimatorStudy) -> list[str]:
    """Recognition of known models, errors of new ones, and what stopping early costs."""
    lines = [
        f"With {p.profiled:.0%} of its pairs profiled, a job of a known model is matched to its own in "
        f"{p.found.mean:.0%} of cases; the error is {mean_text(p.errors['match'], _share)} of the rate alone."
        for p in converged(data, "known")
        if p.found.mean is not None and p.profiled in (0.1, 0.2, 0.5)
    ]
    for early in data.points:
        late = next(p for p in converged(data, early.reference) if p.profiled == early.profiled)
        if early.stop > late.stop and early.profiled == 0.2:
            lines.append(
                f"Stopping the completion at {early.stop:g} per entry, as the public program does, gives "
                f"{mean_text(early.errors['match'], _share)} instead of "
                f"{mean_text(late.errors['match'], _share)} ({KINDS[early.reference]}, 20% profiled)."
            )
    return lines


def estimator_rows(data: EstimatorStudy) -> list[dict[str, str]]:
    """One row per point."""
    return [
        {
            "reference": KINDS[p.reference],
            "stop": f"{p.stop:g}",
            "profiled": f"{p.profiled:.0%}",
            "recognised": mean_text(p.found, "{:.0%}".format),
            **{name: mean_text(p.errors[way], _share) for way, name in WAYS.items()},
        }
        for p in data.points
    ]


def estimator_text(data: EstimatorStudy) -> str:
    """The study for a terminal: errors as shares of the rate alone."""
    about, rows = data.about, estimator_rows(data)
    return "\n".join(
        [
            f"{estimator_title(data)}.",
            "",
            *estimator_findings(data),
            "",
            "Mean error of the share of its own rate that a job keeps beside another one:",
            table(rows, tuple(rows[0])),
            "",
            f"Made by {about.command} (version {about.version}, {about.made}, {about.seconds:.0f} s): "
            f"{about.models} models on {', '.join(about.types)}, each profiled {about.replications} times. "
            f"Table: {about.table}.",
        ]
    )
