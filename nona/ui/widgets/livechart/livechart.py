"""Python's side of the live charts: figures in, nothing out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.simulations.live.series import LOWEST_S, PER_OCTAVE
from nona.report.simulations.live.text import live_alts, live_titles
from nona.results.document import Document
from nona.results.simulation.live import LiveLines, LiveRun
from nona.ui.widgets.component import declare

_PIECES = ("axes", "marks", "panels", "livechart")  # in this order they make one module
SO_FAR = "Lines over time: the first replication. All else: all measured jobs so far."
MOST_DRAWN = 8  # schedulers: more lines cannot be told apart, and each costs the browser
_component = declare(Path(__file__).parent, "livechart", *_PIECES)


class LineLook(Document):
    """How a scheduler's line looks, in plotly's words."""

    colour: str
    dash: str
    symbol: str


class LiveCharts(Document):
    """What is sent to the browser: the figures of a run, each scheduler's look, the charts' labels.

    ``low_s`` is the left end of the first bin of completion times, ``per_octave`` how many bins double
    it; ``fraction`` is done, ``told`` says of what; ``titles`` and ``alts`` belong to the four charts.
    """

    series: LiveLines
    schedulers: tuple[str, ...]
    slo: tuple[tuple[str, float], ...]
    styles: Mapping[str, LineLook]
    low_s: float
    per_octave: int
    running: bool
    fraction: float
    told: str
    titles: tuple[str, ...]
    alts: tuple[str, ...]
    note: str


def chart_data(
    live: LiveRun,
    running: bool,
    fraction: float = 1.0,
    told: str = "",
    titles: Sequence[str] = (),
    note: str = "",
) -> LiveCharts:
    """The charts of a job's ``live``; their ``titles``, by default those that follow from it.

    ``note`` stands below them, by default, while it runs, what each shows. At most :data:`MOST_DRAWN`
    schedulers are drawn, those that a title names among them; the note names the others.
    """
    drawn = drawn_of(live.schedulers, titles)
    series = {name: line for name, line in live.series.items() if name in drawn}
    notes = (note or (SO_FAR if running else ""), not_drawn(live.schedulers, drawn))
    return LiveCharts(
        series=series,
        schedulers=drawn,
        slo=live.slo,
        styles={name: _look(name) for name in drawn},
        low_s=LOWEST_S,
        per_octave=PER_OCTAVE,
        running=running,
        fraction=fraction,
        told=told,
        titles=tuple(titles or live_titles(series, running)),
        alts=tuple(live_alts(series)),
        note=" ".join(n for n in notes if n),
    )


def drawn_of(schedulers: Sequence[str], titles: Sequence[str]) -> tuple[str, ...]:
    """The schedulers that are drawn, in their order: whom a title names, then the first of the others.

    >>> drawn_of([*"abcdefghij"], ["j keeps 47 % of the SLOs, a none"])
    ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'j')
    """
    words = {word for title in titles for word in re.findall(r"[\w-]+", title)}
    ranked = sorted(schedulers, key=lambda name: name not in words)
    return tuple(name for name in schedulers if name in ranked[:MOST_DRAWN])


def not_drawn(schedulers: Sequence[str], drawn: Sequence[str]) -> str:
    """Which schedulers the charts leave out, in a sentence; empty where all are drawn.

    >>> not_drawn([*"abcdefghij"], [*"abcdefgh"])
    'At most 8 schedulers are drawn; i, j are in the tables only.'
    """
    others = [name for name in schedulers if name not in drawn]
    if not others:
        return ""
    verb = "is" if len(others) == 1 else "are"
    return f"At most {MOST_DRAWN} schedulers are drawn; {', '.join(others)} {verb} in the tables only."


def _look(name: str) -> LineLook:
    style = scheduler_style(name)
    return LineLook(colour=style.colour, dash=style.dash, symbol=style.symbol)


def live_charts(key: str, charts: LiveCharts) -> None:
    """Draw the four charts, or bring them up to date."""
    _component(key=key, data=charts.to_json())
