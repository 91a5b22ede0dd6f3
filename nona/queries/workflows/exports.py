"""Files of a run, the same from the command line, from Python and from the app."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nona.core.chrome_trace import trace_text
from nona.core.output_files import write_job_table, write_text
from nona.queries.chart_data import SimulationOutcome
from nona.queries.report.report import job_table
from nona.queries.report.timeline import chrome_trace
from nona.queries.simulation.records import Records
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.simulation import SimulationResult

if TYPE_CHECKING:
    pass


JOBS_CSV, JOBS_PARQUET, REPORT, TRACE = "jobs.csv", "jobs.parquet", "report.json", "trace.json"
Runs = Mapping[str, Sequence[Records]]


def write_simulation(
    folder: Path, prepared: PreparedSystem, result: SimulationResult, outcome: SimulationOutcome
) -> None:
    """Job tables, report and trace of a simulation in ``folder``, under the names above.

    ``outcome`` is that of :func:`~nona.queries.workflows.outcome.simulation_outcome`; the run must have
    kept a timeline for the trace to hold anything.
    """
    table = job_table((r for records in result.records.values() for r in records), prepared.scenario.labels)
    for name in (JOBS_CSV, JOBS_PARQUET):
        write_job_table(folder / name, table)
    write_text(folder / REPORT, json.dumps(outcome.report.to_json(), indent=2))
    write_trace(folder / TRACE, prepared, result.records)


def write_records(path: Path, runs: Runs, names: Sequence[str]) -> None:
    """One row per recorded job: Parquet where ``path`` ends in ``.parquet`` or ``.pq``, else CSV.

    In CSV a model's name that a spreadsheet would take for a formula gets an apostrophe in front.

    Raises ``ReportError`` when the file cannot be written.
    """
    write_job_table(path, job_table((r for records in runs.values() for r in records), names))


def write_trace(path: Path, prepared: PreparedSystem, runs: Runs) -> None:
    """Write the first jobs of every scheduler in Chrome's trace-event format.

    Raises ``ReportError`` when the file cannot be written.
    """
    write_text(path, trace_text(chrome_trace(runs, prepared.system, prepared.scenario.name)))
