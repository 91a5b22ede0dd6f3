"""What Gavel's paper states, as far as we recollect it, judged by the study's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nona.results.document import Figure
from nona.results.training.study import StudyPoint, TrainingStudy
from nona.simulation.statistics.ratio import NO_RATIO, Ratio, paired_ratio

NEAR = 1.35  # a ratio within this factor of the stated one agrees in size
SINGLE, MULTI = "single-GPU", "multi-GPU"


@dataclass(frozen=True, slots=True)
class Claim:
    """``better`` has a lower value than ``worse``, by up to ``factor`` (``None``: no size is stated).

    ``value``: ``jcts_s``, at the load where the ratio is largest, or ``makespans_s``.
    """

    stated: str
    mode: str
    value: str
    worse: str
    better: str
    factor: float | None


CLAIMS = (
    Claim(
        "Mean JCT up to 3.5 times lower under aware LAS, single-GPU",
        SINGLE,
        "jcts_s",
        "max-min-fairness-agnostic",
        "max-min-fairness",
        3.5,
    ),
    Claim(
        "Mean JCT up to 2.2 times lower under aware LAS, multi-GPU",
        MULTI,
        "jcts_s",
        "max-min-fairness-agnostic",
        "max-min-fairness",
        2.2,
    ),
    Claim(
        "Mean JCT up to 3 times lower under aware ρ, single-GPU",
        SINGLE,
        "jcts_s",
        "finish-time-fairness-agnostic",
        "finish-time-fairness",
        3.0,
    ),
    Claim(
        "Mean JCT lower under LAS than Gandiva, single-GPU",
        SINGLE,
        "jcts_s",
        "gandiva, packed",
        "max-min-fairness",
        None,
    ),
    Claim(
        "Mean JCT lower still with pairs, single-GPU",
        SINGLE,
        "jcts_s",
        "max-min-fairness",
        "max-min-fairness, packed",
        None,
    ),
    Claim(
        "Makespan 2.5 times shorter than FIFO's, multi-GPU",
        MULTI,
        "makespans_s",
        "fifo-agnostic",
        "makespan",
        2.5,
    ),
    Claim(
        "Makespan 1.4 times shorter than Gandiva's, multi-GPU",
        MULTI,
        "makespans_s",
        "gandiva, packed",
        "makespan",
        1.4,
    ),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with the ratio found, and the load (jobs per hour) at which; order and size in words."""

    claim: Claim
    ratio: Ratio
    per_hour: float

    @property
    def order(self) -> str:
        """Whether the better one is better.

        >>> Judged(CLAIMS[0], Ratio(2.0, 1.5, 2.6, 3), 4.0).order
        'agrees'
        """
        if self.ratio.n == 0:
            return "not run"
        if self.ratio.value <= 1:
            return "does not agree"
        return "agrees" if self.ratio.is_clear else "agrees, not clear"

    @property
    def size(self) -> str:
        """Whether the ratio is near the one stated."""
        stated = self.claim.factor
        if stated is None or self.ratio.n == 0:
            return "–"
        if self.ratio.value * NEAR < stated:
            return "smaller"
        return "larger" if self.ratio.value > stated * NEAR else "agrees"


def values(point: StudyPoint, value: str) -> list[float]:
    """One value per replication, NaN where it is not known."""
    found: Sequence[Figure] = point.jcts_s if value == "jcts_s" else point.makespans_s
    return [float("nan") if v is None else v for v in found]


def judged(data: TrainingStudy) -> list[Judged]:
    """All claims, in their order."""
    return [_judge(data, claim) for claim in CLAIMS]


def _judge(data: TrainingStudy, claim: Claim) -> Judged:
    points = data.loads if claim.value == "jcts_s" else data.makespans
    found = list(_ratios(points, claim))
    if not found:
        return Judged(claim, NO_RATIO, 0.0)
    return max(found, key=lambda judged: judged.ratio.value)


def _ratios(points: Iterable[StudyPoint], claim: Claim) -> Iterable[Judged]:
    mine = [p for p in points if p.mode == claim.mode]
    better = {p.per_hour: p for p in mine if p.variant == claim.better}
    for worse in mine:
        if worse.variant == claim.worse and worse.per_hour in better:
            pair = values(worse, claim.value), values(better[worse.per_hour], claim.value)
            yield Judged(claim, paired_ratio(*pair), worse.per_hour)
