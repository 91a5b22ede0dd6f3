"""Python's side of the live charts: plain data in, nothing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.simulations.live.series import LOWEST_S, PER_OCTAVE
from nona.report.simulations.live.text import live_alts, live_titles
from nona.results.simulation.live import LiveRun
from nona.ui.widgets.component import declare

_PIECES = ("axes", "marks", "panels", "livechart")  # in this order they make one module
_component = declare(Path(__file__).parent, "livechart", *_PIECES)


def chart_data(
    live: LiveRun,
    running: bool,
    fraction: float = 1.0,
    told: str = "",
    titles: Sequence[str] = (),
) -> dict[str, Any]:
    """What is sent to the browser: a job's ``live``, each scheduler's look, the charts' labels.

    ``titles`` of the four charts; by default those that follow from ``live``.
    """
    told_so_far = live.to_json()
    return {
        "series": told_so_far["series"],
        "schedulers": told_so_far["schedulers"],
        "slo": told_so_far["slo"],
        "styles": {name: _look(name) for name in live.schedulers},
        "low_s": LOWEST_S,
        "per_octave": PER_OCTAVE,
        "running": running,
        "fraction": fraction,
        "told": told,
        "titles": list(titles) or live_titles(live.series, running),
        "alts": live_alts(live.series),
        "note": "Lines over time: the first replication. All else: all measured jobs so far."
        if running
        else "",
    }


def _look(name: str) -> dict[str, str]:
    style = scheduler_style(name)
    return {"colour": style.colour, "dash": style.dash, "symbol": style.symbol}


def live_charts(key: str, data: Mapping[str, Any]) -> None:
    """Draw the four charts, or bring them up to date."""
    _component(key=key, data=dict(data))
