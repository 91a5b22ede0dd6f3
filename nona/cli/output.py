"""Output of the commands: text or one JSON object, warnings, a line of progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from nona.cli.declared import PrintOptions

if TYPE_CHECKING:
    from nona.core.document import Document
    from nona.queries.workflows.preparation import PreparedSystem


D = TypeVar("D", bound="Document")


def warn_of_models(prepared: PreparedSystem) -> dict[str, object]:
    """Print what of each model is not counted, and how GPUs cannot be shared, to standard error.

    Returns what a JSON result says of it: ``warnings``, and the share by model as ``uncounted``.
    """
    from nona.cluster.hardware.executor import sharing_warnings
    from nona.models.times_report import model_warnings, uncounted_shares
    from nona.queries.workflows.facts import model_facts

    models = model_facts(prepared)
    warnings, uncounted = model_warnings(models), uncounted_shares(models)
    warnings += sharing_warnings(prepared.cluster.classes)
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    return ({"warnings": warnings} if warnings else {}) | ({"uncounted": uncounted} if uncounted else {})


def warn_of_schedulers(prepared: PreparedSystem) -> None:
    """Print the warnings that belong to the results of the scenario's schedulers to standard error."""
    from nona.queries.workflows.outcome import cautions_of

    for caution in cautions_of(prepared):
        print(f"warning: {caution}", file=sys.stderr)


def warn_of_interrupt() -> None:
    """Say on standard error, after a line of progress, that what is printed next is not the whole answer."""
    print("\nwarning: interrupted; what follows is what was known by then", file=sys.stderr)


def emit(
    arguments: PrintOptions, report: D, text: Callable[[D], str], beside: Mapping[str, object] | None = None
) -> None:
    """Print a result to standard output; ``beside`` its own fields in JSON."""
    whole = {**report.to_json(), **(beside or {})}
    print(json.dumps(whole, allow_nan=False) if arguments.json else text(report))


EVERY_S = 0.1  # a line with the same text is rewritten no more often
WIDTH = 60


class ProgressReport:
    """Rewrites one line of standard error; silent where that is no terminal, or with ``quiet``."""

    def __init__(self, quiet: bool = False, stream: Any = None) -> None:
        target = sys.stderr if stream is None else stream
        self._stream = None if quiet or not target.isatty() else target
        self._began, self._last, self._text, self._open = time.monotonic(), 0.0, "", False

    @property
    def shown(self) -> bool:
        """True where the line is written."""
        return self._stream is not None

    def report(self, text: str, fraction: float | None = None) -> None:
        """Write what is done now, after its share of the work, or after the seconds that have passed."""
        now = time.monotonic()
        done = fraction is not None and fraction >= 1
        fresh = now - self._last >= EVERY_S or text != self._text or done
        if self._stream is None or not fresh:
            return
        self._last, self._text, self._open = now, text, not done
        head = f"{now - self._began:5.0f} s" if fraction is None else f"{fraction:6.1%}"
        end = "\n" if done else ""
        print(f"\r{head}  {text:<{WIDTH}}", end=end, file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line, so that what follows begins on a new one."""
        if self._open and self._stream is not None:
            print(file=self._stream, flush=True)
        self._open = False
