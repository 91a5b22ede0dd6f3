"""Results on the program itself: what it offers by name, and its checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nona.results.document import Document


class DeviceEntry(Document):
    """A device: texts with units beside numbers in SI units; ``sources`` are those of its attributes."""

    name: str
    title: str
    fp16: str
    memory: str
    bandwidth: str
    mig: str
    peak_flop_per_s: Mapping[str, float]
    memory_bytes: float
    bandwidth_bytes_per_s: float
    sms: int
    sources: Mapping[str, str]


class SchedulerEntry(Document):
    """A scheduler, or a policy of another part: its family in lists, what it sees of the network."""

    name: str
    kind: str
    family: str
    network_view: str
    summary: str
    source: str
    adaptation: str


class SampleEntry(Document):
    """A sample model or a shipped scenario."""

    name: str
    description: str


Verdict = Literal["agrees", "unclear", "differs", "no steady state"]
"""Relation of a simulated mean to theory; ``unclear``: it agrees, but its interval is very wide."""


class TheoryRow(Document):
    """The theory of one system and its ``jobs`` (empty: all of them); ``by`` names the theory.

    ``theory_ms`` is their mean completion time; where theory gives bounds, the lower one, and ``to_ms``
    the upper one.
    """

    system: str
    jobs: str
    load: float
    theory_ms: float
    to_ms: float | None
    by: str


class ComparedRow(TheoryRow):
    """The same with what was simulated.

    ``half_width_ms`` is half of the mean's interval. ``error_percent`` is simulated over theory, less 1,
    and ``half_width_percent`` half of the interval over theory. ``told_apart_from`` names the neighbouring
    theories that the interval rules out.
    """

    simulated_ms: float
    half_width_ms: float
    error_percent: float
    half_width_percent: float
    told_apart_from: tuple[str, ...]
    verdict: Verdict


class TheorySummary(Document):
    """The numbers of rows and of rows that agree; errors and the median half interval as fractions.

    ``worst`` is the largest error as a multiple of its own half interval. NaN without rows.
    """

    rows: int
    agree: int
    mean_error: float
    largest_error: float
    worst: float
    half_width: float


class TheoryProgress(Document):
    """The rows of a run that is not done yet."""

    rows: tuple[ComparedRow, ...]


class TheoryResult(Document):
    """All known systems, simulated with the ``effort`` of that name.

    ``level`` is that of the intervals; ``replications`` are those of each system.
    """

    rows: tuple[ComparedRow, ...]
    effort: str
    engine: str
    level: float
    replications: int
    seconds: float


class SelfCheck(Document):
    """One check: what must hold, whether it does (``None``: not possible here), the result."""

    name: str
    ok: bool | None
    found: str


class SelfCheckProgress(Document):
    """The checks that are done so far."""

    rows: tuple[SelfCheck, ...]


class SelfCheckResult(Document):
    """All checks of this machine, with the program's version."""

    rows: tuple[SelfCheck, ...]
    seconds: float
    version: str
