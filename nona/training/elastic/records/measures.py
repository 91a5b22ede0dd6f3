"""Figures of one run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.simulation.statistics.intervals import percentile
from nona.training.elastic.model.system import ElasticSystem
from nona.training.elastic.records.run import ElasticRecords


@dataclass(frozen=True, eq=False, slots=True)
class ElasticMeasures:
    """Figures of a run in which all jobs are complete.

    Attributes
    ----------
    jct_s
        (M,) completion − arrival.
    makespan_s
        From the first arrival to the last completion.
    utilization
        GPU-seconds of jobs / (GPUs · makespan).
    restarts
        Mean over jobs.
    paused_share
        Part of the jobs' GPU-seconds that went into pauses after changes.
    link_share
        Part of them that the link cost, beyond synchronising as measured.
    """

    jct_s: Floats
    makespan_s: float
    utilization: float
    restarts: float
    paused_share: float
    link_share: float

    @property
    def mean_jct_s(self) -> float:
        """Mean of the JCTs."""
        return float(self.jct_s.mean())

    def percentile_s(self, percent: float) -> float:
        """A percentile of the JCTs."""
        return percentile(self.jct_s, percent)


def measure_elastic(system: ElasticSystem, records: ElasticRecords) -> ElasticMeasures:
    """The figures of a run."""
    makespan_s = float(records.completion_s.max() - records.arrival_s.min())
    used = float(records.gpu_s.sum())
    return ElasticMeasures(
        jct_s=records.jct_s,
        makespan_s=makespan_s,
        utilization=used / (system.cluster.size * makespan_s),
        restarts=float(np.mean(records.restarts)),
        paused_share=float(records.paused_gpu_s.sum()) / used,
        link_share=float(records.link_gpu_s.sum()) / used,
    )
