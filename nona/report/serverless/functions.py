"""The measured networks: fitted laws in rows and words, and the figure of both."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import PALETTE, add_line, add_points, figure
from nona.results.document import number
from nona.serverless.functions import MEASURED, Function, GpuLaw, grid
from nona.serverless.measurements import Fit, Points, law_seconds, relative_errors
from nona.serverless.provenance import Default
from nona.serverless.system import ServerlessSystem
from nona.tables import COUNT, SHARE, SIZE, TIME, Column, Filled, Kind, Table
from nona.units import format_number

DEFAULTS = Table[Default](
    "",
    (
        Column("default", lambda d: d.key),
        Column("value", lambda d: d.value),
        Column("origin", lambda d: d.tag),
        Column("source", lambda d: d.source),
        Column("changed by", lambda d: d.where),
    ),
)


def _smallest_s(function: Function) -> float:
    return sum(float(part[0]) for part in function.seconds(grid([1], [1], [1])))


def _confirmed(function: Function) -> str:
    return ", ".join(function.confirmed) or "nothing"


def _origin(function: Function) -> str:
    return f"{function.source}; the rest {'assumed' if MEASURED in function.confirmed else 'recollected'}"


SHIPPED = Table[Function](
    "",
    (
        Column("function", lambda f: f.name),
        Column("time", _smallest_s, TIME),
        Column("cold start", lambda f: f.cold_start_s, TIME),
        Column("input", lambda f: f.input_bytes, SIZE),
        Column("confirmed", _confirmed),
        Column("source", _origin),
    ),
)


class _Timed(NamedTuple):
    function: Function
    cpu_s: float
    gpu_s: float
    fastest_s: float | None


def function_times(system: ServerlessSystem) -> Filled:
    """Every function of a scenario: its time at the smallest configuration, and with all vGPUs."""
    space, largest = system.space, int(system.space.vgpus.max())
    few = space[space.smallest]
    most = next(
        place
        for place, own in enumerate(space.configurations)
        if (own.batch, own.vcpus, own.vgpus) == (few.batch, few.vcpus, largest)
    )
    columns: tuple[Column[_Timed], ...] = (
        Column("function", lambda r: r.function.name),
        Column("smallest", lambda r: r.cpu_s + r.gpu_s, TIME),
        Column("on the CPU", lambda r: r.cpu_s / (r.cpu_s + r.gpu_s), SHARE),
        Column(f"on {largest} vGPUs", lambda r: r.fastest_s, TIME),
        Column("cold start", lambda r: r.function.cold_start_s, TIME),
        Column("confirmed", lambda r: _confirmed(r.function)),
        Column("source", lambda r: r.function.source),
    )
    return Table("", columns).of(
        _Timed(
            function,
            float(system.cpu_s[k, space.smallest]),
            float(system.gpu_s[k, space.smallest]),
            number(float(system.time_s[k, most])),  # infinite where a file has no time for it
        )
        for k, function in enumerate(system.functions)
    )


FITS = Table[Fit](
    "",
    (
        Column("network", lambda f: f.network),
        Column("floor F", lambda f: f.law.floor_s, TIME),
        Column("constant a", lambda f: f.law.constant_s, TIME),
        Column("per job k", lambda f: f.law.per_query_s, TIME),
        Column("exponent α", lambda f: f.law.exponent, Kind("{:.3f}".format)),
        Column("points", lambda f: f.points, COUNT),
        Column("error", lambda f: f.error, SHARE),
        Column("slices left out", lambda f: f.error_slices_out, SHARE),
        Column("slices between others", lambda f: f.error_slices_between, SHARE),
        Column("batches left out", lambda f: f.error_batches_out, SHARE),
        Column("batches between others", lambda f: f.error_batches_between, SHARE),
    ),
)


def fit_title(fit: Fit) -> str:
    """State the errors of one network's law as the title of its figure.

    >>> from nona.serverless.measurements import shipped_fits
    >>> fit_title(shipped_fits()[0])
    'vgg16: the law is off by 2.7 % on average, by 4.5 % on slices that the fit did not see'
    """
    return (
        f"{fit.network}: the law is off by {_percent(fit.error)} % on average, by "
        f"{_percent(fit.error_slices_out)} % on slices that the fit did not see"
    )


def fits_finding(fits: Sequence[Fit]) -> str:
    """The error of all networks, and of the worst.

    >>> from nona.serverless.measurements import shipped_fits
    >>> fits_finding(shipped_fits())
    'Over 11 networks the law is off by 3.1 % on average, at most 6.8 % (bert).'
    """
    worst = max(fits, key=lambda f: f.error)
    return (
        f"Over {len(fits)} networks the law is off by {_percent(fmean(f.error for f in fits))} % on average, "
        f"at most {_percent(worst.error)} % ({worst.network})."
    )


def _percent(share: float) -> float:
    return round(100 * share, 1)


def fit_figure(points: Points, law: GpuLaw) -> go.Figure:
    """Milliseconds over the batch size, both logarithmic; markers: measured, lines: the law."""
    chart = figure(380)
    errors = relative_errors(law, points)
    batches = np.geomspace(points.batch.min(), points.batch.max(), 49)
    for k, vgpus in enumerate(np.unique(points.vgpus)):
        colour, name = PALETTE[k], f"{vgpus:g} vGPU{'' if vgpus == 1 else 's'}"
        own = points.vgpus == vgpus
        look = Look(colour, "solid", "circle")
        by_law = 1e3 * law_seconds(law, batches, np.full_like(batches, vgpus))
        add_line(chart, "", list(batches), list(by_law), look, legendgroup=name)
        hover = f"batch of %{{x}} on {name}: %{{y:,.3~r}} ms measured, law off by %{{customdata:.1f}} %"
        x, y, off = points.batch[own], 1e3 * points.seconds[own], 100 * errors[own]
        add_points(chart, name, x, y, look, hover, size=7, legendgroup=name, customdata=off)
    sizes = np.unique(points.batch)
    chart.update_xaxes(
        title="jobs in the batch", type="log", tickvals=sizes, ticktext=[f"{b:g}" for b in sizes]
    )
    low, high = 1e3 * points.seconds.min(), 1e3 * points.seconds.max()
    ticks = [d * 10.0**e for e in range(-3, 7) for d in (1, 2, 5) if low / 1.5 <= d * 10.0**e <= 1.5 * high]
    chart.update_yaxes(
        title="ms of the batch", type="log", tickvals=ticks, ticktext=[format_number(t) for t in ticks]
    )
    return chart
