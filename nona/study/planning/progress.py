"""How far a plan is: what it looks at, and how many kinds of cluster are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PlanStage = Literal["search", "headroom", "failures", "week"]
STAGES: tuple[PlanStage, ...] = ("search", "headroom", "failures", "week")
_WORDS = {"headroom": "Headroom: ", "failures": "Failures: ", "week": "Servers by hour: ", "search": ""}


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """A report during a plan.

    Attributes
    ----------
    stage
        ``search``: for the cheapest option; then what is asked of the answer: its ``headroom``, what
        ``failures`` leave, and the ``week``.
    last
        What was looked at last, with its verdict.
    settled, of
        Kinds of cluster of which nothing is left to look at, and all that are known to be looked at.
    """

    stage: PlanStage
    last: str = ""
    settled: int = 0
    of: int = 0

    @property
    def text(self) -> str:
        """The report in words.

        >>> PlanProgress("search", "3 × l4, nona: keeps after 16 runs", 2, 7).text
        '3 × l4, nona: keeps after 16 runs; 2 of 7 kinds of cluster settled'
        """
        if self.stage != "search":
            return f"{_WORDS[self.stage]}{self.last or 'begins'}"
        if not self.of:
            return self.last or "Options are ordered by prediction"
        left = f"{self.settled} of {self.of} kinds of cluster settled"
        return "; ".join(part for part in (self.last, left) if part)

    @property
    def whole(self) -> float:
        """A guess of the share that is done: nobody knows how many runs a verdict takes.

        >>> PlanProgress("search", "", 2, 4).whole, PlanProgress("week").whole
        (0.35, 0.9)
        """
        begin, end = {"search": (0.0, 0.7), "headroom": (0.7, 0.85), "failures": (0.85, 0.9)}.get(
            self.stage, (0.9, 1.0)
        )
        share = self.settled / self.of if self.stage == "search" and self.of else 0.0
        return begin + (end - begin) * share
