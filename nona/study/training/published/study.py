"""The study: mean JCT over load and makespan of training policies, beside what was published.

Every variant of a replication gets the same jobs.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

from nona import __version__
from nona.errors import SimulationError
from nona.experiments.pieces import run_work
from nona.experiments.pool import Key
from nona.results.training.study import StudyPoint, TrainingStudy
from nona.study.provenance import now_text
from nona.study.shipped import rounded_result
from nona.study.training.published.pieces import USUAL_GPUS, Outcome, Piece, Pieces
from nona.study.training.published.variants import AT_ONCE, MODES, MULTI, OVER_LOAD, SINGLE, Variant

DIGITS = 6
MEASURED = (0.3, 0.7)  # the jobs that are measured, as parts of all
WORKERS = {SINGLE: 1.0, MULTI: 1.9}  # mean GPUs of a job

Hear = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class StudySettings:
    """Size of the study.

    ``jobs`` arrive, of which those in the middle are measured; ``at_once`` are there at the start in the
    part on makespan. ``gpus``: of each type. ``loads``: single-GPU jobs per hour on 36 GPUs of each type;
    jobs with several GPUs arrive less often, by their mean of 1.9 GPUs. ``policies``: only these;
    all if empty.
    """

    jobs: int = 1000
    at_once: int = 700
    gpus: int = USUAL_GPUS
    replications: int = 3
    loads: tuple[float, ...] = (2.0, 4.0, 6.0, 8.0)
    seed: int = 0
    policies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("jobs", "at_once", "gpus", "replications"):
            if (value := getattr(self, name)) < 1:
                raise SimulationError(f"Study: {name}={value} must be at least 1; give a larger number.")
        if not self.loads or min(self.loads) <= 0:
            raise SimulationError(f"Study: loads={list(self.loads)} must be numbers above 0; change them.")

    @property
    def measured(self) -> tuple[int, int]:
        """First and last number of the measured jobs.

        >>> StudySettings(jobs=1000).measured
        (300, 699)
        """
        low, high = (round(part * self.jobs) for part in MEASURED)
        return low, max(low, high - 1)

    def wanted(self, variants: tuple[Variant, ...]) -> list[Variant]:
        """Those of the chosen policies."""
        return [v for v in variants if not self.policies or v.policy in self.policies]


def training_study(
    settings: StudySettings | None = None,
    *,
    workers: int = 1,
    on_progress: Hear = lambda share, text: None,
) -> TrainingStudy:
    """Run the study; its results with their provenance (command, version, date, seed).

    ``on_progress`` hears the share of the runs that is done; what it raises ends the work and comes out.
    """
    chosen, begin = settings or StudySettings(), time.perf_counter()
    over, once = _over_load(chosen), _at_once(chosen)
    pieces = (*over, *once)
    keys = [(number, r) for number in range(len(pieces)) for r in range(chosen.replications)]
    found = run_work(Pieces(pieces), keys, _Heard(len(keys), on_progress), workers)
    points = [
        _point(piece, [found[number, r] for r in range(chosen.replications)])
        for number, piece in enumerate(pieces)
    ]
    return rounded_result(
        TrainingStudy(
            study="training",
            command=_command(chosen),
            version=__version__,
            date=now_text(),
            seed=chosen.seed,
            gpus=chosen.gpus,
            jobs=chosen.jobs,
            measured=chosen.measured,
            at_once=chosen.at_once,
            replications=chosen.replications,
            loads=tuple(points[: len(over)]),
            makespans=tuple(points[len(over) :]),
            seconds=time.perf_counter() - begin,
        ),
        DIGITS,
    )


class _Heard:
    """Counts the runs that are done."""

    def __init__(self, runs: int, on_progress: Hear) -> None:
        self._runs, self._on_progress = runs, on_progress
        self._done: set[Key] = set()

    def report(self, key: Key, name: str) -> None:
        """A run is done."""
        self._done.add(key)
        self._on_progress(len(self._done) / self._runs, name)

    def repeat(self, key: Key) -> None:
        """A run's process was lost; it starts again."""


def _over_load(chosen: StudySettings) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            variant=variant,
            mode=mode,
            per_hour=round(load / WORKERS[mode], 3),
            jobs=chosen.jobs,
            measured=chosen.measured,
            gpus=chosen.gpus,
            seed=chosen.seed,
        )
        for mode in MODES
        for variant in chosen.wanted(OVER_LOAD)
        if variant.takes(mode)
        for load in chosen.loads
    )


def _at_once(chosen: StudySettings) -> tuple[Piece, ...]:
    everyone = (0, chosen.at_once - 1)
    return tuple(
        Piece(variant, mode, 0.0, chosen.at_once, everyone, chosen.gpus, chosen.seed)
        for mode in MODES
        for variant in chosen.wanted(AT_ONCE)
    )


def _point(piece: Piece, found: list[Outcome]) -> StudyPoint:
    return StudyPoint(
        mode=piece.mode,
        variant=piece.variant.name,
        per_hour=piece.per_hour,
        jcts_s=tuple(o.jct_s for o in found),
        makespans_s=tuple(o.makespan_s for o in found),
        utilization=sum(o.utilization for o in found) / len(found),
        decision_s=sum(o.decision_s for o in found) / len(found),
    )


def _command(chosen: StudySettings) -> str:
    """The command that makes these results."""
    usual = StudySettings()
    words = ["nona", "study", "training", "--json"]
    for name in ("jobs", "at_once", "gpus", "replications", "seed"):
        if (value := getattr(chosen, name)) != getattr(usual, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if chosen.loads != usual.loads:
        words += [word for load in chosen.loads for word in ("--load", f"{load:g}")]
    words += [word for policy in chosen.policies for word in ("--policy", policy)]
    return shlex.join(words)
