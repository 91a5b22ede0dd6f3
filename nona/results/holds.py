"""Results on whether the cluster as it stands holds: each target, more traffic, failures."""

from __future__ import annotations

from nona.results.document import About, Document, Estimate, Figure, Verdict
from nona.results.planning import PlanFailure, PlanLoad, PlanOption, PlanTarget


class HeldTarget(Document):
    """A target on the cluster as it stands.

    ``share`` is that of the jobs within the bound; ``time_s`` the time within which as many of them are
    complete as the target asks for. ``verdict``: ``open`` where the interval of ``share`` straddles it.
    """

    target: PlanTarget
    share: Estimate
    time_s: Estimate
    verdict: Verdict


class HoldsReport(Document):
    """The output of ``nona plan --present --json``: does the cluster hold under one scheduler?

    ``option`` is the cluster with the verdict on all targets together; its costs are of no meaning unless
    ``priced``. ``headroom`` is the largest factor on the traffic that was seen to keep all targets, below 1
    where the present traffic is too much; ``breaks_at`` counts the months until growth passes it. ``curve``
    are the factors that were simulated. ``complete``: the questions after more traffic and failures were
    answered.
    """

    option: PlanOption
    targets: tuple[HeldTarget, ...]
    headroom: Figure
    growth: float
    breaks_at: int | None
    curve: tuple[PlanLoad, ...]
    failures: tuple[PlanFailure, ...]
    priced: bool
    currency: str
    confidence: float
    complete: bool
    seconds: float


class HoldsOutcome(Document):
    """The same with its provenance; ``ended_early_s``: when somebody cancelled it."""

    about: About
    report: HoldsReport
    ended_early_s: Figure = None
