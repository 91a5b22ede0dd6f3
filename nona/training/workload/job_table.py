"""A table of jobs in CSV: columns by name, times and sizes with units."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import get_args

from nona.errors import ScenarioError
from nona.training.model.job import Job, JobKind
from nona.training.workload.rows import Problems, column_places, table_rows
from nona.training.workload.table import MOST_WORKERS
from nona.training.workload.trace import MOST_JOBS, MOST_SECONDS, MOST_STEPS

REQUIRED = ("model", "steps")
OPTIONAL = (
    *("name", "workers", "weight", "slo", "arrival", "entity", "kind"),
    *("rate", "latency_slo", "checkpoint", "region"),
)


def read_job_table(data: bytes, filename: str) -> tuple[Job, ...]:
    """Jobs in CSV: ``model`` and ``steps``, and the columns of :data:`OPTIONAL` in any order.

    ``slo``, ``arrival`` and ``latency_slo`` are times (``90 min``, ``2 h``, or seconds), ``checkpoint`` a
    size, ``rate`` queries per second. An empty cell is the default; a job without a name has its number,
    from 0. Jobs are in order of arrival, those of one instant as in the file.

    Raises
    ------
    ScenarioError
        With all that is wrong: line, value, rule, remedy.

    Examples
    --------
    >>> read_job_table(b"name,model,steps,slo\\na,A3C,500,2 h\\nb,A3C,10,\\n", "jobs.csv")[0].slo_s
    7200.0
    """
    what = f"Table of jobs {filename!r}"
    rows = table_rows(data, what, MOST_JOBS)
    _, header = next(rows, (0, []))
    if not header:
        raise ScenarioError([f"{what}: it is empty; give the header {','.join(REQUIRED)} and rows."])
    place = column_places(header, REQUIRED, OPTIONAL, what)
    problems, jobs, names = Problems(what), list[Job](), dict[str, int]()
    for line, row in rows:
        if len(row) != len(header):
            text = f"{len(row)} cells where the header has {len(header)}; quote cells that hold a comma."
            problems.add(line, text)
        else:
            job = _Row(problems, line, place, row).job(len(jobs))
            if job is not None:
                jobs.append(job)
                if (before := names.setdefault(job.name, line)) != line:
                    problems.add(
                        line, f"name={job.name[:40]!r} is that of line {before}; change one of them."
                    )
        if problems.full:
            break
    if not jobs and not problems.found:
        problems.add(0, "it has no jobs; give at least one row.")
    problems.check()
    return tuple(sorted(jobs, key=lambda job: job.arrival_s))


@dataclass(frozen=True, slots=True)
class _Row:
    problems: Problems
    line: int
    place: Mapping[str, int]
    row: Sequence[str]

    def cell(self, key: str) -> str:
        return self.row[self.place[key]].strip() if key in self.place else ""

    def number(self, key: str, default: float, most: float) -> float:
        if not (text := self.cell(key)) and key not in REQUIRED:
            return default
        value = self.problems.number(self.line, key, text, 0, most)
        if value == 0 and not self.problems.has(self.line):
            self.problems.add(self.line, f"{key}={text[:40]!r} must be above 0; raise it.")
        return value

    def time(self, key: str) -> float | None:
        text = self.cell(key)
        return self.problems.quantity(self.line, key, text, "time", MOST_SECONDS) if text else None

    def text(self, key: str) -> str:
        text = self.cell(key)
        return self.problems.name(self.line, key, text) if text else ""

    def kind(self) -> JobKind:
        text = self.cell("kind") or "training"
        for kind in get_args(JobKind):
            if kind == text:
                return kind  # type: ignore[no-any-return]
        kinds = ", ".join(get_args(JobKind))
        self.problems.add(self.line, f"kind={text[:40]!r} must be one of {kinds}; correct it.")
        return "training"

    def job(self, number: int) -> Job | None:
        """The job of the row; ``None`` where there is a problem."""
        problems, line = self.problems, self.line
        workers, rate, size = self.cell("workers"), self.cell("rate"), self.cell("checkpoint")
        values = {
            "name": self.text("name") or str(number),
            "model": problems.name(line, "model", self.cell("model")),
            "steps": self.number("steps", 0.0, MOST_STEPS),
            "workers": problems.whole(line, "workers", workers, 1, MOST_WORKERS) if workers else 1,
            "weight": self.number("weight", 1.0, 1e15),
            "slo_s": self.time("slo"),
            "arrival_s": self.time("arrival") or 0.0,
            "entity": self.text("entity"),
            "kind": self.kind(),
            "rate": problems.quantity(line, "rate", rate, "rate", 1e9) if rate else 0.0,
            "latency_slo_s": self.time("latency_slo"),
            "checkpoint_bytes": problems.quantity(line, "checkpoint", size, "size", 1e15) if size else 0.0,
            "region": self.text("region"),
        }
        return None if problems.has(line) else Job(**values)  # type: ignore[arg-type]


def write_job_table(jobs: Iterable[Job]) -> str:
    """The table of ``jobs``; :func:`read_job_table` gives them back (times in seconds, sizes in bytes).

    >>> print(write_job_table([Job("a", "A3C", 500, slo_s=60)]).splitlines()[0])
    name,model,steps,workers,weight,slo,arrival,entity,kind,rate,latency_slo,checkpoint,region
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("name", *REQUIRED, *OPTIONAL[1:]))
    for j in jobs:
        writer.writerow(
            (
                *(j.name, j.model, repr(j.steps), j.workers, repr(j.weight), _or_empty(j.slo_s)),
                *(repr(j.arrival_s), j.entity, j.kind, repr(j.rate) if j.rate else ""),
                *(_or_empty(j.latency_slo_s), repr(j.checkpoint_bytes), j.region),
            )
        )
    return out.getvalue()


def _or_empty(value: float | None) -> str:
    return "" if value is None else repr(value)
