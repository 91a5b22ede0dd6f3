"""What the schedulers that sample tables are prepared from: presets, or a placement that was solved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.placement.capacity.memory import default_shares
from nona.placement.fixed.presets import place_fixed
from nona.placement.result.placement import Placement
from nona.schedulers.base import Prepared
from nona.schedulers.options import check_options, required_placement
from nona.schedulers.sampling.tables import build_tables
from nona.system import System


def prepare_preset(
    name: str, system: System, placement: Placement | None, options: Mapping[str, Any]
) -> Prepared:
    """For the scheduler ``name``: the one configuration per sub-graph of the preset of that name."""
    check_options(name, options)
    placed = [place_fixed(system, q, name) for q in system.queries]
    return build_tables(system, placed, shares=default_shares(system))


def prepare_solved(
    name: str, choices: int, system: System, placement: Placement | None, options: Mapping[str, Any]
) -> Prepared:
    """For the scheduler ``name``: the placement's probabilities, with so many candidates per draw."""
    check_options(name, options)
    solved = required_placement(name, placement)
    return build_tables(system, solved.queries, choices=choices, shares=solved.class_shares)
