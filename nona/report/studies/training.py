"""The studies of training policies and of the throughput estimator: claims and findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nona.report.text import Presented, Shown
from nona.results.document import Estimate, Figure
from nona.results.studies import EstimatorPoint, EstimatorStudy, StudyPoint, TrainingStudy, Way
from nona.statistics import NO_RATIO, Ratio, mean_interval, paired_ratio
from nona.tables import SHARE, TIME, Column, Filled, Kind, Table, mean_text, or_dash

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
        """The verdict on the direction of the claim: ``agrees`` if the better policy is better.

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
        """The verdict on the size of the ratio beside the stated one; a dash if none is stated."""
        stated = self.claim.factor
        if stated is None or self.ratio.n == 0:
            return "–"
        if self.ratio.value * NEAR < stated:
            return "smaller"
        return "larger" if self.ratio.value > stated * NEAR else "agrees"


def values(point: StudyPoint, value: str) -> list[float]:
    """One value per replication, NaN where it is not known."""
    figures: Sequence[Figure] = point.jcts_s if value == "jcts_s" else point.makespans_s
    return [float("nan") if v is None else v for v in figures]


def judged(data: TrainingStudy) -> list[Judged]:
    """All claims, in their order."""
    return [_judge(data, claim) for claim in CLAIMS]


def _judge(data: TrainingStudy, claim: Claim) -> Judged:
    points = data.loads if claim.value == "jcts_s" else data.makespans
    ratios = list(_ratios(points, claim))
    if not ratios:
        return Judged(claim, NO_RATIO, 0.0)
    return max(ratios, key=lambda judged: judged.ratio.value)


def _ratios(points: Iterable[StudyPoint], claim: Claim) -> Iterable[Judged]:
    mine = [p for p in points if p.mode == claim.mode]
    better = {p.per_hour: p for p in mine if p.variant == claim.better}
    for worse in mine:
        if worse.variant == claim.worse and worse.per_hour in better:
            pair = values(worse, claim.value), values(better[worse.per_hour], claim.value)
            yield Judged(claim, paired_ratio(*pair), worse.per_hour)


OURS = (
    "Aware: a policy that knows each job's speed on each GPU type; ρ: finish-time fairness. "
    "What the paper states (Narayanan et al., OSDI 2020) is from memory and was not checked against its "
    "text. Throughputs are the measured ones of the paper, and jobs are drawn as its public generator does."
)
WHY = (
    "Sizes differ for known reasons: the largest ratios are those at loads that the agnostic policy cannot "
    "sustain, where a longer run gives a longer queue and so a larger ratio; the paper measures jobs 4,000 "
    "to 5,000, this run fewer; agnostic FIFO takes the type with most free GPUs (ours); multi-GPU jobs "
    "never share GPUs, because the table has no rates for them."
)
RULES = (
    f"Order agrees where the ratio is above 1, clearly if its 95 % interval excludes 1. Size agrees within a "
    f"factor of {NEAR:g}. JCT claims take the load with the largest ratio; ratios are paired by replication."
)


LOADS = "Loads are jobs per hour on 36 GPUs of each type; with fewer GPUs they are lowered in proportion."


def title(data: TrainingStudy) -> str:
    """The main finding in one sentence."""
    first = judged(data)[0]
    if first.ratio.n == 0:
        return "The policies that the main claim compares were not run"
    return (
        f"Heterogeneity-aware LAS has a mean JCT up to {first.ratio.value:.2f} times lower than agnostic LAS "
        f"(single-GPU jobs, {first.per_hour:g} jobs per hour; stated: {first.claim.factor:g} times)"
    )


def modes_of(data: TrainingStudy) -> list[str]:
    """Single-GPU and multi-GPU, those that were run."""
    return list(dict.fromkeys(p.mode for p in (*data.loads, *data.makespans)))


HOURS = Kind("{:.2f}".format)


def _hours(point: StudyPoint, value: str) -> Estimate:
    return mean_interval([v / 3600 for v in values(point, value)]).estimate


def loads(data: TrainingStudy, mode: str) -> Filled:
    """Mean JCT in hours with its interval: a row per variant, a column per load."""
    mine = [p for p in data.loads if p.mode == mode]
    rows = {name: [p for p in mine if p.variant == name] for name in dict.fromkeys(p.variant for p in mine)}

    def at(per_hour: float) -> Column[list[StudyPoint]]:
        def jct(points: list[StudyPoint]) -> Estimate | None:
            return next((_hours(p, "jcts_s") for p in points if p.per_hour == per_hour), None)

        return Column(f"{per_hour:g} jobs/h", jct, HOURS, interval=True)

    columns = (
        *map(at, dict.fromkeys(p.per_hour for p in mine)),
        Column("per answer", _slowest_answer, TIME),
    )
    return Table("mean JCT, h", columns).of(rows)


def _slowest_answer(points: list[StudyPoint]) -> float:
    return max(p.decision_s or 0.0 for p in points)


MAKESPANS = Table[StudyPoint](
    "",
    (
        Column("policy", lambda p: p.variant),
        Column("makespan, h", lambda p: _hours(p, "makespans_s"), HOURS, interval=True),
        Column("mean JCT, h", lambda p: _hours(p, "jcts_s"), HOURS, interval=True),
        Column("utilisation", lambda p: p.utilization, SHARE),
        Column("per answer", lambda p: p.decision_s, TIME),
    ),
)


def makespans(data: TrainingStudy, mode: str) -> Filled:
    """Makespans with all jobs there at the start."""
    return MAKESPANS.of(p for p in data.makespans if p.mode == mode)


