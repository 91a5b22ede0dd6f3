"""What the schedulers that sample tables are prepared from: presets, or a placement that was solved.

These are objects and not functions made by functions, so that equal schedulers are equal, also in another
process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.placement.capacity.memory import default_shares
from nona.placement.fixed.presets import place_fixed
from nona.placement.result.placement import Placement
from nona.schedulers.base import Prepared
from nona.schedulers.options import check_options, required_placement
from nona.schedulers.sampling.tables import build_tables
from nona.system import System


@dataclass(frozen=True, slots=True)
class FromPreset:
    """Prepares the scheduler ``name``: the one configuration per sub-graph of the preset of that name."""

    name: str

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        check_options(self.name, options)
        placed = [place_fixed(system, q, self.name) for q in system.queries]
        return build_tables(system, placed, shares=default_shares(system))


@dataclass(frozen=True, slots=True)
class FromPlacement:
    """Prepares the scheduler ``name``: the placement's probabilities, ``choices`` candidates per draw."""

    name: str
    choices: int = 1

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        check_options(self.name, options)
        solved = required_placement(self.name, placement)
        return build_tables(system, solved.queries, choices=self.choices, shares=solved.class_shares)
