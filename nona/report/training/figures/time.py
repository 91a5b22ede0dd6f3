"""Figures over time: which job has which GPU, how many run and wait."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text
from nona.report.training.windows import Shown
from nona.report.training.words import HOUR_S, hours_text, job_label
from nona.results.training.outcome import Round, Stay

LANE = 17
TOP = 48  # pixels above the bars: room for the chart's own buttons
MOST_BORDERS = 300  # of more bars, borders would hide the colours


def gantt_figure(shown: Shown, names: Sequence[str], at_s: float | None = None) -> go.Figure:
    """GPUs as rows, a bar for each stay of a job; two jobs on one GPU are hatched.

    A bar carries the middle of its stay in seconds, for the round that a click asks for; ``at_s`` marks a
    round.
    """
    bars = [(stay, gpu) for stay in shown.stays for gpu in stay.gpus]
    lanes = sorted({(stay.gpu, gpu) for stay, gpu in bars})
    made = figure(TOP + 76 + LANE * max(1, len(lanes)), legend=False)
    made.add_bar(
        y=[f"{s.gpu} {gpu}" for s, gpu in bars],
        x=[(s.end_s - s.start_s) / HOUR_S for s, _ in bars],
        base=[s.start_s / HOUR_S for s, _ in bars],
        orientation="h",
        marker={
            "color": [PALETTE[s.jobs[0] % len(PALETTE)] for s, _ in bars],
            "line": {"width": 0.5 if len(bars) <= MOST_BORDERS else 0, "color": "rgba(128,128,128,.6)"},
            "pattern": {"shape": ["/" if len(s.jobs) > 1 else "" for s, _ in bars], "size": 5},
        },
        customdata=[[(s.start_s + s.end_s) / 2, _told(s, names)] for s, _ in bars],
        hovertemplate="%{customdata[1]}<extra></extra>",
    )
    if at_s is not None:
        _marked(made, at_s)
    made.update_layout(bargap=0.12, barmode="overlay", clickmode="event+select", margin={"t": TOP})
    made.update_xaxes(title="hours", range=[shown.start_s / HOUR_S, shown.end_s / HOUR_S])
    made.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=[f"{kind} {gpu}" for kind, gpu in lanes][::-1],
        showgrid=False,
        fixedrange=True,
    )
    return made


def _marked(made: go.Figure, at_s: float) -> None:
    """A line at the chosen round, over the bars: dark between two light edges, so that it is seen on any."""
    for colour, width in (("#ffffff", 6), ("#16182b", 2.5)):
        made.add_vline(x=at_s / HOUR_S, line={"color": colour, "width": width}, layer="above")
    made.add_annotation(
        x=at_s / HOUR_S, y=1, yref="paper", yanchor="bottom", text="round", showarrow=False, font={"size": 12}
    )


def _told(stay: Stay, names: Sequence[str]) -> str:
    jobs = " with ".join(text(job_label(names[j]), 40) for j in stay.jobs)
    length = hours_text(stay.end_s - stay.start_s)
    return f"{jobs}<br>{length} from {hours_text(stay.start_s)} on, {stay.gpu}"


def rounds_figure(rounds: Sequence[Round]) -> go.Figure:
    """Jobs that run and jobs that wait, round by round."""
    made = figure(280)
    for label, values, colour, dash in (
        ("running", [r.running for r in rounds], PALETTE[1], "solid"),
        ("waiting", [r.waiting for r in rounds], PALETTE[2], "dash"),
    ):
        made.add_scatter(
            x=[r.start_s / HOUR_S for r in rounds],
            y=values,
            name=label,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2, "shape": "hv"},
            customdata=[r.number for r in rounds],
            hovertemplate=f"round %{{customdata}}: %{{y}} {label}<extra></extra>",
        )
    made.update_xaxes(title="hours")
    made.update_yaxes(title="jobs", rangemode="tozero")
    return made
