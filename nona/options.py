"""Checks of options that a scenario hands to something it names: a scheduler, a policy, a solver."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf, isfinite, nan

from nona.errors import SimulationError

Option = bool | int | float | str | None
"""The value of an option."""

Options = Mapping[str, Option]
"""Options by name."""


def check_known(owner: str, options: Mapping[str, object], known: Collection[str]) -> None:
    """Refuse options that ``owner`` would ignore.

    Raises
    ------
    SimulationError
        For the first option that is not among the ``known``.

    Examples
    --------
    >>> check_known("Scheduler 'local'", {"cap": 3}, ())
    Traceback (most recent call last):
    nona.errors.SimulationError: Scheduler 'local': option 'cap' is not known; it takes no options.
    """
    for name in options:
        if name not in known:
            remedy = f"choose from {', '.join(sorted(known))}" if known else "it takes no options"
            raise SimulationError(f"{owner}: option {name!r} is not known; {remedy}.")


def number(
    owner: str, options: Mapping[str, object], name: str, least: float = 0.0, most: float = inf
) -> float:
    """The option ``name`` as a finite number from ``least`` to ``most``.

    Raises
    ------
    SimulationError
        When it is something else.

    Examples
    --------
    >>> number("Policy 'x'", {"step_s": "soon"}, "step_s")
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'x': option step_s='soon' must be a number of at least 0; change it.
    """
    value = options[name]
    converted = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan
    if not (isfinite(converted) and least <= converted <= most):
        raise SimulationError(
            f"{owner}: option {name}={value!r} must be a number {_range(least, most)}; change it."
        )
    return converted


def whole(owner: str, options: Mapping[str, object], name: str, least: int = 1, most: float = inf) -> int:
    """The option ``name`` as a whole number from ``least`` to ``most``.

    Raises
    ------
    SimulationError
        When it is something else.

    Examples
    --------
    >>> whole("Policy 'x'", {"batch": 1.5}, "batch")
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'x': option batch=1.5 must be a whole number of at least 1; change it.
    """
    value = options[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SimulationError(
            f"{owner}: option {name}={value!r} must be a whole number {_range(least, most)}; change it."
        )
    return value


def switch_of(owner: str, options: Mapping[str, object], name: str) -> bool:
    """The option ``name`` as a bool.

    Raises
    ------
    SimulationError
        When it is something else.

    Examples
    --------
    >>> switch_of("Policy 'x'", {"fitted": 1}, "fitted")
    Traceback (most recent call last):
    nona.errors.SimulationError: Policy 'x': option fitted=1 must be true or false; change it.
    """
    value = options[name]
    if not isinstance(value, bool):
        raise SimulationError(f"{owner}: option {name}={value!r} must be true or false; change it.")
    return value


def _range(least: float, most: float) -> str:
    return f"of at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
