"""What happened under each policy for elastic jobs, and a run as it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nona.results.about import About
from nona.results.document import Document, Figure
from nona.results.training.elastic import ElasticReport


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


class ElasticHistory(Document):
    """The report with its provenance and the first run of each policy."""

    about: About
    report: ElasticReport
    jobs: tuple[str, ...]
    traces: Mapping[str, ElasticTrace]


class ElasticMoment(NamedTuple):
    """A run at one time; ``goodput`` in jobs per hour, ``mean_jct_s`` of completed jobs."""

    time_s: float
    running: int
    waiting: int
    used: int
    goodput: float
    mean_jct_s: Figure


class ElasticSoFar(Document):
    """A policy so far: a row of ``curve`` for each report."""

    curve: tuple[ElasticMoment, ...]
    completed: int


class ElasticLive(Document):
    """A run as it goes on; ``given``: job → (node, GPUs) of the policy ``focus``."""

    order: tuple[str, ...]
    policies: Mapping[str, ElasticSoFar]
    nodes: int
    gpus: int
    focus: str
    time_s: float
    given: Mapping[int, tuple[tuple[int, int], ...]]