def _found(j: Judged) -> str | None:
    if j.ratio.n == 0:
        return None
    span = "" if j.ratio.low != j.ratio.low else f" ({j.ratio.low:.2f} to {j.ratio.high:.2f})"
    at = f", {j.per_hour:g} jobs/h" if j.per_hour else ""
    return f"{j.ratio.value:.2f}{span}{at}"


CLAIMED = Table[Judged](
    "",
    (
        Column("stated (recollected)", lambda j: j.claim.stated),
        Column("found", _found),
        Column("order", lambda j: j.order),
        Column("size", lambda j: j.size),
    ),
)


def provenance(data: TrainingStudy) -> str:
    """The provenance of the numbers in one line."""
    first, last = data.measured
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, {data.replications} runs of "
        f"{data.jobs:,} jobs (JCTs of jobs {first} to {last}) and of {data.at_once:,} at once, "
        f"{data.gpus} GPUs of each type, {or_dash(data.seconds, '{:.0f}'.format)} s"
    )


def presented(data: TrainingStudy) -> Presented:
    """The study with its tables: the claims, and for each size of jobs JCT over load and makespans."""
    tables = [Shown("training-claims", "What the paper states, and the results", CLAIMED.of(judged(data)))]
    for mode in modes_of(data):
        over_load, at_once = f"Mean JCT over load, {mode} jobs", f"All jobs at once, {mode}"
        tables.append(Shown(f"training-jct-{mode}", over_load, loads(data, mode), folded=True))
        tables.append(Shown(f"training-makespan-{mode}", at_once, makespans(data, mode), folded=True))
    notes = " ".join((RULES, WHY, OURS, LOADS if data.loads else "No loads were run."))
    return Presented(title(data), (), tables, notes, provenance(data))


WAYS: dict[Way, str] = {
    "match": "matched reference",
    "completed": "completed row",
    "table-mean": "mean of the table",
    "random-reference": "random reference",
    "nearest": "nearest reference",
}
KINDS = {"known": "model in the reference", "new": "model left out"}


ESTIMATED = (
    "A job's rate next to another job on one GPU is estimated from the pairs that were profiled: the row is "
    "completed, and the most similar known model's row is used. Errors are those of the share of its own "
    "rate that a job keeps."
)
ERROR, PART = Kind("{:.3f}".format), Kind("{:.0%}".format)


def converged(data: EstimatorStudy, kind: str) -> tuple[EstimatorPoint, ...]:
    """The points of one kind with the completion that goes on longest, by share profiled."""
    stop = min(p.stop for p in data.points)
    return tuple(p for p in data.points if p.reference == kind and p.stop == stop)


def _enough(points: Sequence[EstimatorPoint]) -> EstimatorPoint | None:
    """The least share profiled from which on the match is surely better than the mean of the table."""
    enough = None
    for p in reversed(points):
        match, mean = p.errors["match"].ci95, p.errors["table-mean"].mean
        if match is None or mean is None or match[1] >= mean:
            break
        enough = p
    return enough


def estimator_title(data: EstimatorStudy) -> str:
    """The main finding in one sentence."""
    enough = _enough(converged(data, "new"))
    if enough is None:
        return "For a new model the estimator is not surely better than the mean of the table"
    return (
        "For a new model the estimator is better than the mean of the table once "
        f"{enough.profiled:.0%} of its pairs are profiled"
    )


def estimator_findings(data: EstimatorStudy) -> list[str]:
    """List the findings: recognition of known models, errors of new ones, the cost of stopping early."""
    lines = [
        f"With {p.profiled:.0%} of its pairs profiled, a job of a known model is matched to its own in "
        f"{p.found.mean:.0%} of cases; the error is {mean_text(p.errors['match'], ERROR.show)} of the rate "
        "alone."
        for p in converged(data, "known")
        if p.found.mean is not None and p.profiled in (0.1, 0.2, 0.5)
    ]
    for early in data.points:
        late = next(p for p in converged(data, early.reference) if p.profiled == early.profiled)
        if early.stop > late.stop and early.profiled == 0.2:
            lines.append(
                f"Stopping the completion at {early.stop:g} per entry, as the public program does, gives "
                f"{mean_text(early.errors['match'], ERROR.show)} instead of "
                f"{mean_text(late.errors['match'], ERROR.show)} ({KINDS[early.reference]}, 20% profiled)."
            )
    return lines


def _error(way: Way) -> Column[EstimatorPoint]:
    return Column(WAYS[way], lambda p: p.errors[way], ERROR, interval=True)


ESTIMATES = Table[EstimatorPoint](
    "",
    (
        Column("reference", lambda p: KINDS[p.reference]),
        Column("stop", lambda p: p.stop, Kind("{:g}".format)),
        Column("profiled", lambda p: p.profiled, PART),
        Column("recognised", lambda p: p.found, PART, interval=True),
        *map(_error, WAYS),
    ),
)


def estimator_presented(data: EstimatorStudy) -> Presented:
    """The study with every point; errors are shares of the rate alone."""
    about = data.about
    heading = "Mean error of each way of estimating"
    tables = (Shown("estimator-points", heading, ESTIMATES.of(data.points), folded=True),)
    provenance = (
        f"Made by {about.command} (version {about.version}, {about.made}, {about.seconds:.0f} s): "
        f"{about.models} models on {', '.join(about.types)}, each profiled {about.replications} times. "
        f"Table: {about.table}."
    )
    return Presented(estimator_title(data), estimator_findings(data), tables, ESTIMATED, provenance)
