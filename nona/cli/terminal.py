"""Output to a terminal that does not know all letters."""

from __future__ import annotations

import codecs
import io
import sys

_PLAIN = str.maketrans(
    {
        "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "≤": "<=",
        "≥": ">=", "≈": "~", "±": "+-", "µ": "u", "μ": "u", "²": "^2", "│": "|", "─": "-", "█": "#",
        "’": "'", "‘": "'", "“": '"', "”": '"',
    }
)  # fmt: skip
_NAME = "nona-plain"


def show_any_text() -> None:
    """From now on, letters that standard output and error cannot show are written in plain ones, or as ``?``.

    UTF-8 shows all but halves of surrogate pairs, which names of files may hold.
    """
    codecs.register_error(_NAME, in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_NAME)


def in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """What stands for the letters that cannot be encoded, and where the rest begins.

    >>> in_plain_letters(UnicodeEncodeError("ascii", "a → ü", 2, 3, "not ASCII"))
    ('->', 3)
    >>> in_plain_letters(UnicodeEncodeError("ascii", "a → ü", 4, 5, "not ASCII"))
    ('?', 5)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(letter if letter.isascii() else "?" for letter in found), error.end
