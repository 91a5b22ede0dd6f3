"""Output of the commands: text or one JSON object, warnings, a line of progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nona.cli.declared import Printing, load

if TYPE_CHECKING:
    from nona.results.document import Document
    from nona.study.preparation import Study


D = TypeVar("D", bound="Document")


def json_beside(prepared: Study) -> dict[str, object]:
    """Return the notes of a JSON result: warnings of the models, shares that are not counted."""
    from nona.report.times import model_warnings, uncounted_shares
    from nona.study.outcome import model_facts

    facts = model_facts(prepared)
    parts = {"warnings": model_warnings(facts), "uncounted": uncounted_shares(facts)}
    return {key: part for key, part in parts.items() if part}


def told_of_models(prepared: Study) -> dict[str, object]:
    """Say on standard error what of each model is counted; what JSON says of it (:func:`json_beside`)."""
    from nona.sources.lookup import is_file
    from nona.study.outcome import model_facts

    beside = json_beside(prepared)
    for line in cast(list[str], beside.get("warnings", [])):
        print(f"warning: {line}", file=sys.stderr)
    rows = zip(prepared.scenario.workload, model_facts(prepared).items(), strict=True)
    for row, (name, facts) in rows:
        if is_file(prepared.scenario, row.model) and not (facts.warnings or facts.uncounted):
            print(f"{name}: all {facts.with_work:,} kernels are counted, none is unknown", file=sys.stderr)
    return beside


def warn_of_schedulers(prepared: Study) -> None:
    """Print the warnings that belong to the results of the scenario's schedulers to standard error."""
    from nona.study.outcome import cautions_of

    for caution in cautions_of(prepared):
        print(f"warning: {caution}", file=sys.stderr)


def warn_of_interrupt() -> None:
    """Say on standard error, after a line of progress, that what is printed next is not the whole answer."""
    print("\nwarning: interrupted; what follows is what was known by then", file=sys.stderr)


def emit(
    arguments: Printing, report: D, text: Callable[[D], str], beside: Mapping[str, object] | None = None
) -> None:
    """Print a result to standard output; ``beside`` its own fields in JSON."""
    show(arguments.json, report, text, beside)


def show(
    in_json: bool, report: D, text: Callable[[D], str], beside: Mapping[str, object] | None = None
) -> None:
    """Print the report, as :func:`emit` does."""
    whole = {**report.to_json(), **(beside or {})}
    print(json.dumps(whole, allow_nan=False) if in_json else text(report))


def write_study(result: Document, rows: str, html: str, csv: Path | None, html_file: Path | None) -> None:
    """Write a study's files where they were asked for; ``rows`` and ``html`` are places of their makers."""
    from nona.study.exports import write_text

    if csv is not None:
        import pandas as pd

        from nona.report.files import csv_bytes

        write_text(csv, csv_bytes(pd.DataFrame(load(rows)(result))).decode())
    if html_file is not None:
        write_text(html_file, load(html)(result))


EVERY_S = 0.1  # a line with the same text is rewritten no more often
WIDTH = 60


class ProgressLine:
    """Rewrites one line of standard error; silent where that is no terminal, or with ``quiet``."""

    def __init__(self, quiet: bool = False, stream: Any = None) -> None:
        target = sys.stderr if stream is None else stream
        self._stream = None if quiet or not target.isatty() else target
        self._began, self._last, self._text, self._open = time.monotonic(), 0.0, "", False

    @property
    def shown(self) -> bool:
        """True where the line is written."""
        return self._stream is not None

    def tell(self, text: str, fraction: float | None = None) -> None:
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
