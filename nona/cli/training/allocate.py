"""``nona training allocate``: one question to one policy."""

from __future__ import annotations

import sys

from nona.cli.output import emit
from nona.cli.training.options import AllocateOptions
from nona.errors import ScenarioError
from nona.foreign.files import read_file
from nona.report.training.allocation_text import allocation_text
from nona.scenario.limits import MAX_BYTES
from nona.scenario.training_question import parse_question
from nona.study.training.allocation import answer


def allocate(arguments: AllocateOptions) -> None:
    """Read the file, ask the policy, print shares; warnings go to standard error."""
    what = f"Question {str(arguments.file)!r}"
    try:
        data = read_file(arguments.file, what, MAX_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        raise ScenarioError([f"{what}: {error.strerror}; check the path."]) from None
    question = parse_question(data, str(arguments.file))
    options = {"space_sharing": True} if arguments.space_sharing else {}
    report = answer(question, arguments.policy, options)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    emit(arguments, report, allocation_text)
