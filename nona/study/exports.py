"""Files of a run, the same from the command line, from Python and from the app."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nona.errors import ReportError
from nona.report.simulations.report import job_table
from nona.report.simulations.timeline import chrome_trace, trace_text
from nona.results.simulation_charts import SimulationOutcome
from nona.simulation.records import Records
from nona.study.preparation import Study
from nona.study.simulation import SimulationResult
from nona.tables import safe_cell

if TYPE_CHECKING:
    import pandas as pd

    from nona.study.serverless.run import ServerlessResult


PARQUET = (".parquet", ".pq")
CALLS_CSV, CALLS_PARQUET = "calls.csv", "calls.parquet"
JOBS_CSV, JOBS_PARQUET, REPORT, TRACE = "jobs.csv", "jobs.parquet", "report.json", "trace.json"
Runs = Mapping[str, Sequence[Records]]


def write_simulation(
    folder: Path, study: Study, result: SimulationResult, outcome: SimulationOutcome
) -> None:
    """Job tables, report and trace of a simulation in ``folder``, under the names above.

    ``outcome`` is that of :func:`~nona.study.outcome.simulation_outcome`; the run must have kept a timeline
    for the trace to hold anything.
    """
    table = job_table((r for records in result.records.values() for r in records), study.scenario.labels)
    for name in (JOBS_CSV, JOBS_PARQUET):
        write_job_table(folder / name, table)
    write_text(folder / REPORT, json.dumps(outcome.report.to_json(), indent=2))
    write_trace(folder / TRACE, study, result.records)


def write_records(path: Path, runs: Runs, names: Sequence[str]) -> None:
    """One row per recorded job: Parquet where ``path`` ends in ``.parquet`` or ``.pq``, else CSV.

    In CSV a model's name that a spreadsheet would take for a formula gets an apostrophe in front.

    Raises ``ReportError`` when the file cannot be written.
    """
    write_job_table(path, job_table((r for records in runs.values() for r in records), names))


def write_job_table(path: Path, table: pd.DataFrame) -> None:
    """:func:`write_records` of a table that is there already."""
    with _replaced(path) as place:
        if path.suffix.lower() in PARQUET:
            table.to_parquet(place, index=False)
            return
        for column in ("model", "application"):  # names that people gave
            if column in table:
                safe = {name: safe_cell(name) for name in table[column].unique()}
                table = table.assign(**{column: table[column].map(safe)})
        table.to_csv(place, index=False)


def write_trace(path: Path, study: Study, runs: Runs) -> None:
    """The first jobs of every scheduler in Chrome's trace-event format.

    Raises ``ReportError`` when the file cannot be written.
    """
    write_text(path, trace_text(chrome_trace(runs, study.system, study.scenario.name)))


def write_serverless(folder: Path, result: ServerlessResult) -> None:
    """Call tables and trace of a serverless run in ``folder``, under the names above."""
    from nona.report.serverless.exports import call_table

    table = call_table(result.records, result.system)
    for name in (CALLS_CSV, CALLS_PARQUET):
        write_job_table(folder / name, table)
    write_serverless_trace(folder / TRACE, result)


def write_serverless_trace(path: Path, result: ServerlessResult) -> None:
    """The batches of the first calls of every policy in Chrome's trace-event format.

    Raises ``ReportError`` when the file cannot be written.
    """
    from nona.report.serverless.exports import serverless_trace

    trace = serverless_trace(result.records, result.system, result.setting.name)
    write_text(path, trace_text(trace))


def check_places(*paths: Path | None) -> None:
    """Raise :class:`~nona.errors.ReportError` if a file could not be written, before the work starts.

    >>> check_places(None, Path("/nowhere/jobs.csv"))
    Traceback (most recent call last):
    nona.errors.ReportError: File '/nowhere/jobs.csv': its folder does not exist; create it or choose another.
    """
    for path in paths:
        if path is not None:
            try:
                _check(path)
            except OSError as error:
                raise _unwritten(path, error) from None


def _check(path: Path) -> None:
    """Open the same file as :func:`_replaced`, and leave nothing behind.

    A device or a pipe is not opened: a pipe that nobody reads yet would wait for its reader.
    """
    if not path.parent.is_dir():
        raise ReportError(f"File {str(path)!r}: its folder does not exist; create it or choose another.")
    if path.is_dir():
        raise ReportError(f"File {str(path)!r}: it is a folder; name a file.")
    if _special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    if path.exists():
        with path.open("ab"):
            pass
    place = _beside(path)
    place.touch(exist_ok=False)
    place.unlink()


def _special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _beside(path: Path) -> Path:
    """A new name in the folder of the file that ``path`` leads to: a link stays a link."""
    return path.resolve().parent / f".nona-{secrets.token_hex(8)}.tmp"


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A place to write to, which becomes ``path`` at the end: an older file stays whole until then.

    A device or a pipe is written to directly.
    """
    place = path if _special(path) else _beside(path)
    try:
        yield place
        if place != path:
            if path.exists():
                shutil.copymode(path, place)
            place.replace(path.resolve())
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        if place != path:
            place.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8; raises :class:`~nona.errors.ReportError` where that cannot be done.

    >>> write_text(Path("/nowhere/report.html"), "")
    Traceback (most recent call last):
    nona.errors.ReportError: File '/nowhere/report.html': No such file or directory; choose another place.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data``; raises :class:`~nona.errors.ReportError` where that cannot be done."""
    with _replaced(path) as place:
        place.write_bytes(data)


def _unwritten(path: Path, error: OSError) -> ReportError:
    return ReportError(f"File {str(path)!r}: {error.strerror or error}; choose another place.")
