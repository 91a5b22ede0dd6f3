"""Figure: batches on one GPU over time, a rectangle per batch, coloured by application."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, QUIET, figure, text
from nona.report.serverless.layouts import Placed

LANE = 34


def layouts_figure(
    rows: Sequence[Placed],
    stranded: Sequence[tuple[float, float, int]],
    cells: int,
    applications: Sequence[str],
    unit: str = "vGPU",
) -> go.Figure:
    """``rows`` as :func:`nona.report.serverless.layouts.placed` gives them, on an axis of ``cells``.

    Hatched at its left: slice set-up, cold start and transfer, or an idle instance; hatched grey: stranded
    slices.
    """
    made = figure(100 + LANE * cells)
    for number, name in enumerate(applications):
        own = [r for r in rows if r.batch.application == name]
        if own:
            _batches(made, own, name, PALETTE[number % len(PALETTE)])
    if stranded:
        _stranded(made, stranded)
    made.update_layout(
        barmode="overlay", bargap=0, dragmode="pan", uniformtext={"minsize": 9, "mode": "hide"}
    )
    made.update_xaxes(title="seconds into the measured window", rangemode="tozero")
    made.update_yaxes(
        title=unit,
        range=[-0.02, cells + 0.02],
        tickvals=[c + 0.5 for c in range(cells)],
        ticktext=[str(c) for c in range(cells)],
        fixedrange=True,
        showgrid=False,
    )
    return made


def _batches(made: go.Figure, own: Sequence[Placed], name: str, colour: str) -> None:
    """The batches of one application: time before compute hatched, compute plain."""
    spans = (
        ([(r, r.from_s, r.computes_s) for r in own], "/"),
        ([(r, r.computes_s, r.to_s) for r in own], ""),
    )
    for rows, hatch in spans:
        part = [(r, begin, end) for r, begin, end in rows if end > begin]
        made.add_bar(
            y=[(r.low + r.high) / 2 for r, _, _ in part],
            x=[end - begin for _, begin, end in part],
            base=[begin for _, begin, _ in part],
            width=[r.high - r.low - 0.08 for r, _, _ in part],
            orientation="h",
            name=text(name, 40),
            legendgroup=name,
            showlegend=not hatch,
            marker={
                "color": colour,
                "line": {"width": 1, "color": colour},
                "pattern": {"shape": hatch, "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)", "size": 5},
            },
            text=["" if hatch else text(r.batch.stage, 18) for r, _, _ in part],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": "#ffffff"},
            customdata=[_told(r) for r, _, _ in part],
            hovertemplate=(
                "%{customdata[0]}: %{customdata[2]} on %{customdata[1]}<br>%{base:.4g} s, done at "
                f"%{{customdata[3]:.4g}} s, %{{customdata[4]}}<extra>{text(name)}</extra>"
            ),
        )


def _told(row: Placed) -> list[str | int | float]:
    b = row.batch
    jobs = f"{b.jobs} jobs" if b.jobs else "no job"
    return [text(b.stage), text(b.configuration), jobs, row.to_s, "cold start" if b.cold else "warm"]


def _stranded(made: go.Figure, spans: Sequence[tuple[float, float, int]]) -> None:
    made.add_bar(
        y=[cell + 0.5 for _, _, cell in spans],
        x=[end - begin for begin, end, _ in spans],
        base=[begin for begin, _, _ in spans],
        width=[0.92] * len(spans),
        orientation="h",
        name="stranded",
        marker={
            "color": "rgba(0,0,0,0)",
            "line": {"width": 0},
            "pattern": {"shape": "x", "fgcolor": QUIET, "bgcolor": "rgba(0,0,0,0)", "size": 6},
        },
        hovertemplate="memory slice %{y:.0f} stranded<extra></extra>",
    )
