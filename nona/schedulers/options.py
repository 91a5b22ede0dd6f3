"""Checks of what a scenario hands to a scheduler."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nona.errors import SimulationError
from nona.options import check_known
from nona.placement.result.placement import Placement


def check_options(scheduler: str, options: Mapping[str, object], known: Collection[str] = ()) -> None:
    """Refuse options that the scheduler would ignore.

    >>> check_options("local", {"cap": 3})
    Traceback (most recent call last):
    nona.errors.SimulationError: Scheduler 'local': option 'cap' is not known; it takes no options.
    """
    check_known(f"Scheduler {scheduler!r}", options, known)


def required_placement(scheduler: str, placement: Placement | None) -> Placement:
    """The placement, or an error that says that one is needed."""
    if placement is None:
        raise SimulationError(f"Scheduler {scheduler!r}: it samples a placement; solve one first.")
    return placement
