"""Reports on elastic jobs."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import Option
from nona.results.document import Document, Figure
from nona.results.training.report import JctSummary


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
    """What one policy did; means over replications.

    ``published_s``: mean JCT that the authors' simulator gave for this workload, ``None`` where there is
    none. ``restarts``: per job. ``paused_share``: of GPU-seconds. ``replications``: 1 where nothing is drawn.
    Of the first replication: ``waited_s``, mean time without GPUs; ``mean_gpus`` while a job has some;
    ``efficiency``: statistical, mean over GPU-seconds.
    none. ``restarts``: per job. ``paused_share``, ``link_share``: of GPU-seconds, what
    pauses and the link cost. ``replications``: 1 where nothing is drawn.
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


class ElasticLink(Document):
    """The link between nodes: bytes/s; ``background``: utilisation by others, in messages of a mean size."""

    capacity: float
    latency_s: float
    discipline: str
    background: float
    mean_bytes: float
    scv: float


class ElasticSetting(Document):
    """What was run. ``workload``: a number or a file; ``options`` by policy.

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


class ElasticReport(Document):
    """All policies on one workload; ``checks``: whether each self-check held in every run."""

    policies: Mapping[str, ElasticOutcome]
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: ElasticSetting


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


class ElasticStudy(Document):
    """The study with its provenance: command, version, date, seed, size, and seconds it took.

    ``generations`` of each search of Pollux.
    """

    study: str
    command: str
    version: str
    date: str
    seed: int
    workloads: tuple[int, ...]
    generations: int
    replications: int
    points: tuple[ElasticPoint, ...]
    failed_checks: tuple[str, ...]
    seconds: float
