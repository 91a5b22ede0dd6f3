"""Options of policies that are on or off."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import check_known, switch_of


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
    return switch_of(owner, options, name)
