"""The study of training policies as text, computed from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.means import mean_of, mean_text
from nona.report.text import or_dash, percent_text, table, time_text
from nona.report.training.study.claims import NEAR, Judged, judged, values
from nona.results.training.study import StudyPoint, TrainingStudy
from nona.simulation.statistics.intervals import mean_interval

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


def load_rows(data: TrainingStudy, mode: str) -> list[dict[str, str]]:
    """Mean JCT in hours with its interval: a row per variant, a column per load."""
    mine = [p for p in data.loads if p.mode == mode]
    rows = []
    for name in dict.fromkeys(p.variant for p in mine):
        points = [p for p in mine if p.variant == name]
        row = {"mean JCT, h": name}
        row.update({f"{p.per_hour:g} jobs/h": _hours(values(p, "jcts_s")) for p in points})
        row["per answer"] = time_text(max(p.decision_s or 0.0 for p in points))
        rows.append(row)
    return rows


def makespan_rows(data: TrainingStudy, mode: str) -> list[dict[str, str]]:
    """Makespan in hours with its interval, and utilisation."""
    return [
        {
            "policy": p.variant,
            "makespan, h": _hours(values(p, "makespans_s")),
            "mean JCT, h": _hours(values(p, "jcts_s")),
            "utilisation": percent_text(p.utilization),
            "per answer": time_text(p.decision_s),
        }
        for p in data.makespans
        if p.mode == mode
    ]


def claim_rows(data: TrainingStudy) -> list[dict[str, str]]:
    """Each claim of the paper as recollected, what was found, whether order and size agree."""
    return [
        {
            "stated (recollected)": j.claim.stated,
            "found": _found(j),
            "order": j.order,
            "size": j.size,
        }
        for j in judged(data)
    ]


def _found(j: Judged) -> str:
    if j.ratio.n == 0:
        return "–"
    span = "" if j.ratio.low != j.ratio.low else f" ({j.ratio.low:.2f} to {j.ratio.high:.2f})"
    at = f", {j.per_hour:g} jobs/h" if j.per_hour else ""
    return f"{j.ratio.value:.2f}{span}{at}"


def _hours(found: Sequence[float]) -> str:
    return mean_text(mean_of(mean_interval([v / 3600 for v in found])), "{:.2f}".format)


def provenance(data: TrainingStudy) -> str:
    """The provenance of the numbers in one line."""
    first, last = data.measured
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, {data.replications} runs of "
        f"{data.jobs:,} jobs (JCTs of jobs {first} to {last}) and of {data.at_once:,} at once, "
        f"{data.gpus} GPUs of each type, {or_dash(data.seconds, '{:.0f}'.format)} s"
    )


def study_text(data: TrainingStudy) -> str:
    """What ``nona study training`` prints."""
    modes = modes_of(data)
    tables = [
        ("What the paper states", claim_rows(data)),
        *((f"Mean JCT over load, {mode} jobs", load_rows(data, mode)) for mode in modes),
        *((f"All jobs at once, {mode}", makespan_rows(data, mode)) for mode in modes),
    ]
    lines = [title(data) + "."]
    for heading, rows in tables:
        lines += ["", heading, table(rows, list(rows[0])) if rows else "–"]
    return "\n".join([*lines, "", RULES, WHY, OURS, _loads(data.loads), provenance(data)])


def _loads(points: Sequence[StudyPoint]) -> str:
    if not points:
        return "No loads were run."
    return "Loads are jobs per hour on 36 GPUs of each type; with fewer GPUs they are lowered in proportion."
