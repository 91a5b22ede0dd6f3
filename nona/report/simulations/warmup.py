"""Data for a plot of the warm-up: smoothed start-up and MSER statistic of each scheduler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.results.simulation.series import PilotCurve, WarmupSeries
from nona.simulation.statistics.warmup import Truncation, Warmup

POINTS = 240
WINDOWS = 20  # of a moving average in a pilot run


def warmup_series(warmup: Warmup) -> WarmupSeries | None:
    """The common cut and, for each scheduler, its curves; ``None`` where no pilot was run."""
    if not warmup.cuts:
        return None
    return WarmupSeries(jobs=warmup.jobs, schedulers={n: _curve(c) for n, c in warmup.cuts.items()})


def _curve(cut: Truncation) -> PilotCurve:
    smooth = moving_average(cut.means, max(1, len(cut.means) // WINDOWS))
    least = float(cut.statistic.min()) if len(cut.statistic) else 0.0
    shown, tried = _spread(len(smooth)), _spread(len(cut.statistic))
    return PilotCurve(
        at=tuple((cut.batch * (shown + 0.5)).tolist()),
        jct_s=tuple(smooth[shown].tolist()),
        statistic_at=tuple((cut.batch * tried).tolist()),
        statistic=tuple((cut.statistic[tried] / least).tolist()) if least > 0 else (),
        cut=cut.jobs,
        too_short=cut.too_short,
    )


def _spread(length: int) -> NDArray[np.int64]:
    """At most ``POINTS`` positions, evenly spread."""
    return np.unique(np.linspace(0, max(length - 1, 0), min(POINTS, length)).round().astype(np.int64))


def moving_average(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Mean of each value with up to ``window`` neighbours on either side, as many on both.

    >>> moving_average(np.array([3.0, 0.0, 3.0, 6.0]), 1).tolist()
    [3.0, 2.0, 3.0, 6.0]

    Source: Welch's procedure, Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.5.1.
    """
    n = len(values)
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    place = np.arange(n)
    reach = np.minimum(np.minimum(place, n - 1 - place), window)
    average: NDArray[np.float64] = (sums[place + reach + 1] - sums[place - reach]) / (2 * reach + 1)
    return average
