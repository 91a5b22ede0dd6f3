"""Results on elastic training jobs: reports, history, the evidence on the link."""

from __future__ import annotations

from collections.abc import Mapping

from nona.core.document import Document, Figure, RunResult
from nona.core.options import Option
from nona.training.results import JctSummary, LivePolicies, Report


class ElasticJobOutcome(Document):
    """One job of the first replication. ``gpus`` and ``batch``: what its user asked for.

    ``waited_s``: without GPUs. ``rho``: JCT over that on an equal share of the cluster.
    """

    name: str
    application: str
    gpus: int
    batch: int
    arrival_s: float
    jct_s: float
    waited_s: float
    gpu_s: float
    restarts: int
    rho: Figure


class ElasticOutcome(Document):
    """The outcome of one policy; means over replications.

    ``published_s``: mean JCT that the authors' simulator gave for this workload, ``None`` where there is
        none.
    ``restarts``: per job.
    ``paused_share``, ``link_share``: cost of pauses and of the link, of GPU-seconds.
    ``replications``: 1 where nothing is drawn. Of the first replication: ``waited_s``, mean time without
        GPUs; ``mean_gpus`` while a job has some; ``efficiency``: statistical, mean over GPU-seconds.
    """

    jct_s: JctSummary
    published_s: Figure
    makespan_s: float
    utilization: float
    restarts: float
    paused_share: float
    waited_s: float
    mean_gpus: float
    efficiency: float
    link_share: float = 0.0
    replications: int
    jobs: tuple[ElasticJobOutcome, ...]

    @property
    def measured(self) -> tuple[ElasticJobOutcome, ...]:
        """The jobs that count in the means: all of them."""
        return self.jobs

    @property
    def mean_rho(self) -> float | None:
        """Of the first replication, over jobs whose speed on an equal share is known."""
        rhos = [job.rho for job in self.jobs if job.rho is not None]
        return sum(rhos) / len(rhos) if rhos else None

    @property
    def worst_rho(self) -> float | None:
        """The largest finish-time fairness of a job."""
        return max((job.rho for job in self.jobs if job.rho is not None), default=None)


class ElasticLink(Document):
    """The link between nodes: bytes/s; ``background``: utilisation by others, in messages of a mean size."""

    capacity: float
    latency_s: float
    discipline: str
    background: float
    mean_bytes: float
    scv: float


class ElasticSetting(Document):
    """Setting of an elastic run. ``workload``: a number or a file; ``options`` by policy.

    ``link``: ``None`` for step times as measured.
    """

    workload: str
    jobs: int
    nodes: int
    gpus: int
    tick_s: int
    restart_s: int
    load: float
    interference: float
    replications: int
    seed: int
    profiles: str
    link: ElasticLink | None = None
    options: Mapping[str, Mapping[str, Option]]


class ElasticReport(Report[ElasticOutcome, ElasticSetting]):
    """The report on elastic jobs."""


class ElasticMove(Document):
    """From ``time_s`` on ``job`` has ``gpus`` (node, GPUs) and no others.

    ``value``: the policy's figure on it; ``facts``: what else the policy knew of it.
    """

    time_s: float
    job: int
    gpus: tuple[tuple[int, int], ...]
    value: Figure
    facts: Mapping[str, float]


class ElasticCourse(Document):
    """A job at the end of each tick with GPUs: samples of a batch, statistical efficiency, goodput.

    ``goodput``: progress in samples at the smallest batch size per second, over the tick.
    """

    time_s: tuple[float, ...]
    gpus: tuple[int, ...]
    batch: tuple[int, ...]
    efficiency: tuple[float, ...]
    goodput: tuple[float, ...]


class ElasticTrace(Document):
    """The first run of a policy; ``value``: what the figure of its moves is, "" where it gives none.

    ``time_s`` and so on: at ends of ticks; ``used`` GPUs; ``goodput`` in jobs per hour, each job's progress
    as a part of its own. ``courses``: of the first jobs, as many as are kept.
    """

    value: str
    moves: tuple[ElasticMove, ...]
    time_s: tuple[float, ...]
    running: tuple[int, ...]
    waiting: tuple[int, ...]
    used: tuple[int, ...]
    goodput: tuple[float, ...]
    courses: tuple[ElasticCourse, ...]


class ElasticHistory(RunResult):
    """The report with its provenance and the first run of each policy."""

    report: ElasticReport
    jobs: tuple[str, ...]
    traces: Mapping[str, ElasticTrace]


class ElasticLive(LivePolicies):
    """``given``: job → (node, GPUs) of the policy ``focus`` at ``time_s``."""

    nodes: int
    gpus: int
    time_s: float
    given: Mapping[int, tuple[tuple[int, int], ...]]
