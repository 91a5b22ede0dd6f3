"""What all studies share: checks of settings, processes, progress, where a result comes from, rounding."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nona import __version__
from nona.core.document import Document
from nona.core.errors import SimulationError
from nona.core.experiments import Key, RunListener, do_nothing, run_work
from nona.core.text import plain
from nona.core.units import Dimension, quantity_text
from nona.queries.workflows.shipped import choices, now_text, option_name

OnProgress = Callable[[float, str], None]
"""Hears the share of a study that is done, and of what; what it raises ends the work and comes out."""

DIGITS = 8
D = TypeVar("D", bound=Document)
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Pieces(Generic[P, R]):
    """Work that every process receives once; keys are (number of the piece, 0)."""

    pieces: Sequence[P]
    measure: Callable[[P], R]
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[None], None] | None) -> R:
        result = self.measure(self.pieces[key[0]])
        if on_progress is not None:
            on_progress(None)
        return result


def measured(
    pieces: Sequence[P],
    measure: Callable[[P], R],
    name: Callable[[P], str],
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> list[R]:
    """``measure`` of every piece, in their order, by so many processes; each is told of by its ``name``."""
    keys: list[Key] = [(n, 0) for n in range(len(pieces))]
    done: set[Key] = set()

    def report(key: Key, _: None) -> None:
        done.add(key)
        on_progress(len(done) / len(pieces), f"{len(done)} of {len(pieces)}, {name(pieces[key[0]])}")

    results = run_work(_Pieces(pieces, measure), keys, RunListener(report), workers)
    return [results[key] for key in keys]


def check_least(settings: Any) -> None:
    """Refuse a number below its least.

    Raises ``SimulationError`` naming the field, the value and the bound.
    """
    for one in choices(settings):
        value, least = getattr(settings, one.name), one.metadata.get("least")
        if least is not None and isinstance(value, int) and value < least:
            raise SimulationError(
                f"Study: {one.name}={value} must be at least {least}; give a larger number."
            )


def origin(study: str, settings: Any) -> dict[str, Any]:
    """Name, command, version and date of a study's result."""
    return {
        "study": study,
        "command": command_line(study, settings),
        "version": __version__,
        "date": now_text(),
    }


def made_by(study: str, settings: Any) -> dict[str, Any]:
    """Command, version and date of a study that says when it was made."""
    return {"command": command_line(study, settings), "version": __version__, "made": now_text()}


def command_line(study: str, settings: Any) -> str:
    """Return the command that makes a study's results again.

    >>> from evidence.decisions import DecisionSettings
    >>> command_line("decisions", DecisionSettings(jobs=900, networks=("alexnet", "gpt2")))
    'nona study decisions --json --network alexnet --network gpt2 --jobs 900'
    """
    words = ["nona", "study", study, "--json"]
    for one in choices(settings):
        value, dimension = getattr(settings, one.name), one.metadata.get("dimension")
        if value == one.default:
            continue
        for part in value if isinstance(value, tuple) else (value,):
            words += [option_name(one)] if part is True else [option_name(one), _text(part, dimension)]
    return shlex.join(words)


def _text(value: Any, dimension: Dimension | None) -> str:
    if dimension:
        return str(quantity_text(value, dimension))
    return f"{value:g}" if isinstance(value, float) else str(value)


def rounded_result(result: D, digits: int = DIGITS) -> D:
    """Return a result with its floats rounded as :func:`rounded` does it."""
    return type(result).from_json(rounded(result.to_json(), digits))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Plain data with floats rounded to a number of significant digits, for files.

    >>> rounded({"a": [1 / 3, 2, None, float("inf")]}, 3)
    {'a': [0.333, 2, None, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): rounded(v, digits) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v, digits) for v in value]
    if isinstance(value, float):
        kept = plain(value)
        return kept if kept is None else float(f"{kept:.{digits}g}")
    return value
