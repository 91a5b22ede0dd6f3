"""What not seeing the link costs elastic jobs: results of a study."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import Option
from nona.results.document import Document, Figure


class ElasticLinkPoint(Document):
    """A policy on one link: mean JCT of each workload and replication, in seconds.

    ``name``: the policy, with options that are not usual. ``view``: what it sees of the network.
    ``capacity``: bytes/s; ``None``: no link, synchronising takes as long as measured. ``link_share``: of
    GPU-seconds, what the link cost, by workload.
    """

    name: str
    policy: str
    options: Mapping[str, Option]
    view: str
    capacity: Figure
    background: float
    jcts_s: tuple[tuple[float, ...], ...]
    link_share: tuple[float, ...]


class ElasticLinkStudy(Document):
    """The study with its provenance: command, version, date, seed, size, and seconds it took.

    ``generations`` of each search of Pollux. ``background``: utilisation of every link by others.
    """

    study: str
    command: str
    version: str
    date: str
    seed: int
    workloads: tuple[int, ...]
    background: float
    generations: int
    replications: int
    points: tuple[ElasticLinkPoint, ...]
    failed_checks: tuple[str, ...]
    seconds: float
