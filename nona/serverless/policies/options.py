"""Checks of the options that a scenario hands to a policy."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from nona import options as checks
from nona.errors import SimulationError
from nona.options import Option, Options
from nona.serverless.model.system import ServerlessSystem


def known_options(policy: str, options: Options, defaults: Options) -> dict[str, Option]:
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


def choice(policy: str, options: Options, name: str, allowed: Collection[str]) -> str:
    """The policy's option ``name`` as one of the ``allowed`` words.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    value = options[name]
    if not isinstance(value, str) or value not in allowed:
        raise _refused(policy, name, value, f"one of {', '.join(allowed)}")
    return value


def switch(policy: str, options: Options, name: str, words: str) -> bool:
    """The policy's option ``name`` as true or false; ``words`` say which values there are.

    Raises
    ------
    SimulationError
        When it is something else.
    """
    value = options[name]
    if not isinstance(value, bool):
        raise _refused(policy, name, value, words)
    return value


def _refused(policy: str, name: str, value: Option, words: str) -> SimulationError:
    return SimulationError(f"{_owner(policy)}: option {name}={value!r} must be {words}; change it.")


def number(policy: str, options: Options, name: str, least: float = 0.0, most: float = inf) -> float:
    """The policy's option ``name`` as a finite number from ``least`` to ``most``, else an error."""
    return checks.number(_owner(policy), options, name, least, most)


def whole(policy: str, options: Options, name: str, least: int = 1, most: float = inf) -> int:
    """The policy's option ``name`` as a whole number from ``least`` to ``most``, else an error."""
    return checks.whole(_owner(policy), options, name, least, most)


def percentile(policy: str, options: Options, system: ServerlessSystem) -> float:
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
