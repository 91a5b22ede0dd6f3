"""A run compared with a baseline: four measures of every scheduler, before and after."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate

Measure = Literal["jct_s", "slo_hit_rate", "compute", "network"]
MEASURES: tuple[Measure, ...] = ("jct_s", "slo_hit_rate", "compute", "network")
T = TypeVar("T")


class ByMeasure(Document, Generic[T]):
    """Something for each measure: mean JCT (seconds), SLO hit rate, utilisation of executors and link."""

    jct_s: T
    slo_hit_rate: T
    compute: T
    network: T

    def of(self, measure: Measure) -> T:
        """That of one measure."""
        every: dict[Measure, T] = {
            "jct_s": self.jct_s,
            "slo_hit_rate": self.slo_hit_rate,
            "compute": self.compute,
            "network": self.network,
        }
        return every[measure]


class Change(Document):
    """A measure in the baseline and now; ``clear``: the interval of the change excludes 0."""

    old: Estimate
    new: Estimate
    change: Estimate
    clear: bool


ReplicationMeans = ByMeasure[tuple[Figure, ...]]
"""Each measure's mean in every replication; ``None`` where it has none."""
Changes = ByMeasure[Change]
