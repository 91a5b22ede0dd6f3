"""Checks of the options that a scenario hands to a policy."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from nona import options as checks
from nona.serverless.model.system import ServerlessSystem


def known_options(policy: str, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults, overridden by the scenario's values.

    Raises
    ------
    SimulationError
        For an option that the policy does not have.

    Examples
    --------
    >>> known_options("fixed", {"batch": 4}, {"batch": 1, "vcpus": 1})
    {'batch': 4, 'vcpus': 1}
    >>> known_options("fixed", {"bach": 4}, {"batch": 1})
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'fixed': option 'bach' is not known; choose from batch.
    """
    checks.check_known(_owner(policy), options, defaults)
    return {**defaults, **options}


def number(
    policy: str, options: Mapping[str, Any], name: str, least: float = 0.0, most: float = inf
) -> float:
    """The policy's option ``name`` as a finite number from ``least`` to ``most``, else an error."""
    return checks.number(_owner(policy), options, name, least, most)


def whole(policy: str, options: Mapping[str, Any], name: str, least: int = 1, most: float = inf) -> int:
    """The policy's option ``name`` as a whole number from ``least`` to ``most``, else an error."""
    return checks.whole(_owner(policy), options, name, least, most)


def percentile(policy: str, options: Mapping[str, Any], system: ServerlessSystem) -> float:
    """The option ``percentile``, from 1 to 99.99; the scenario's where it is ``None``.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    if options["percentile"] is None:
        return system.profile_percentile
    return number(policy, options, "percentile", 1, 99.99)


def _owner(policy: str) -> str:
    return f"Policy {policy!r}"
