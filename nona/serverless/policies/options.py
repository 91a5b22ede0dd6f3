"""Checks of the options that a scenario hands to a policy."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from nona.errors import SimulationError
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
    for name in options:
        if name not in defaults:
            remedy = f"choose from {', '.join(sorted(defaults))}" if defaults else "it takes no options"
            raise SimulationError(f"Policy {policy!r}: option {name!r} is not known; {remedy}.")
    return {**defaults, **options}


def number(
    policy: str, options: Mapping[str, Any], name: str, least: float = 0.0, most: float = inf
) -> float:
    """The option ``name`` as a finite number from ``least`` to ``most``.

    Raises
    ------
    SimulationError
        When it is something else.

    Examples
    --------
    >>> number("x", {"step_s": "soon"}, "step_s")
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'x': option step_s='soon' must be a number of at least 0; change it.
    """
    value = options[name]
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not (plain and isfinite(value) and least <= value <= most):
        raise SimulationError(
            f"Policy {policy!r}: option {name}={value!r} must be a number {_range(least, most)}; change it."
        )
    return float(value)


def whole(policy: str, options: Mapping[str, Any], name: str, least: int = 1, most: float = inf) -> int:
    """The option ``name`` as a whole number from ``least`` to ``most``.

    Raises
    ------
    SimulationError
        When it is something else.

    Examples
    --------
    >>> whole("x", {"batch": 1.5}, "batch")
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'x': option batch=1.5 must be a whole number of at least 1; change it.
    """
    value = options[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SimulationError(
            f"Policy {policy!r}: option {name}={value!r} must be a whole number {_range(least, most)}; "
            "change it."
        )
    return value


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


def _range(least: float, most: float) -> str:
    return f"of at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
