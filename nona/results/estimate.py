"""A number from replications: its mean and its confidence interval."""

from __future__ import annotations

from nona.results.document import Document, Figure, Interval


class Estimate(Document):
    """A mean over replications with its interval at 95 %; both ``None`` where it is not known."""

    mean: Figure
    ci95: Interval


UNKNOWN = Estimate(mean=None, ci95=None)
