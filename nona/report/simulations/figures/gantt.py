"""Gantt charts of the first jobs: lanes of executors and links, or job by job if jobs are rare."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text
from nona.results.simulation.series import GanttBar

SPARSE = 20  # times the busy time
MOST_BARS = 1500
MOST_JOBS = 6  # drawn one below the other where jobs are rare
LANE = 26


def gantt_figure(rows: Sequence[GanttBar]) -> go.Figure:
    """Task and message intervals of the first measured jobs, one colour per job, time in milliseconds.

    Messages are hatched. Where jobs are so rare that on one time axis they would be mere ticks, each
    has lanes and a time axis of its own, from its start.
    """
    apart = are_rare(rows)
    shown = (by_own_start(rows) if apart else list(rows))[:MOST_BARS]
    lanes = list(dict.fromkeys(r.row for r in shown)) if apart else sorted({r.row for r in shown}, key=_lane)
    jobs = list(dict.fromkeys(r.job for r in shown))
    made = figure(96 + LANE * len(lanes), legend=len(jobs) > 1 and not apart)
    for number, job in enumerate(jobs):
        _add(made, [r for r in shown if r.job == job], number)
    made.update_layout(
        barmode="overlay", bargap=0.25, dragmode="pan", uniformtext={"minsize": 9, "mode": "hide"}
    )
    made.update_xaxes(
        title="ms after each job's first task was ready" if apart else "ms after the first task was ready"
    )
    made.update_yaxes(categoryorder="array", categoryarray=lanes[::-1], fixedrange=True)
    return made


def gantt_title(rows: Sequence[GanttBar]) -> str:
    """The finding: the share of their time that the first jobs' tasks and messages wait for an executor or a
    link. It is a sum over all of them, also over those that wait at the same time.
    """
    waited = sum(r.wait_s for r in rows)
    total = waited + sum(r.end_s - r.start_s for r in rows)
    count = len({r.job for r in rows})
    which = "the first job" if count == 1 else f"the first {count} jobs"
    share = 100 * waited / total if total > 0 else 0.0
    return f"In {which}, tasks and messages, all added up, wait for {share:.0f} % of their time"


def _add(made: go.Figure, own: Sequence[GanttBar], number: int) -> None:
    """The bars of one job: tasks plain, messages hatched."""
    colour = PALETTE[number % len(PALETTE)]
    for hatch, part in (
        ("", [r for r in own if not _is_message(r)]),
        ("/", [r for r in own if _is_message(r)]),
    ):
        if not part:
            continue
        made.add_bar(
            y=[r.row for r in part],
            x=[(r.end_s - r.start_s) * 1e3 for r in part],
            base=[r.start_s * 1e3 for r in part],
            orientation="h",
            name=f"job {number + 1}",
            legendgroup=str(number),
            showlegend=not hatch,
            marker={
                "color": colour,
                "line": {"width": 1, "color": colour},
                "pattern": {"shape": hatch, "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)", "size": 6},
            },
            text=["" if hatch else text(r.what, 14) for r in part],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": "#ffffff"},
            customdata=[[text(r.model), text(r.what, 80), r.wait_s * 1e3] for r in part],
            hovertemplate=(
                "%{customdata[0]}: %{customdata[1]}<br>%{x:.4g} ms from %{base:.4g} ms, "
                f"waited %{{customdata[2]:.4g}} ms<extra>job {number + 1}</extra>"
            ),
        )


def _is_message(row: GanttBar) -> bool:
    return row.row.endswith("link")


def spans_of(rows: Sequence[GanttBar]) -> dict[int, tuple[float, float]]:
    """Job → from the start of its first interval to the end of its last, in order of their starts."""
    spans: dict[int, tuple[float, float]] = {}
    for r in rows:
        start, end = spans.get(r.job, (r.start_s, r.end_s))
        spans[r.job] = (min(start, r.start_s), max(end, r.end_s))
    return dict(sorted(spans.items(), key=lambda item: item[1]))


def are_rare(rows: Sequence[GanttBar]) -> bool:
    """Whether the jobs' window is more than ``SPARSE`` times the time in which any job is present."""
    spans = list(spans_of(rows).values())
    if len(spans) < 2:
        return False
    return max(e for _, e in spans) - spans[0][0] > SPARSE * sum(e - s for s, e in spans)


def by_own_start(rows: Sequence[GanttBar]) -> list[GanttBar]:
    """The first jobs one below the other, each from time 0, lanes named after the job."""
    spans = list(spans_of(rows).items())[:MOST_JOBS]
    placed: list[GanttBar] = []
    for number, (job, (start, _)) in enumerate(spans, start=1):
        own = sorted((r for r in rows if r.job == job), key=lambda r: _lane(r.row))
        placed += [
            r.model_copy(
                update={
                    "row": f"job {number} · {r.row}",
                    "start_s": r.start_s - start,
                    "end_s": r.end_s - start,
                }
            )
            for r in own
        ]
    return placed


def _lane(name: str) -> tuple[int, ...]:
    numbers = tuple(int(w) for w in name.replace("·", " ").split() if w.isdigit())
    return numbers or (-1,)
