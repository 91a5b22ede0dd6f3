"""Results of the studies on policies: training, elastic jobs, serverless workflows."""

from __future__ import annotations

from collections.abc import Mapping

from evidence.results import Origin
from nona.core.document import Document, Estimate, Figure
from nona.serverless.results import Oracle, OverReport, ServerlessPolicyResult, Spread, Utilization


class StudyPoint(Document):
    """One variant of a policy at one load: a value for each replication, so that variants can be paired.

    ``per_hour``: jobs that arrive per hour on 36 GPUs of each type, in proportion on fewer; 0: all jobs are
        there at the start.
    ``jcts_s``: mean JCT of the measured jobs; ``makespans_s``: when the last job ended, ``None`` where runs
        end with the measured jobs; ``utilization``: mean; ``decision_s``: mean seconds of an answer of the
        policy.
    """

    mode: str
    variant: str
    per_hour: float
    jcts_s: tuple[Figure, ...]
    makespans_s: tuple[Figure, ...]
    utilization: Figure
    decision_s: Figure


class TrainingStudy(Origin):
    """The study: its origin, its size, and the seconds it took.

    ``measured``: first and last number of the jobs that JCTs count; ``gpus``: of each type; ``at_once``:
    jobs of the part in which all are there at the start.
    """

    gpus: int
    jobs: int
    measured: tuple[int, int]
    at_once: int
    replications: int
    loads: tuple[StudyPoint, ...]
    makespans: tuple[StudyPoint, ...]
    seconds: float


class ElasticPoint(Document):
    """A policy at one relative load and interference: mean JCT of each workload and replication, in seconds.

    ``published_s``: by workload, ``None`` where there is none; ``published_mean_s``: over the authors' eight
    workloads of this load.
    """

    policy: str
    load: float
    interference: float
    avoid: bool
    jcts_s: tuple[tuple[float, ...], ...]
    published_s: tuple[Figure, ...]
    published_mean_s: Figure

    @property
    def calm(self) -> bool:
        """Nobody is slowed by a neighbour, and whoever can avoid it does."""
        return self.avoid and not self.interference


class ElasticStudy(Origin):
    """The study: its origin, its size, and the seconds it took.

    ``generations`` of each search of Pollux.
    """

    workloads: tuple[int, ...]
    generations: int
    replications: int
    points: tuple[ElasticPoint, ...]
    failed_checks: tuple[str, ...]
    seconds: float


class MeasuredSearches(Document):
    """ESG's searches on the study's machine: their number, seconds, steps.

    ``full_paths`` is the number of paths of the largest group of functions.
    """

    searches: int
    measured_s: Spread
    steps: Spread
    full_paths: int


class Cell(Document):
    """The figures of one policy in one setting that claims and rankings need.

    ``hits``, ``costs``: share of SLOs kept and US dollars a call, one per replication, so that policies
    can be paired; ``miss``: configuration miss rate, ``None`` without carried plans; ``search_s``: mean;
    ``fill``: median latency / SLO of each application; ``mean_fill``: mean latency / SLO over all.
    """

    hits: tuple[Figure, ...]
    costs: tuple[Figure, ...]
    miss: Figure
    search_s: Figure
    fill: tuple[Figure, ...]
    mean_fill: Figure
    state: str


Cells = Mapping[str, Cell]
"""Policy → cell, of one setting."""

SettingCells = Mapping[str, Cells]
"""Setting → policy → cell."""


class StudySetting(Document):
    """One of the slides' settings: every policy, the oracle, and the cells."""

    scenario: str
    policies: Mapping[str, ServerlessPolicyResult]
    oracle: Oracle
    cells: Cells


class CutoffPoint(Document):
    """Orion with one cut-off of its search."""

    cutoff_s: float
    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    search_s: Spread
    steps_mean: Figure
    state: str


class CutoffStudy(Document):
    """Orion by the cut-off of its search, in one setting."""

    setting: str
    points: tuple[CutoffPoint, ...]


class SharedOutcome(Document):
    """One policy under one way of sharing GPUs."""

    slo_hit_rate: Estimate
    cost_per_call_usd: Estimate
    utilization: Utilization
    stranded_vgpus: Figure
    state: str


class SharingStudy(Document):
    """One scenario under every way of sharing: way → policy → outcome."""

    scenario: str
    modes: Mapping[str, Mapping[str, SharedOutcome]]


class ServerlessStudy(Origin):
    """The study: its origin, its size, and the seconds it took.

    ``curves``: setting → every policy over load.
    """

    calls: int
    replications: int
    searches: Mapping[str, MeasuredSearches]
    settings: Mapping[str, StudySetting]
    cutoff: CutoffStudy
    sharing: SharingStudy
    curves: Mapping[str, OverReport]
    seconds: float
