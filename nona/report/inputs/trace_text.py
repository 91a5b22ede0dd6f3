"""What a run replays of a trace, in words."""

from __future__ import annotations

import math

from nona.units import format_time


def coverage_text(jobs: int, rate: float, period_s: float) -> str:
    """What share of a trace of ``period_s`` a run of ``jobs`` replays, at ``rate`` jobs/s of all rows.

    >>> coverage_text(265, 10.0, 3600.0)
    'A run of 265 jobs, all rows together, lasts about 26.5 s: it replays 0.736 % of these 3,600 s.'
    >>> coverage_text(72_000, 10.0, 3600.0)
    'A run of 72,000 jobs, all rows together, lasts about 7,200 s: it replays these 3,600 s 2 times.'
    """
    lasts = jobs / rate if rate > 0 else math.inf
    share = lasts / period_s
    done = (
        f"{100 * share:.3g} % of these {_seconds(period_s)}"
        if share < 1
        else f"these {_seconds(period_s)} {share:.3g} times"
    )
    return f"A run of {jobs:,} jobs, all rows together, lasts about {_seconds(lasts)}: it replays {done}."


def jobs_for_all(rate: float, period_s: float) -> int:
    """Jobs of all rows that arrive within ``period_s``."""
    return max(1, math.ceil(rate * period_s - 1e-9))


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else format_time(value)
