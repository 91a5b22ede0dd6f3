"""Names from files, made fit for one-line messages: clipped, quoted, without control characters."""

from __future__ import annotations

import re

from nona.errors import GraphError

MAX_NAME = 2_000
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quote(value: object, width: int = 60) -> str:
    """``value`` in quotes on one line, at most ``width`` characters of it.

    >>> quote("a" * 100, 5), quote("two\\nlines"), quote(3)
    ("'aaaaa…'", "'two\\\\nlines'", '3')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= width else value[:width] + "…")
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"a number of {value.bit_length()} bits"  # its decimal form may be refused by Python
    text = one_line(repr(value))
    return text if len(text) <= width else text[:width] + "…"


def one_line(text: object, width: int = 200) -> str:
    """``text`` with every run of white space and control characters turned into one space.

    >>> one_line("first\\n  second")
    'first second'
    """
    flat = re.sub(r"\s+", " ", _UNSAFE.sub(" ", str(text))).strip()
    return flat if len(flat) <= width else flat[:width] + "…"


def check_name(name: str, what: str) -> str:
    """``name`` itself, if it is fit to identify something.

    Markup is allowed (whoever shows a name escapes it); control characters and lone surrogates
    cannot be shown or saved.

    Raises
    ------
    GraphError
        When ``name`` is longer than 2,000 characters or holds a control character.
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
