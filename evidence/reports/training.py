"""The study of training policies: claims of Gavel's paper, tables, figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import plotly.graph_objects as go

from evidence.policy_results import StudyPoint, TrainingStudy
from evidence.presented import Presented, Shown, grouped
from nona.core.document import Estimate, Figure
from nona.core.figures import add_means, figure, fitting_axis, scheduler_style, text
from nona.core.statistics import NO_RATIO, Ratio, mean_interval, paired_ratio
from nona.core.tables import SHARE, TIME, Column, FilledTable, NumberKind, Table
from nona.training.report.findings import HOUR_S

NEAR = 1.35  # a ratio within this factor of the stated one agrees in size
SINGLE, MULTI = "single-GPU", "multi-GPU"


class Claim(NamedTuple):
    """``better`` has a lower value than ``worse``, by up to ``factor`` (``None``: no size is stated).

    ``value``: ``jcts_s``, at the load where the ratio is largest, or ``makespans_s``.
    """

    words: str
    mode: str
    value: str
    worse: str
    better: str
    factor: float | None

    @property
    def stated(self) -> str:
        """The paper's statement, and of which jobs."""
        return f"{self.words}, {self.mode}"


LAS, FAIR, GANDIVA = "max-min-fairness", "finish-time-fairness", "gandiva, packed"
CLAIMS = (
    Claim("Mean JCT up to 3.5 times lower under aware LAS", SINGLE, "jcts_s", f"{LAS}-agnostic", LAS, 3.5),
    Claim("Mean JCT up to 2.2 times lower under aware LAS", MULTI, "jcts_s", f"{LAS}-agnostic", LAS, 2.2),
    Claim("Mean JCT up to 3 times lower under aware ρ", SINGLE, "jcts_s", f"{FAIR}-agnostic", FAIR, 3.0),
    Claim("Mean JCT lower under LAS than Gandiva", SINGLE, "jcts_s", GANDIVA, LAS, None),
    Claim("Mean JCT lower still with pairs", SINGLE, "jcts_s", LAS, f"{LAS}, packed", None),
    Claim("Makespan 2.5 times shorter than FIFO's", MULTI, "makespans_s", "fifo-agnostic", "makespan", 2.5),
    Claim("Makespan 1.4 times shorter than Gandiva's", MULTI, "makespans_s", GANDIVA, "makespan", 1.4),
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
    none = Judged(claim, NO_RATIO, 0.0)
    return max(_ratios(points, claim), key=lambda judged: judged.ratio.value, default=none)


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
    """Return the main finding in one sentence."""
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


HOURS = NumberKind("{:.2f}".format)


def _hours(point: StudyPoint, value: str) -> Estimate:
    return mean_interval([v / 3600 for v in values(point, value)]).estimate


def loads(data: TrainingStudy, mode: str) -> FilledTable:
    """Mean JCT in hours with its interval: a row per variant, a column per load."""
    mine = [p for p in data.loads if p.mode == mode]

    def at(per_hour: float) -> Column[list[StudyPoint]]:
        def jct(points: list[StudyPoint]) -> Estimate | None:
            return next((_hours(p, "jcts_s") for p in points if p.per_hour == per_hour), None)

        return Column(f"{per_hour:g} jobs/h", jct, HOURS, interval=True)

    columns = (
        *map(at, dict.fromkeys(p.per_hour for p in mine)),
        Column("per answer", lambda points: max(p.decision_s or 0.0 for p in points), TIME),
    )
    return Table("mean JCT, h", columns).fill(grouped(mine, lambda p: p.variant))


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


def presented(data: TrainingStudy) -> Presented:
    """Return the study with its tables: the claims, and for each size of jobs JCT over load and makespans."""
    tables = [Shown("training-claims", "What the paper states, and the results", CLAIMED.fill(judged(data)))]
    for mode in modes_of(data):
        over_load, at_once = f"Mean JCT over load, {mode} jobs", f"All jobs at once, {mode}"
        makespans = MAKESPANS.fill(p for p in data.makespans if p.mode == mode)
        tables.append(Shown(f"training-jct-{mode}", over_load, loads(data, mode), folded=True))
        tables.append(Shown(f"training-makespan-{mode}", at_once, makespans, folded=True))
    notes = " ".join((RULES, WHY, OURS, LOADS if data.loads else "No loads were run."))
    first, last = data.measured
    provenance = (
        f"{data.origin}, {data.replications} runs of {data.jobs:,} jobs (JCTs of jobs {first} to {last}) "
        f"and of {data.at_once:,} at once, {data.gpus} GPUs of each type, {data.seconds:.0f} s"
    )
    return Presented(title(data), (), tables, notes, provenance)


PACKED = ", packed"


def training_load_figure(data: TrainingStudy, mode: str) -> go.Figure:
    """Mean JCT with 95 % intervals over jobs per hour, one line for each variant; packed ones are hollow."""
    chart, means = figure(420), list[float | None]()
    mine = [p for p in data.loads if p.mode == mode]
    for name, points in grouped(mine, lambda p: p.variant).items():
        jcts = [mean_interval(values(p, "jcts_s")).estimate for p in points]
        look = scheduler_style(name.removesuffix(PACKED))
        if name.endswith(PACKED):
            look = replace(look, symbol=f"{look.symbol}-open")
        hover = f"{text(name)}, %{{x:,.3~r}} jobs per hour: %{{y:,.3~r}} h"
        means += add_means(chart, name, [p.per_hour for p in points], jcts, 1 / HOUR_S, look, hover)
    chart.update_xaxes(title="jobs that arrive per hour", rangemode="tozero")
    fitting_axis(chart, means, "mean JCT, h", "y")
    return chart
