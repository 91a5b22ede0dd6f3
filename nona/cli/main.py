"""The program: all commands, errors as a line and an exit status, odd terminals.

With ``--json`` a command writes one JSON object to standard output and nothing else; progress and
errors go to standard error. Exit status 0 only on success, 2 for bad input with a one-line reason, 1 if
standard output cannot be written, 141 without a word if its reader has gone (``nona devices | head -1``).
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from collections.abc import Sequence

import click
from click.exceptions import Exit
from click.shell_completion import shell_complete

from nona import __version__
from nona.app.server.ending import INTERRUPTED
from nona.cli.commands import deployment, models, saved, scenarios, studies
from nona.cli.declared import CONTEXT, Commands, made_by
from nona.core.errors import NonaError, ScenarioError
from nona.core.family import families
from nona.core.registry import load
from nona.models.graph.model import MissingDimensions

_PLAIN = str.maketrans(
    {
        "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "≤": "<=",
        "≥": ">=", "≈": "~", "±": "+-", "µ": "u", "μ": "u", "²": "^2", "│": "|", "─": "-", "█": "#",
        "’": "'", "‘": "'", "“": '"', "”": '"',
    }
)  # fmt: skip
_NAME = "nona-plain"
GONE = 141  # the exit status of a program that SIGPIPE ends: 128 + 13


def _show_any_text() -> None:
    """From now on, letters that standard output and error cannot show are written in plain ones, or as ``?``.

    UTF-8 shows all but halves of surrogate pairs, which names of files may hold.
    """
    codecs.register_error(_NAME, _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_NAME)


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Replace letters that cannot be encoded, and return where the rest begins.

    >>> _in_plain_letters(UnicodeEncodeError("ascii", "a → ü", 2, 3, "not ASCII"))
    ('->', 3)
    >>> _in_plain_letters(UnicodeEncodeError("ascii", "a → ü", 4, 5, "not ASCII"))
    ('?', 5)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    replaced = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(letter if letter.isascii() else "?" for letter in replaced), error.end


def _is_output_error(error: OSError) -> bool:
    """Return whether a stream could not be written: full, or its reader gone. Errors of files name the file.

    >>> _is_output_error(OSError(28, "No space left on device")), _is_output_error(OSError(28, "", "a.csv"))
    (True, False)
    """
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
    return error.filename is None and (full or isinstance(error, BrokenPipeError))


def _leave_output() -> None:
    """Write nothing more to standard output: the interpreter would try again at its end, and report that."""
    with contextlib.suppress(OSError):  # a stream that has no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _made(command: type | click.Command) -> click.Command:
    return command if isinstance(command, click.Command) else made_by(command)


COMMANDS = (
    made_by(scenarios.AppOptions),
    *(_made(load(place)) for family in families() for place in family.commands),
    made_by(scenarios.BundleOptions),
    made_by(deployment.ImportOptions),
    made_by(deployment.ExportOptions),
    saved.saved,
    studies.study,
    made_by(models.SchedulersOptions),
    made_by(models.DevicesOptions),
    models.completion,
)


@click.group(
    "nona",
    Commands,
    help="Plan how ML inference queries are split over a shared GPU cluster.",
    no_args_is_help=False,
    context_settings=CONTEXT,
)
@click.version_option(__version__, message="nona %(version)s")
def nona() -> None:
    """Run the program; a command does the work."""


for _command in COMMANDS:
    nona.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    _show_any_text()
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            sys.stdout.flush()  # what cannot be written is found here, not when the interpreter ends
        return status
    except OSError as error:
        if not _is_output_error(error):
            raise
        _leave_output()
        if isinstance(error, BrokenPipeError):
            return GONE
        print(f"nona: output cannot be written: {error.strerror}; choose another place", file=sys.stderr)
        return 1


def _run(argv: list[str]) -> int:
    asked = os.environ.get(models.COMPLETE)
    if asked:
        return shell_complete(nona, {}, "nona", models.COMPLETE, asked)
    try:
        with nona.make_context("nona", argv) as context:
            nona.invoke(context)
    except Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        print(_refusal(error), file=sys.stderr)
        return 2
    except NonaError as error:
        print(_reason(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nona: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _reason(error: NonaError) -> str:
    """One line for programs; in a terminal a line for each problem of a scenario."""
    if isinstance(error, MissingDimensions):
        return f"nona: {error} Each with --symbol NAME=SIZE."
    problems = error.problems if isinstance(error, ScenarioError) else ()
    if len(problems) < 2 or not sys.stderr.isatty():
        return f"nona: {error}"
    return "\n  ".join([f"nona: {len(problems)} problems:", *problems])


def _refusal(error: click.UsageError) -> str:
    """Format an error in the arguments as one line."""
    where = error.ctx.command_path if error.ctx else "nona"
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"{where}: {text[:1].lower()}{text[1:]}; see `{where} --help`"


if __name__ == "__main__":
    sys.exit(main())
