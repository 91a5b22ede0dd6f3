"""How far the choice of a placement is: which of its three stages runs, and how much of it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PlacingStage = Literal["formula", "search", "simulation"]
STAGES: tuple[PlacingStage, ...] = ("formula", "search", "simulation")


@dataclass(frozen=True, slots=True)
class PlacingProgress:
    """A report during the choice of a placement.

    Attributes
    ----------
    stage
        ``formula``: the formula is solved; ``search``: placements are judged by sampled jobs;
        ``simulation``: the nearest are compared by short runs.
    done
        Placements judged, or runs made, in this stage.
    share
        Of the stage's limit that is spent, 0 to 1: the stage ends there, or before.
    """

    stage: PlacingStage
    done: int = 0
    share: float = 0.0

    @property
    def whole(self) -> float:
        """The share of all stages, each taken as equally long.

        >>> PlacingProgress("search", 12, 0.5).whole
        0.5
        """
        return (STAGES.index(self.stage) + self.share) / len(STAGES)


PlacingTold = Callable[[PlacingProgress], None]


def untold(progress: PlacingProgress) -> None:
    """Nobody wants to know."""
