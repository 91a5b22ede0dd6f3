"""A mean with its confidence interval, as results carry it."""

from __future__ import annotations

from nona.results.document import Document, Figure, Interval


class Mean(Document):
    """A mean and its 95 % interval; each is ``None`` where there is none.

    >>> Mean(mean=0.5, ci95=(0.25, 0.75)).half_width, Mean(mean=0.5, ci95=None).half_width
    (0.25, None)
    """

    mean: Figure
    ci95: Interval

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2
