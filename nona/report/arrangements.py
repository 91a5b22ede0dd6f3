"""Two copies of a model on two GPUs: which arrangement is quicker at which rate, as sentences and chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import add_means, figure, log_axis
from nona.results.document import Estimate
from nona.results.studies import Arranged, ArrangedPoint, RowArranged
from nona.tables import TIME, Column, Table, share_text
from nona.units import format_number, format_size

NO_STEADY_STATE = "no steady state"
# Name, what is read of a case, and its look on the chart.
SIMPLE: tuple[tuple[str, Callable[[Arranged], Estimate], Look], ...] = (
    ("dedicated", lambda c: c.dedicated, Look("#5c6bc0", "solid", "circle")),
    ("pipeline", lambda c: c.pipeline, Look("#14a394", "solid", "diamond")),
    ("replicated", lambda c: c.replicated, Look("#e0a81e", "solid", "square")),
)
C = TypeVar("C", bound=Arranged)


def mean_or_state(read: Callable[[C], Estimate]) -> Callable[[C], Estimate | str]:
    return lambda case: NO_STEADY_STATE if read(case).mean is None else read(case)


def quickest(case: Arranged) -> str:
    means = [(read(case).mean, name) for name, read, _ in SIMPLE]
    return min(((mean, name) for mean, name in means if mean is not None), default=(0.0, ""))[1]


POINTS = Table[Arranged](
    "",
    (
        Column(
            "rate of each, 1/s", lambda c: c.rates[0], key="rate", help="Queries per second of each copy."
        ),
        *(Column(name, mean_or_state(read), TIME, interval=True) for name, read, _ in SIMPLE),
        Column("best", lambda c: quickest(c)),
    ),
)


def row_finding(data: RowArranged) -> str:
    """Which of dedicated GPUs and splitting is quicker at which rates, and where replicas beat both."""
    batches = f"batches of {data.batch}" if data.batch > 1 else "one query at a time"
    arrivals = "Poisson arrivals" if data.cv == 1.0 else f"bursts (CV {data.cv:g})"
    parts = [
        _rates(
            data,
            lambda c: ("pipeline", "dedicated") in c.quicker,
            "splitting is clearly quicker than dedicated GPUs",
        ),
        _rates(
            data,
            lambda c: sum(one == "replicated" for one, _ in c.quicker) == 2,
            "replicas are clearly quicker than both",
        ),
    ]
    return f"With {batches} and {arrivals}, {'; '.join(parts)}"


def _rates(data: RowArranged, holds: Callable[[ArrangedPoint], bool], what: str) -> str:
    rates = [c.rates[0] for c in data.points if holds(c)]
    if len(rates) == len(data.points):
        return f"{what} at every rate tried"
    if not rates:
        return f"{what} at no rate tried"
    low, high = format_number(rates[0], 3), format_number(rates[-1], 3)
    few = "" if _together(data, rates) else "some rates "
    return f"{what} at {few}{low}/s" if low == high else f"{what} at {few}{low} to {high}/s"


def _together(data: RowArranged, rates: Sequence[float]) -> bool:
    return sum(rates[0] <= c.rates[0] <= rates[-1] for c in data.points) == len(rates)


def row_note(data: RowArranged) -> str:
    """How the chart was made, in a line or two."""
    copies = "" if data.fits else f" Replicas need more memory than one {data.kind} has."
    return (
        f"Simulated: two copies of {data.label} on two {data.kind}, {data.replications} runs of "
        f"{data.jobs:,} queries for each point, with equal arrivals in each arrangement. The cut nearest to "
        f"half its time leaves {share_text(data.share)} before it, whatever the batch; a query sends "
        f"{format_size(data.sent_bytes)} over it, across the link with its background; network "
        f"cards and racks are left out.{copies}"
    )


def row_figure(data: RowArranged) -> go.Figure:
    """Mean times over the rate of each copy, milliseconds, logarithmic; no point without steady state."""
    chart = figure(340)
    rates, means = [c.rates[0] for c in data.points], list[float | None]()
    for name, read, look in SIMPLE:
        hover, estimates = f"{name} at %{{x:,.3~r}}/s: %{{y:,.3~r}} ms", [read(c) for c in data.points]
        means += add_means(chart, name, rates, estimates, 1e3, look, hover, bar=1.5)
    chart.update_xaxes(title="queries per second of each copy", rangemode="tozero")
    log_axis(chart, means, "mean JCT, ms", "y")
    return chart
