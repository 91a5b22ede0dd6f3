"""The results of the study of training clusters, as its command prints them."""

from __future__ import annotations

from nona.results.document import Document, Figure


class StudyPoint(Document):
    """One variant of a policy at one load: a value for each replication, so that variants can be paired.

    ``per_hour``: jobs that arrive per hour on 36 GPUs of each type, in proportion on fewer; 0: all jobs are
    there at the start. ``jcts_s``: mean JCT of the measured jobs; ``makespans_s``: when the last job ended,
    ``None`` where runs end with the measured jobs;
    ``utilization``: mean; ``decision_s``: mean seconds of an answer of the policy.
    """

    mode: str
    variant: str
    per_hour: float
    jcts_s: tuple[Figure, ...]
    makespans_s: tuple[Figure, ...]
    utilization: Figure
    decision_s: Figure


class TrainingStudy(Document):
    """The study with its provenance: command, version, date, seed, size, and seconds it took.

    ``measured``: first and last number of the jobs that JCTs count; ``gpus``: of each type; ``at_once``:
    jobs of the part in which all are there at the start.
    """

    study: str
    command: str
    version: str
    date: str
    seed: int
    gpus: int
    jobs: int
    measured: tuple[int, int]
    at_once: int
    replications: int
    loads: tuple[StudyPoint, ...]
    makespans: tuple[StudyPoint, ...]
    seconds: float
