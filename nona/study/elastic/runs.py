"""The runs of a study of elastic jobs: all its points, each on every workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from nona.errors import SimulationError
from nona.experiments.pool import Key
from nona.study.elastic.run import ElasticRequest, elastic_system
from nona.training.elastic.engine.run import ElasticProgress
from nona.training.elastic.model.workload import SHIPPED
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun, Piece, replications_of, run_pieces

EFFORT = "generations"
DIGITS = 10
Hear = Callable[[float, str], None]
Runs = tuple[ElasticRun, ...]


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """For each point the runs of each workload; and the checks that failed, in words."""

    points: tuple[tuple[Runs, ...], ...]
    failed_checks: tuple[str, ...]


def check_size(workloads: Sequence[int], replications: int) -> None:
    """Workloads that ship, and at least one replication; else :class:`~nona.errors.SimulationError`."""
    if not workloads or not set(workloads) <= set(SHIPPED):
        known = ", ".join(map(str, SHIPPED))
        raise SimulationError(f"Study: workloads={list(workloads)} must be among {known}; change them.")
    if replications < 1:
        raise SimulationError(f"Study: replications={replications} must be at least 1; give more.")


def run_points(
    points: Sequence[Sequence[ElasticRequest]], replications: int, *, workers: int, on_progress: Hear
) -> StudyRuns:
    """Run every request, of one policy each; ``points`` have as many workloads each.

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    pieces = [_piece(request) for request in chain.from_iterable(points)]
    heard = _Heard(pieces, replications, on_progress)
    found = run_pieces(pieces, replications, workers=workers, keep=False, on_progress=heard)
    rest = iter(found)
    failed = (
        f"{piece.policy}: {check.name}: {check.detail}"
        for piece, runs in zip(pieces, found, strict=True)
        for run in runs
        for check in run.checks
        if not check.ok
    )
    return StudyRuns(tuple(tuple(next(rest) for _ in point) for point in points), tuple(failed))


def _piece(request: ElasticRequest) -> Piece:
    (policy,) = request.policies
    return Piece(elastic_system(request), policy, request.options.get(policy, {}))


class _Heard:
    """The share of all runs that is done."""

    def __init__(self, pieces: Sequence[Piece], replications: int, on_progress: Hear) -> None:
        self._total = sum(replications_of(ELASTIC[piece.policy], replications) for piece in pieces)
        self._done: dict[Key, float] = {}
        self._on_progress = on_progress

    def __call__(self, progress: ElasticProgress) -> None:
        self._done[progress.piece, progress.replication] = progress.fraction
        self._on_progress(sum(self._done.values()) / self._total, progress.policy)
