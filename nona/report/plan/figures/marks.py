"""Markers of verdicts, and the part of an error budget that a chart shows."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.style import BAD, GOOD, QUIET
from nona.results.verdict import Verdict

BUDGET = "error budget used"
SYMBOLS: Mapping[Verdict, str] = {"keeps": "circle", "misses": "x-thin", "open": "diamond-open"}
COLOURS: Mapping[Verdict, str] = {"keeps": GOOD, "misses": BAD, "open": QUIET}


def marker(verdict: Verdict, colour: str) -> go.scatter.Marker:
    """The marker of a verdict."""
    return go.scatter.Marker(
        color=colour, symbol=SYMBOLS[verdict], size=11, line={"width": 2, "color": colour}
    )
