"""The paper's evaluation, repeated: two sweeps, the formula near the edges, runs in overload."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.sweep import SweepReport


class Reach(Document):
    """Where the formula puts a ratio to nona, for a fixed placement.

    ``edge``: share of the link taken by others at which it is full; ``at``: at which the ratio is reached;
    ``room``: the distance between them. ``relaxation_s`` is the relaxation time of the link's queue there,
    and ``jobs`` the number that arrive meanwhile.
    """

    scheduler: str
    edge: float
    at: float
    room: float
    ratio: float
    jct_s: float
    nona_jct_s: float
    link_wait_s: float
    relaxation_s: float
    jobs: float


class OverloadRun(Document):
    """A run in overload: mean JCT (s), jobs not complete at its end, ratio to nona on the same jobs."""

    jobs: int
    length_s: float
    jct_s: float
    unfinished: int
    ratio: float
    offered_link: Figure


class Growth(Document):
    """A scheduler's runs in overload, each longer than the one before."""

    scheduler: str
    kind: str
    runs: tuple[OverloadRun, ...]


class Overload(Document):
    """Runs at ``value`` of the number ``key`` of the scenario, beyond the edges."""

    key: str
    value: float
    schedulers: tuple[Growth, ...]


class PaperStudy(Document):
    """The study's result: provenance, the sweeps by name, the reach of ``claim``, the runs in overload."""

    study: str
    scenario: str
    command: str
    version: str
    date: str
    seed: int
    jobs: int
    replications: int
    claim: float
    sweeps: Mapping[str, SweepReport]
    reach: tuple[Reach, ...]
    overload: Overload
    seconds: float
