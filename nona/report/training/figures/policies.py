"""Figures of the policies: cost against JCT, distributions of JCT and of finish-time fairness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from nona.look import Look
from nona.report.figures.compare import log_axis, scaled, spread_wide, whiskers
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, rule, text
from nona.report.training.words import HOUR_S, dollars_text, hours_text
from nona.results.training.report import PolicyOutcome

MOST_STEPS = 500  # of one line


def pareto_figure(policies: Mapping[str, PolicyOutcome]) -> go.Figure:
    """Cost against mean JCT with its interval; dashed: the policies that no other one beats in both."""
    made = figure(380)
    known = [(n, p, p.cost_usd, p.jct_s.mean) for n, p in policies.items()]
    points = [(n, p, usd, jct / HOUR_S) for n, p, usd, jct in known if usd is not None and jct is not None]
    front = frontier([(usd, hours) for _, _, usd, hours in points])
    if len(front) > 1:
        made.add_scatter(
            x=[usd for usd, _ in front],
            y=[hours for _, hours in front],
            name="no policy is better in both",
            mode="lines",
            line={"color": QUIET, "dash": "dash", "width": 1.5},
            hoverinfo="skip",
        )
    for name, p, usd, hours in points:
        style, ends = scheduler_style(name), scaled(p.jct_s.ci95, 1 / HOUR_S)
        made.add_scatter(
            x=[usd],
            y=[hours],
            name=text(name),
            mode="markers",
            marker={
                "color": style.colour,
                "symbol": style.symbol,
                "size": 12,
                "line": {"color": style.colour},
            },
            error_y=whiskers(hours, ends or [hours, hours], style.colour),
            hovertemplate=f"{text(name)}: mean JCT {hours_text(HOUR_S * hours)}, {dollars_text(usd)}"
            "<extra></extra>",
        )
    made.update_xaxes(title="cost of the measured jobs, US dollars")
    _zero_or_close(made, [usd for *_, usd, _ in points], "x")
    made.update_yaxes(title="mean JCT, h", rangemode="tozero")
    return made


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one is at most as large as in both coordinates.

    >>> frontier([(1, 5), (2, 3), (3, 4), (4, 1)])
    [(1, 5), (2, 3), (4, 1)]
    """
    best, found = float("inf"), []
    for x, y in sorted(set(points)):
        if y < best:
            found.append((x, y))
            best = y
    return found


def _zero_or_close(made: go.Figure, values: Sequence[float], of: str) -> None:
    """The axis from 0, or near the values where all are close together."""
    change = made.update_xaxes if of == "x" else made.update_yaxes
    if values and min(values) > 0.5 * max(values):
        room = 0.12 * (max(values) - min(values)) + 0.02 * max(values)
        change(range=[min(values) - room, max(values) + room])
    else:
        change(rangemode="tozero")


def jct_cdf_figure(policies: Mapping[str, PolicyOutcome]) -> go.Figure:
    """Share of the measured jobs complete within a time, one line for each policy."""
    hours = {
        name: [None if j.jct_s is None else j.jct_s / HOUR_S for j in p.measured]
        for name, p in policies.items()
    }
    made = distributions(hours, scheduler_style, "JCT, h", "within %{x:.4g} h")
    made.update_yaxes(title="jobs complete, %", range=[0, 101])
    return made


def rho_figure(policies: Mapping[str, PolicyOutcome]) -> go.Figure:
    """Share of the measured jobs with at most a ρ, one line for each policy; 1: as on an equal share."""
    return rho_distributions({n: [j.rho for j in p.measured] for n, p in policies.items()}, scheduler_style)


def rho_distributions(rhos: Mapping[str, Sequence[float | None]], look: Callable[[str], Look]) -> go.Figure:
    """:func:`distributions` of ρ, with the line of an equal share."""
    made = distributions(rhos, look, "finish-time fairness ρ", "with ρ of at most %{x:.3g}")
    rule(made, 1.0, "equal share", "x")
    return made


def distributions(
    values: Mapping[str, Sequence[float | None]], look: Callable[[str], Look], axis: str, said: str
) -> go.Figure:
    """Share of the jobs with at most a value, one line for each policy; jobs without a value are left out.

    Parameters
    ----------
    look
        Of a policy, by its name.
    said
        What a point says of its share of the jobs, with ``%{x}``.
    """
    made = figure(360)
    ends: list[float | None] = []
    for name, own in values.items():
        known = sorted(v for v in own if v is not None)
        if not known:
            continue
        style, (x, y) = look(name), steps(known)
        ends += [known[len(known) // 10], known[-1]]
        made.add_scatter(
            x=x,
            y=y,
            name=text(name),
            mode="lines",
            line={"color": style.colour, "dash": style.dash, "width": 2, "shape": "hv"},
            hovertemplate=f"{text(name)}: %{{y:.1f}} % of the jobs {said}<extra></extra>",
        )
    if spread_wide(ends):
        log_axis(made, ends, axis)
    else:
        made.update_xaxes(type="linear", title=axis, rangemode="tozero")
    made.update_yaxes(title="jobs, %", range=[0, 101])
    return made


def steps(values: Sequence[float], most: int = MOST_STEPS) -> tuple[list[float], list[float]]:
    """The empirical distribution of sorted values as steps, in per cent; at most ``most`` of them.

    >>> steps([1.0, 2.0])
    ([1.0, 1.0, 2.0], [0.0, 50.0, 100.0])
    """
    count = len(values)
    ranks = (
        range(count) if count <= most else sorted({round(k * (count - 1) / (most - 1)) for k in range(most)})
    )
    return [values[0], *(values[k] for k in ranks)], [0.0, *(100 * (k + 1) / count for k in ranks)]
