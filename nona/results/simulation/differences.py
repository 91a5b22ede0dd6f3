"""Paired differences of schedulers that saw the same jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate

Verdict = Literal["faster", "slower", "not told apart", "overloaded"]


class PairedMean(Estimate):
    """A mean difference, and what pairing gained; see
    :class:`nona.simulation.statistics.paired.PairedDifference`."""

    variance_reduction: Figure
    correlation: Figure


class Difference(Document):
    """A scheduler minus a baseline: mean JCT (seconds) and SLO hit rate, at 95 %.

    ``variance_reduction`` and ``correlation`` are those of the JCT; ``relative`` is its difference over
    the baseline's mean.
    """

    jct_s: Estimate
    variance_reduction: Figure
    correlation: Figure
    relative: Figure
    verdict: Verdict
    slo_hit_rate: PairedMean | None
    replications: int


Differences = Mapping[str, Mapping[str, Difference]]
"""Baseline → scheduler → its difference."""
