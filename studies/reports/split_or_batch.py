"""The study "split or batch": its tables, its finding in sentences, its chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import add_means, figure
from nona.report.text import listed
from nona.results.document import Estimate
from nona.tables import TIME, Column, Filled, Kind, Table, share_text
from nona.units import format_number, format_time
from studies.presented import Presented, Shown
from studies.results import Arranged, BreakEven, SplitCase, SplitStudy

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


_DIGITS = Kind("{:.4f}".format, bare=True)
ARRANGEMENTS: tuple[tuple[str, Callable[[SplitCase], Estimate], Look], ...] = (
    *SIMPLE[:2],
    ("pipeline +10 %", lambda c: c.slower, Look("#9ccc65", "solid", "diamond-open")),
    *SIMPLE[2:],
)
THEORY = Table[BreakEven](
    "",
    (
        Column("λD", lambda r: r.load, key="load", help="Load of both models together, of 2."),
        Column("dedicated / pipeline", lambda r: r.gain, _DIGITS, "gain", help="Mean times, no overhead."),
        Column(
            "overhead α", lambda r: r.overhead, _DIGITS, help="All stages this much longer: equally quick."
        ),
        Column("uneven β", lambda r: r.uneven, _DIGITS, help="The slowest stage takes β/2: equally quick."),
    ),
)


def cases(data: SplitStudy) -> Filled:
    """Every case with its mean times, for files."""
    columns: tuple[Column[SplitCase], ...] = (
        Column("B", lambda c: c.batch, key="max_batch", help="The largest batch."),
        Column("CV", lambda c: c.cv, help="Coefficient of variation of the gaps between arrivals."),
        Column(
            "rates, 1/s", lambda c: _rates_text(c), key="rates", help="Queries per second of either model."
        ),
        *(Column(name, mean_or_state(read), TIME, interval=True) for name, read, _ in ARRANGEMENTS),
        Column("best", lambda c: quickest(c)),
    )
    return Table("", columns).of(data.cases)


def _rates_text(case: Arranged) -> str:
    return " + ".join(f"{rate:g}" for rate in case.rates)


def _name(case: SplitCase) -> str:
    return f"B {case.batch}, CV {case.cv:g}, {_rates_text(case)}/s"


def _even(data: SplitStudy, cv: float) -> Iterator[tuple[SplitCase, float]]:
    """Cases of equal rates, and how much quicker the pipeline is than dedicated GPUs (below 0: slower)."""
    for case in data.cases:
        dedicated, pipeline = case.dedicated.mean, case.pipeline.mean
        if case.cv == cv and case.rates[0] == case.rates[1] and dedicated and pipeline:
            yield case, 1.0 - pipeline / dedicated


def title(data: SplitStudy) -> str:
    """The main finding in one sentence."""
    alone = max(gain for case, gain in _even(data, 1.0) if case.batch == 1)
    batched = max(gain for case, gain in _even(data, 1.0) if case.batch > 1)
    return (
        f"Splitting two models over two GPUs makes them {share_text(alone)} quicker one query at a time, and "
        f"{'no quicker' if batched < 0.005 else f'{share_text(batched)} quicker at most'} in batches"
    )


def findings(data: SplitStudy) -> list[str]:
    """Say what batches change, in sentences with their numbers."""
    bursts = [
        f"{share_text(gain)} with batches of {case.batch}" for case, gain in _even(data, 3.0) if gain > 0
    ]
    skewed = [c for c in data.cases if c.rates[0] != c.rates[1] and c.dedicated.mean is None]
    broken = [
        f"{format_time(c.replicated.mean)} against {format_time(c.dedicated.mean)} "
        f"({_rates_text(c)}/s, batches of {c.batch})"
        for c in data.cases
        if c.batch > 1 and c.cv == 1.0 and c.dedicated.mean and c.replicated.mean
        if c.replicated.mean > c.dedicated.mean
    ]
    most = max(row.overhead for row in data.theory)
    lines = [
        f"Without batches and with Poisson arrivals {share_text(most - 1, 1)} of overhead is the most that "
        "splitting is ever worth.",
        "Batches absorb what statistical multiplexing offered: a busy GPU takes more at a time.",
    ]
    if bursts:
        lines.append(f"Bursts still favour the pipeline (gaps with CV 3): by {listed(bursts)}.")
    if skewed:
        lines.append("So does skew: where one GPU cannot carry its model, only sharing has a steady state.")
    if broken:
        lines.append(
            f"A stream spread over replicas by the shorter queue breaks its batches: {listed(broken)}."
        )
    return lines


NOTES = (
    "B: the largest batch; CV: of the gaps between queries, 1: Poisson; rates: of the two models. λD: load "
    "of both models on 2 GPUs. The pipeline is as quick as dedicated GPUs if its stages take α times as "
    "long, or if the slowest takes half of β times the model."
)


def presented(data: SplitStudy) -> Presented:
    """The study with its tables: every case, and the theory without batches."""
    tables = (
        Shown("split-cases", "Mean JCT of each arrangement in every case", cases(data)),
        Shown("split-theory", "Without batches, by theory", THEORY.of(data.theory)),
    )
    a = data.about
    provenance = (
        f"{a.origin}, {a.replications} runs of {a.jobs:,} queries for each case and arrangement, "
        f"{a.seconds:.0f} s. A step with b members takes {format_number(1e3 * a.fixed_s)} + "
        f"{format_number(1e3 * a.each_s)}·b ms; stages take half of it, messages no time. After AlpaServe "
        "(OSDI 2023), which has no batches."
    )
    return Presented(title(data), findings(data), tables, NOTES, provenance)


def split_figure(data: SplitStudy) -> go.Figure:
    """Mean times of every case, a row each, with intervals; milliseconds. Without steady state: no point."""
    names = [_name(case) for case in data.cases]
    chart = figure(120 + 40 * len(names))
    for name, read, look in ARRANGEMENTS:
        hover, estimates = f"%{{y}}, {name}: %{{x:.3~r}} ms", [read(case) for case in data.cases]
        add_means(chart, name, names, estimates, 1e3, look, hover, lying=True, bar=1.5)
    chart.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    chart.update_xaxes(title="mean JCT, ms", rangemode="tozero")
    return chart
