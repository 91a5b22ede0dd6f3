"""The error budget: how many of the late jobs that a target allows are used, today and with more traffic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nona.report.means import mean_text
from nona.report.plan.words import headroom_text
from nona.report.text import time_text
from nona.results.document import Interval
from nona.results.estimate import Estimate
from nona.results.plan import PlanLoad, PlanReport, PlanTarget

LEAST_USED = 0.005  # of the error budget: a logarithmic axis has no place for 0, so that less is drawn here


def percent(share: float, digits: int = 5) -> str:
    """A share in per cent; one that is next to nothing is 0.

    >>> percent(0.991423), percent(1e-103)
    ('99.142 %', '0 %')
    """
    return f"{round(100 * share, 9):.{digits}g} %"


@dataclass(frozen=True, slots=True)
class Budget:
    """Late jobs of a target over those that it allows, with the interval; above 1 the target is missed."""

    target: PlanTarget
    share: Estimate
    used: float
    interval: Interval

    @property
    def text(self) -> str:
        """What was seen of the target, beside what it asks for.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="99 % of bert within 60 ms")
        >>> tightest([asked], [Estimate(mean=0.995, ci95=(0.993, 0.997))]).text
        '99.5 % ± 0.2 % of bert within 60 ms (target 99 %)'
        """
        seen = mean_text(self.share, lambda s: percent(s, 4))
        bound = time_text(self.target.within_s)
        return f"{seen} of {self.target.model} within {bound} (target {100 * self.target.share:.6g} %)"

    @property
    def used_span(self) -> str:
        """How much is used, with its interval, for a table."""
        limits = "" if self.interval is None else f" ({self.interval[0]:.3g} to {self.interval[1]:.3g})"
        return f"{self.used:.3g}{limits}"

    @property
    def used_text(self) -> str:
        """How much is used, for a chart: in which place a value stands that the axis cannot show.

        >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
        >>> tightest([asked], [Estimate(mean=1.0, ci95=None)]).used_text
        'error budget used: 0, drawn at 0.005'
        """
        place = f", drawn at {LEAST_USED:g}" if self.used < LEAST_USED else ""
        return f"error budget used: {self.used:.3g}{place}"


def floor_note(budgets: Iterable[Budget | None]) -> str:
    """What a chart on a logarithmic axis says of values below its least place; empty without any.

    >>> asked = PlanTarget(model="bert", share=0.99, within_s=0.06, text="")
    >>> floor_note([tightest([asked], [Estimate(mean=1.0, ci95=None)]), None])
    'Less than 0.005 of the error budget, as without any late job (0), is drawn at 0.005.'
    """
    if not any(b is not None and b.used < LEAST_USED for b in budgets):
        return ""
    least = f"{LEAST_USED:g}"
    return f"Less than {least} of the error budget, as without any late job (0), is drawn at {least}."


def target_rows(report: PlanReport) -> list[dict[str, str]]:
    """For each target how far the answer was seen to hold it under more traffic, and from where to miss it.

    Of the factors that were tried: where all targets are kept, or, where another target is not, by the
    interval of its share at 95 %.
    """
    return [_target_row(report, k, target) for k, target in enumerate(report.targets)]


def _target_row(report: PlanReport, k: int, target: PlanTarget) -> dict[str, str]:
    missed = [c.factor for c in report.curve if k < len(c.shares) and _misses(target, c.shares[k])]
    first = min(missed, default=math.inf)
    held = [c.factor for c in report.curve if c.factor < first and _held(report, c, k)]
    return {
        "target": target.text,
        "seen to hold up to": headroom_text(max(held)) if held else "–",
        "seen to miss from": f"{first:.3g}×" if missed else "–",
    }


def _held(report: PlanReport, load: PlanLoad, k: int) -> bool:
    """Whether a target was seen to hold; not where all seem to and the stricter verdict is open."""
    seem = [_holds(t, s) for t, s in zip(report.targets, load.shares, strict=False)]
    return load.verdict == "keeps" or (k < len(seem) and seem[k] and not all(seem))


def _holds(target: PlanTarget, share: Estimate) -> bool:
    return share.ci95 is not None and share.ci95[0] >= target.share


def _misses(target: PlanTarget, share: Estimate) -> bool:
    return share.ci95 is not None and share.ci95[1] < target.share


def tightest(targets: Sequence[PlanTarget], shares: Sequence[Estimate]) -> Budget | None:
    """The target that is nearest to being missed, or furthest beyond; ``None`` before any run.

    Formula: used = (1 − h) / (1 − h₀), with h the share of jobs in time and h₀ the share asked for.

    >>> asked = [PlanTarget(model=m, share=h, within_s=0.1, text=m) for m, h in (("a", 0.9), ("b", 0.99))]
    >>> found = tightest(asked, [Estimate(mean=0.92, ci95=None), Estimate(mean=0.995, ci95=None)])
    >>> found.target.model, round(found.used, 3)
    ('a', 0.8)
    """
    found = [_budget(t, s, s.mean) for t, s in zip(targets, shares, strict=False) if s.mean is not None]
    return max(found, key=lambda b: b.used, default=None)


def _budget(target: PlanTarget, share: Estimate, mean: float) -> Budget:
    allowed = 1 - target.share
    ends = share.ci95
    interval = None if ends is None else ((1 - ends[1]) / allowed, (1 - ends[0]) / allowed)
    return Budget(target, share, (1 - mean) / allowed, interval)
