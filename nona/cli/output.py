"""What a command prints: one JSON object with ``--json``, else text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TypeVar

from nona.cli.options import ListOptions
from nona.report.inputs.given_times import hardware_warnings
from nona.results.document import Document
from nona.study import Study
from nona.study.outcome import cautions_of, model_facts

D = TypeVar("D", bound=Document)


def warn_of_hardware(prepared: Study) -> None:
    """Name on standard error the models whose stated times are the same on all hardware."""
    for warning in hardware_warnings({n: m.given for n, m in model_facts(prepared).items()}):
        print(f"warning: {warning}", file=sys.stderr)


def warn_of_schedulers(prepared: Study) -> None:
    """What to read beside the results of the scenario's schedulers, on standard error."""
    for caution in cautions_of(prepared):
        print(f"warning: {caution}", file=sys.stderr)


def warn_of_interrupt() -> None:
    """Say on standard error, after a line of progress, that what is printed next is not the whole answer."""
    print("\nwarning: interrupted; what follows is what was known by then", file=sys.stderr)


def emit(arguments: ListOptions, report: D, text: Callable[[D], str]) -> None:
    """Print a result to standard output."""
    print(json.dumps(report.to_json(), allow_nan=False) if arguments.json else text(report))
