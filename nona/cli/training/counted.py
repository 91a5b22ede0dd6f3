"""``nona training counted``: jobs that keep their GPUs, under several schedules."""

from __future__ import annotations

import sys
from pathlib import Path

from nona.cli.output import emit
from nona.cli.settings import settings_by_name
from nona.cli.training.options import CountedOptions
from nona.errors import ScenarioError
from nona.foreign.files import read_file
from nona.foreign.limits import MOST_FILE_BYTES
from nona.report.training.counted.text import counted_text
from nona.study.counted.run import CountedRequest, simulate_counted_jobs
from nona.training.counting.job import SHIPPED
from nona.training.counting.schedules import SCHEDULES


def counted(arguments: CountedOptions) -> None:
    """Run the schedules; print a table or JSON, failed checks on standard error."""
    names = tuple(dict.fromkeys(arguments.schedule)) or tuple(SCHEDULES)
    shipped = arguments.workload == SHIPPED
    request = CountedRequest(
        workload=arguments.workload,
        jobs=None if shipped else _read(Path(arguments.workload)),
        schedules=names,
        gpus=arguments.gpus,
        options=settings_by_name(arguments.settings, names),
    )
    report = simulate_counted_jobs(request)
    for failed in report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)
    emit(arguments, report, counted_text)


def _read(path: Path) -> bytes:
    named = f"Workload {str(path)!r}"
    try:
        return read_file(path, named, MOST_FILE_BYTES, lambda text: ScenarioError([text]))
    except FileNotFoundError as error:
        remedy = f"check the path, or choose {SHIPPED}"
        raise ScenarioError([f"{named}: {error.strerror}; {remedy}."]) from None
