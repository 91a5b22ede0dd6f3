"""What the controller has decided for a queue."""

from __future__ import annotations

from nona.serverless.policies.base import Plan


class Decision:
    """A plan on its way to an invoker.

    ``ranked``, ``search_s``, ``steps``, ``carry``: of the plan; ``plan_missed``: whether it said that
    what was carried could not be used; ``decided_s``: when the search began; ``forced``: whether the
    smallest configuration was forced; ``missed``: whether the batch counts as a miss.
    """

    __slots__ = ("carry", "decided_s", "forced", "missed", "plan_missed", "ranked", "search_s", "steps")

    def __init__(self, plan: Plan, now_s: float, forced: bool) -> None:
        self.ranked = plan.ranked
        self.search_s, self.steps, self.carry = plan.search_s, plan.steps, plan.carry
        self.plan_missed = plan.missed
        self.missed = False
        self.decided_s, self.forced = now_s, forced
