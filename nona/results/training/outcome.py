"""What the page *Training* shows of the first replication, beside the report."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.about import About
from nona.results.document import Document
from nona.results.training.report import TrainingReport


class Stay(Document):
    """A job on GPUs of one type from ``start_s`` to ``end_s``; consecutive rounds there are one stay.

    ``jobs`` has two numbers where two jobs share the GPUs; ``gpus`` are numbers within the type.
    """

    jobs: tuple[int, ...]
    gpu: str
    gpus: tuple[int, ...]
    start_s: float
    end_s: float


class PriorityRow(Document):
    """Why a row ran, or did not, on a type in a round: π = X · W / τ and what decided.

    ``share`` X, ``received_s`` τ, ``type_s`` W, ``deficit_s`` δ; ``why`` in words.
    """

    jobs: tuple[int, ...]
    gpu: str
    share: float
    received_s: float
    type_s: float
    priority: float
    deficit_s: float
    ran: bool
    why: str


class Round(Document):
    """One round: when, how many jobs ran and waited, and the priorities (empty where not kept)."""

    number: int
    start_s: float
    end_s: float
    running: int
    waiting: int
    priorities: tuple[PriorityRow, ...]


class Received(Document):
    """A job's mean share of time on each type while it was there: what was planned, what it received."""

    job: int
    planned: Mapping[str, float]
    received: Mapping[str, float]


class PolicyTrace(Document):
    """One policy's first replication, round by round."""

    stays: tuple[Stay, ...]
    rounds: tuple[Round, ...]
    received: tuple[Received, ...]


class TrainingOutcome(Document):
    """The report with its provenance and, per policy, what happened; ``job_names`` by number."""

    about: About
    report: TrainingReport
    job_names: tuple[str, ...]
    types: Mapping[str, int]
    traces: Mapping[str, PolicyTrace]
