"""Values of options that several commands have."""

from __future__ import annotations

from nona.errors import NonaError
from nona.units import parse_quantity


def share(option: str, text: str) -> float:
    """A share strictly between 0 and 1, written as 0.99 or 99%.

    Raises
    ------
    NonaError
        For anything else; it names the option.

    Examples
    --------
    >>> share("--hit", "99%")
    0.99
    >>> share("--hit", "100%")
    Traceback (most recent call last):
    nona.errors.NonaError: --hit '100%' must lie between 0 and 1; write 0.99 or 99%.
    """
    try:
        value = parse_quantity(text, "fraction")
    except ValueError as error:
        raise NonaError(f"{option}: {error}.") from None
    if not 0 < value < 1:
        raise NonaError(f"{option} {text!r} must lie between 0 and 1; write 0.99 or 99%.")
    return value
