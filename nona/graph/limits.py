"""What a model file may hold at most, and the check of every number that comes from one.

The limits are ours: far above any network or workflow, low enough that a hostile or damaged file
cannot exhaust the machine that reads it.
"""

from __future__ import annotations

from nona.errors import GraphError
from nona.foreign.limits import MOST_FILE_BYTES
from nona.graph.text import quote

MAX_BYTES = MOST_FILE_BYTES
MAX_OPERATORS = 200_000
MAX_EDGES = 1_000_000
MAX_TENSORS = 1_000_000
MAX_RANK = 64
MAX_SIZE_BYTES = 1e18
MAX_TIME_S = 1e9
MAX_FLOPS = 1e24


def checked(value: object, owner: str, key: str, most: float) -> float:
    """``value`` as a float, if it is a number from 0 to ``most``.

    Raises
    ------
    GraphError
        For anything that is not a number, and for NaN, infinite, negative and larger numbers.

    >>> checked(3, "Node 'a'", "bytes", 1e18)
    3.0
    """
    if type(value) is not float and type(value) is not int:
        raise GraphError(
            f"{owner}: {key}={quote(value)} is not a number; give a number of at least 0, without a unit."
        )
    if not 0 <= value <= most:  # also false for NaN
        raise GraphError(f"{owner}: {key}={quote(value)} must be between 0 and {most:g}; correct it.")
    return float(value)


def check_count(found: int, most: int, what: str, name: str) -> None:
    """Refuse a graph ``name`` with more than ``most`` of ``what``."""
    if found > most:
        raise GraphError(
            f"Graph {quote(name)}: it has {found} {what}, at most {most} are allowed; give a smaller graph."
        )
