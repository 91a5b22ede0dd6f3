"""Options of policies that are on or off."""

from __future__ import annotations

from collections.abc import Mapping

from nona.errors import SimulationError
from nona.options import check_known


def switch(owner: str, options: Mapping[str, object], name: str, known: Mapping[str, object]) -> bool:
    """The option ``name`` as a bool; options that are not ``known`` are refused.

    Raises
    ------
    SimulationError
        For an unknown option, and for a value that is neither true nor false.

    Examples
    --------
    >>> switch("Policy 'x'", {"agnostic": True}, "agnostic", {"agnostic": False})
    True
    """
    check_known(owner, options, known)
    value = options[name]
    if not isinstance(value, bool):
        raise SimulationError(f"{owner}: option {name}={value!r} must be true or false; change it.")
    return value
