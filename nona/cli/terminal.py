"""Output to a terminal that does not know all letters, to a full device, and to a reader that has gone."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys

_PLAIN = str.maketrans(
    {
        "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "≤": "<=",
        "≥": ">=", "≈": "~", "±": "+-", "µ": "u", "μ": "u", "²": "^2", "│": "|", "─": "-", "█": "#",
        "’": "'", "‘": "'", "“": '"', "”": '"',
    }
)  # fmt: skip
_NAME = "nona-plain"
GONE = 141  # the exit status of a program that SIGPIPE ends: 128 + 13


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


def is_output_error(error: OSError) -> bool:
    """Whether a stream could not be written: full, or its reader has gone. An error of a file names the file.

    >>> is_output_error(OSError(28, "No space left on device")), is_output_error(OSError(28, "", "a.csv"))
    (True, False)
    """
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
    return error.filename is None and (full or isinstance(error, BrokenPipeError))


def leave_output() -> None:
    """Write nothing more to standard output: the interpreter would try again at its end, and report that."""
    with contextlib.suppress(OSError):  # a stream that has no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
