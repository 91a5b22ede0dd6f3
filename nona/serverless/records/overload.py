"""Whether a run had a steady state, by the calls that are open as the window goes on.

The window is cut into 20 stretches of equally many arrivals; n₀ … n₂₀ calls are open at their ends. A run
is *overloaded* when more than 2 % of the measured calls were still open when it was cut off, or when the
number grew, by more than 2 % of the calls that arrived, and steadily: its mean change is above 4 standard
errors. (A call that is dropped is open no more.) It is *backlogged*
when it ends with more open than usual (the median) by more than 5 % of the calls, and by more than
4 · √(1 + usual). Otherwise *stable*. These are the rules of
:mod:`nona.simulation.statistics.overload` for jobs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.records.run import ServerlessRecords
from nona.simulation.sizes import MARKS
from nona.simulation.statistics.overload import BACKLOG, MATERIAL, SIGNIFICANT, UNUSUAL


def open_calls(records: ServerlessRecords) -> NDArray[np.float64]:
    """(21,) Calls that are open when the measured calls at the marks have just arrived."""
    calls = records.calls
    measured = np.flatnonzero(calls.measured)
    steps = np.arange(MARKS + 1)
    marks = measured[0] + (2 * steps * (len(measured) - 1) + MARKS) // (2 * MARKS)
    end_s = ended_s(records)
    ends = np.sort(end_s[~np.isnan(end_s)])
    gone = np.searchsorted(ends, calls.arrival_s[marks], side="right")
    return np.asarray(marks + 1 - gone, dtype=np.float64)


def ended_s(records: ServerlessRecords) -> NDArray[np.float64]:
    """(n,) When each call was complete or was dropped; ``nan`` while it is open."""
    calls = records.calls
    return np.where(np.isnan(calls.completion_s), calls.dropped_s, calls.completion_s)


def judge(records: ServerlessRecords) -> tuple[str, str]:
    """(state, why when it is not stable) of a run; see the head of this module."""
    calls = records.calls
    count = int(calls.measured.sum())
    unfinished = int(np.isnan(ended_s(records)[calls.measured]).sum())
    if unfinished > MATERIAL * count:
        return "overloaded", (
            f"{unfinished} of {count} measured calls were not complete when the run was cut off; add "
            "invokers or lower the rates."
        )
    open_at = open_calls(records)
    change = np.diff(open_at)
    mean, error = float(change.mean()), float(change.std(ddof=1)) / len(change) ** 0.5
    if mean * len(change) > MATERIAL * count and mean > SIGNIFICANT * error:
        return "overloaded", (
            f"The number of open calls kept growing, from {open_at[0]:.0f} to {open_at[-1]:.0f}; add "
            "invokers or lower the rates."
        )
    there, usual = float(open_at[-1]), float(np.median(open_at))
    if there - usual > max(BACKLOG * count, UNUSUAL * (1 + usual) ** 0.5):
        return "backlogged", (
            f"{there:.0f} calls were open at the end of the window, usually {usual:.0f}; measure more calls."
        )
    return "stable", ""
