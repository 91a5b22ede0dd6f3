"""Targets: for each model the share of its jobs that must be complete within a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.units import format_time


@dataclass(frozen=True, slots=True)
class Target:
    """At least ``share`` of the jobs of query class ``model`` are complete within ``bound_s`` seconds.

    A percentile below a bound says the same: the p-th percentile is at most b if and only if the share
    of jobs within b is at least p/100. ``percentile`` is p where it was asked for so, to show it again.

    Examples
    --------
    >>> Target.of_percentile(0, 99.0, 0.05).share, Target.of_hits(0, 0.98, 0.04).text("resnet18")
    (0.99, '98 % of resnet18 within 40 ms')

    Raises
    ------
    ScenarioError
        When the share does not lie between 0 and 1, or the bound is not above 0.
    """

    model: int
    share: float
    bound_s: float
    percentile: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ScenarioError(
                [f"Target: share {self.share:g} must lie between 0 and 1; give 0.99 for 99 %."]
            )
        if not (self.bound_s > 0 and math.isfinite(self.bound_s)):
            raise ScenarioError([f"Target: bound {self.bound_s:g} s must be above 0 and finite; correct it."])

    @staticmethod
    def of_hits(model: int, share: float, slo_s: float) -> Target:
        """At least ``share`` of the jobs keep their SLO."""
        return Target(model, share, slo_s)

    @staticmethod
    def of_percentile(model: int, percentile: float, bound_s: float) -> Target:
        """The ``percentile`` (0 to 100) of the completion times is at most ``bound_s``."""
        return Target(model, percentile / 100, bound_s, percentile)

    def text(self, name: str) -> str:
        """The target in words; ``name`` is the model's."""
        bound = format_time(self.bound_s, 4)
        if self.percentile is not None:
            return f"p{self.percentile:g} of {name} at most {bound}"
        return f"{100 * self.share:.6g} % of {name} within {bound}"
