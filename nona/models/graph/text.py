"""Texts and numbers from files: names made fit for messages, and limits on what is read.

The limits are ours: far above any network or workflow, low enough that a hostile or damaged file
cannot exhaust the machine that reads it.
"""

from __future__ import annotations

import re

from nona.core.errors import GraphError
from nona.core.foreign import MOST_FILE_BYTES

MAX_NAME = 2_000
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quote(value: object, width: int = 60) -> str:
    r"""``value`` in quotes on one line, at most ``width`` characters of it.

    >>> quote("a" * 100, 5), quote("two\nlines"), quote(3)
    ("'aaaaa…'", "'two\\nlines'", '3')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= width else value[:width] + "…")
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"a number of {value.bit_length()} bits"  # its decimal form may be refused by Python
    text = one_line(repr(value))
    return text if len(text) <= width else text[:width] + "…"


def one_line(text: object, width: int = 200) -> str:
    r"""``text`` with every run of white space and control characters turned into one space.

    >>> one_line("first\n  second")
    'first second'
    """
    flat = re.sub(r"\s+", " ", _UNSAFE.sub(" ", str(text))).strip()
    return flat if len(flat) <= width else flat[:width] + "…"


def check_name(name: str, what: str) -> str:
    """``name`` itself, if it is fit to identify something.

    Markup is allowed (the page that shows a name escapes it); control characters and lone surrogates
    cannot be shown or saved.
    """
    if len(name) <= MAX_NAME and name.isprintable():
        return name
    if len(name) > MAX_NAME:
        raise GraphError(
            f"{what} {quote(name)}: its name has {len(name)} characters, at most {MAX_NAME} are allowed; "
            "shorten it."
        )
    if _UNSAFE.search(name):
        raise GraphError(f"{what} {quote(name)}: its name holds a control character; remove it.")
    return name


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


def check_count(count: int, most: int, what: str, name: str) -> None:
    """Refuse a graph ``name`` with more than ``most`` of ``what``."""
    if count > most:
        raise GraphError(
            f"Graph {quote(name)}: it has {count} {what}, at most {most} are allowed; give a smaller graph."
        )
