"""A number from replications: its mean and its confidence interval."""

from __future__ import annotations

from nona.results.document import Document, Figure, Interval


class Estimate(Document):
    """A mean over replications with its interval at 95 %; each is ``None`` where it is not known.

    >>> Estimate(mean=0.5, ci95=(0.25, 0.75)).half_width, UNKNOWN.half_width
    (0.25, None)
    """

    mean: Figure
    ci95: Interval

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2


class OffRange(Document):
    """Where a mean time (seconds) lies if modelled task times are off as they usually are.

    ``high_s`` is ``None`` where the cluster is overloaded then; see :mod:`nona.report.times_off`.
    """

    low_s: float
    high_s: Figure


UNKNOWN = Estimate(mean=None, ci95=None)
