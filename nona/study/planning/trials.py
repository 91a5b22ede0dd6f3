"""What is known of a trial: its replications so far, the looks taken, the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nona.planning.offers import Option
from nona.planning.targets import Target
from nona.planning.verdict import LEVELS, Counts, limits, looks_within, replications_needed, verdict
from nona.results.document import number
from nona.results.estimate import UNKNOWN, Estimate
from nona.results.plan import By, PlanModel
from nona.results.verdict import Verdict
from nona.simulation.records.sketch import QuantileSketch
from nona.study.planning.bounds import Bounds, Excluded
from nona.study.planning.question import Question
from nona.study.planning.run_length import least_jobs, run_jobs, utilization_of
from nona.study.planning.runs import Impossible, Outcome, Seen

SHOWN = 0.025  # each end of a shown interval at 95 %
EARLIEST, FAR = 5, 8  # looks before an open option is given up; times the most replications allowed


@dataclass(frozen=True, eq=False)
class Known:
    """A trial's replications, its verdict, and what the verdict rests on."""

    seen: tuple[Seen, ...] = ()
    looks: int = 0
    verdict: Verdict = "open"
    by: By = "prediction"
    reason: str = ""
    hopeless: bool = False
    """Open, and so close to a target that many more replications than are allowed would be needed."""

    @property
    def utilization(self) -> float | None:
        """Mean utilisation of the executors."""
        return number(float(np.mean([s.utilization for s in self.seen]))) if self.seen else None

    @property
    def moved(self) -> float:
        """Bytes/s over the link beside the background."""
        return float(np.mean([s.moved for s in self.seen])) if self.seen else 0.0

    @property
    def overloaded(self) -> bool:
        """Whether some replication had no steady state."""
        return any(s.overloaded for s in self.seen)


def ruled_out(found: Excluded) -> Known:
    """An option that a bound excludes."""
    return Known(verdict="misses", by=found.by, reason=found.reason)


def looked_at(question: Question, known: Known, outcomes: Sequence[Outcome]) -> Known:
    """What is known after one more look, with the outcomes that it added."""
    failed = next((o for o in outcomes if isinstance(o, Impossible)), None)
    if failed is not None:
        return Known(
            looks=known.looks + 1, verdict="misses", by="no placement", reason=failed.reason.rstrip(".")
        )
    seen = known.seen + tuple(s for o in outcomes if not isinstance(o, Impossible) for s in o)
    after = replace(known, seen=seen, looks=known.looks + 1, by="simulation")
    if after.overloaded:
        return replace(after, verdict="misses", reason="there is no steady state")
    counts = counts_of(question.targets, seen)
    looks = looks_within(question.spec.replications)
    found = verdict(counts, question.shares, question.alpha, after.looks, looks)
    hopeless = False
    if found == "open" and after.looks >= EARLIEST:
        more = replications_needed(counts, question.shares, question.alpha)
        hopeless = more is None or more > FAR * question.spec.replications
    return replace(after, verdict=found, reason=_reason(question, counts, found), hopeless=hopeless)


def with_runs_long_enough(bounds: Bounds, option: Option, load: int, known: Known) -> Known:
    """What is known of an option; where it seems to keep in runs that are too short, that is open."""
    if known.verdict != "keeps":
        return known
    utilization = utilization_of(bounds, option, load)
    jobs, needed = run_jobs(bounds, option, load), least_jobs(utilization)
    if jobs >= needed:
        return known
    reason = f"runs of {jobs:,} jobs are too short to see the queues at a load of {100 * utilization:.4g} %"
    return replace(known, verdict="open", reason=reason, hopeless=True)


def counts_of(targets: Sequence[Target], seen: Sequence[Seen]) -> list[Counts]:
    """What was seen of each target, with the levels at which its design effect is judged."""
    return [_counts(t, k, seen) for k, t in enumerate(targets)]


def _counts(target: Target, k: int, seen: Sequence[Seen]) -> Counts:
    arrived = tuple(s.arrived[target.model] for s in seen)
    hits = tuple(s.hits[k] for s in seen)
    missed = tuple(n - h for n, h in zip(arrived, hits, strict=True))
    whole = QuantileSketch()
    for s in seen:
        whole = whole.merged(s.sketches[target.model])
    late = []
    for factor in LEVELS:
        beyond = min(1.0, factor * (1 - target.share))
        if sum(missed) >= beyond * sum(arrived) or not whole.count:
            late.append(missed)
        else:
            level = whole.quantile(1 - beyond)
            late.append(tuple(_above(s, target.model, level) for s in seen))
    return Counts(arrived, hits, tuple(late))


def _above(seen: Seen, model: int, level: float) -> int:
    sketch = seen.sketches[model]
    return sketch.above(level) + seen.arrived[model] - sketch.count


def _reason(question: Question, counts: Sequence[Counts], found: Verdict) -> str:
    """The target that is furthest from being kept."""
    spare = [(1 - c.share) / (1 - t.share) for c, t in zip(counts, question.targets, strict=True)]
    worst = int(np.argmax(spare))
    target = question.targets[worst]
    text = target.text(question.scenario.labels[target.model])
    share = f"{100 * counts[worst].share:.6g} %"
    verb = {"keeps": "kept", "misses": "missed", "open": "open"}[found]
    return f"{text}: {verb}, {share} within the bound"


def needed(question: Question, known: Known) -> int | None:
    """Replications that an open verdict would take, as far as one can say."""
    if known.verdict != "open" or len(known.seen) < 2:
        return None
    counts = counts_of(question.targets, known.seen)
    return replications_needed(counts, question.shares, question.alpha)


def shares_of(question: Question, known: Known) -> tuple[Estimate, ...]:
    """For each target the share of jobs within its bound, with its interval at 95 %; empty before a run."""
    if not known.seen:
        return ()
    return tuple(_share(c, len(known.seen)) for c in counts_of(question.targets, known.seen))


def _share(counts: Counts, replications: int) -> Estimate:
    """A share with its interval, which one replication does not give."""
    if math.isnan(counts.share):
        return UNKNOWN
    found = limits(counts, SHOWN)
    return Estimate(mean=counts.share, ci95=(found.lower, found.upper) if replications > 1 else None)


def models_of(question: Question, known: Known) -> dict[str, PlanModel]:
    """Share of hits with its interval at 95 %, and p99, of every model."""
    return {name: _model(question, known, j) for j, name in enumerate(question.scenario.labels)}


def _model(question: Question, known: Known, j: int) -> PlanModel:
    seen = known.seen
    if not seen:
        return PlanModel(hit_rate=UNKNOWN, p99_s=None)
    hits = UNKNOWN
    if question.scenario.workload[j].slo is not None:
        counts = Counts(tuple(s.arrived[j] for s in seen), tuple(s.within[j] for s in seen))
        hits = _share(counts, len(seen))
    whole = QuantileSketch()
    for s in seen:
        whole = whole.merged(s.sketches[j])
    p99_s = None if known.overloaded or not whole.count else number(whole.quantile(0.99))
    return PlanModel(hit_rate=hits, p99_s=p99_s)
