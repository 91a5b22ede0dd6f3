"""Jobs in files: Gavel's trace format, and a table in CSV.

Columns: model, command, working directory, name of the flag for steps, needs data (0 or 1), steps in all,
GPUs at a time, weight, SLO (below 0: none), arrival in seconds. The second to the fifth are for running jobs,
and not needed here. The SLO is a multiple of the job's duration on a V100. Jobs are called by their number,
from 0, in order of arrival. Source: Gavel (stanford-futuredata/gavel, c4fa400), MIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar, get_args

from nona.core.errors import ScenarioError
from nona.core.rows import FileProblems, TableRow, TextTable, file_text
from nona.training.system import JobKind, Throughputs, TrainingJob
from nona.training.throughput_table import MOST_WORKERS

V = TypeVar("V")
MOST_JOBS = 100_000
MOST_STEPS = 1e15
MOST_SECONDS = 1e9
COLUMNS = 10
REFERENCE_GPU = "v100"


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A line of a trace; ``slo_factor``: deadline over the duration on a V100, ``None`` for none."""

    model: str
    steps: float
    workers: int = 1
    weight: float = 1.0
    slo_factor: float | None = None
    arrival_s: float = 0.0


def read_trace(data: bytes, filename: str) -> tuple[TraceJob, ...]:
    r"""Return the jobs of a trace.

    >>> read_trace(b"A3C\tpython3 main.py\trl\t-n\t0\t500\t1\t1\t-1.000000\t60\n", "a.trace")
    (TraceJob(model='A3C', steps=500.0, workers=1, weight=1.0, slo_factor=None, arrival_s=60.0),)
    """
    what = f"Trace {filename!r}"
    problems = FileProblems(what)
    jobs: list[TraceJob] = []
    last_s = 0.0
    for line, text in enumerate(file_text(data, what).split("\n"), start=1):
        if not text.strip():
            continue
        cells = text.rstrip("\r").split("\t")
        if len(cells) != COLUMNS:
            problems.add(
                line, f"{len(cells)} columns where {COLUMNS} must be, separated by tabs; correct it."
            )
        elif len(jobs) >= MOST_JOBS:
            problems.add(line, f"there are more than {MOST_JOBS:,} jobs; give fewer.")
            break
        else:
            jobs.append(_job(problems, line, cells))
            if jobs[-1].arrival_s < last_s and not problems.has(line):
                why = f"arrival={cells[9][:40]!r} must not be before that of the job above; sort the lines."
                problems.add(line, why)
            last_s = max(last_s, jobs[-1].arrival_s)
        if problems.full:
            break
    if not jobs and not problems.texts:
        problems.add(0, "it has no jobs; give at least one line.")
    problems.check()
    return tuple(jobs)


def _job(problems: FileProblems, line: int, cells: list[str]) -> TraceJob:
    model, _, _, _, needs_data, steps, workers, weight, slo, arrival = cells
    if needs_data not in ("0", "1"):
        problems.add(line, f"needs data={needs_data[:40]!r} must be 0 or 1; correct it.")
    factor = problems.number(line, "SLO", slo, -1e15, 1e15)
    return TraceJob(
        problems.name(line, "model", model),
        _above_0(problems, line, "steps", steps, MOST_STEPS),
        problems.whole(line, "scale factor", workers, 1, MOST_WORKERS),
        _above_0(problems, line, "weight", weight, 1e15),
        factor if factor >= 0 else None,
        problems.number(line, "arrival", arrival, 0, MOST_SECONDS),
    )


def _above_0(problems: FileProblems, line: int, key: str, text: str, most: float) -> float:
    value = problems.number(line, key, text, 0, most)
    if value == 0 and not problems.has(line):
        problems.add(line, f"{key}={text[:40]!r} must be above 0; raise it.")
    return value or 1.0


def write_trace(jobs: Iterable[TraceJob]) -> str:
    r"""Return the text of a trace; :func:`read_trace` gives exactly ``jobs`` back.

    >>> write_trace([TraceJob("A3C", 500, arrival_s=0.5)])
    'A3C\t-\t-\t-\t0\t500\t1\t1\t-1\t0.5\n'
    """
    return "".join(
        "\t".join(
            (
                *(job.model, "-", "-", "-", "0", _number(job.steps), str(job.workers), _number(job.weight)),
                *(_number(-1 if job.slo_factor is None else job.slo_factor), _number(job.arrival_s)),
            )
        )
        + "\n"
        for job in jobs
    )


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def reference_rate(table: Throughputs, model: str, workers: int) -> float:
    """Return steps per second on a V100, to which durations refer; where it has no rate, on the fastest GPU.

    0 when the model cannot run on so many GPUs at all.
    """
    if rate := table.rate(REFERENCE_GPU, model, workers):
        return rate
    return max((table.rate(gpu, model, workers) for gpu in table.provenance), default=0.0)


def trace_jobs(jobs: Iterable[TraceJob], table: Throughputs, filename: str = "") -> tuple[TrainingJob, ...]:
    """Jobs with deadlines in seconds: SLO × steps / rate on a V100 (:func:`reference_rate`).

    >>> from nona.training.throughput_table import shipped_throughputs
    >>> (job,) = trace_jobs([TraceJob("A3C", 7175.767, slo_factor=2)], shipped_throughputs())
    >>> job.name, round(job.slo_s)
    ('0', 2000)
    """
    problems = FileProblems(f"Trace {filename!r}")
    training_jobs = []
    for number, job in enumerate(jobs):
        slo_s = None
        if job.slo_factor is not None:
            rate = reference_rate(table, job.model, job.workers)
            if rate <= 0:
                why = f"job {number} has an SLO, but {job.model!r} has no rate on {job.workers} GPUs"
                problems.add(0, f"{why} to measure it by; set its SLO to -1.")
                continue
            slo_s = job.slo_factor * job.steps / rate
        training_jobs.append(
            TrainingJob(str(number), job.model, job.steps, job.workers, job.weight, slo_s, job.arrival_s)
        )
    problems.check()
    return tuple(training_jobs)


def is_trace(filename: str) -> bool:
    """Return whether a file of jobs is a trace in Gavel's format rather than CSV: by its ending.

    >>> is_trace("small.trace"), is_trace("jobs.CSV")
    (True, False)
    """
    return not filename.lower().endswith(".csv")


LENGTHS = (("model", "steps"), ("hours", "gpu"))
"""Columns of which a table needs one pair: steps of a known model, or hours on a stated GPU."""
OPTIONAL = (
    *("name", "workers", "weight", "slo", "arrival", "entity", "kind"),
    *("rate", "latency_slo", "checkpoint", "region"),
)
TEMPLATE = """# A row per job. hours: its time on the GPUs (workers) of the type in gpu.
# Instead of hours and gpu: steps, of a model of the table of throughputs. Optional columns:
# weight, slo (deadline: 90 min, 2 h), entity (team), kind, rate, latency_slo, checkpoint, region.
name,hours,gpu,workers,arrival,slo
fine-tune,6,a100-40gb,1,0 min,12 h
pretrain,30,a100-40gb,8,20 min,
sweep,2.5,v100,1,45 min,
"""
"""A table of jobs to begin with; as it stands it can be run."""


def read_job_table(data: bytes, filename: str) -> tuple[TrainingJob, ...]:
    r"""Jobs in CSV: ``model`` and ``steps``, or ``hours`` and ``gpu``, and the columns of :data:`OPTIONAL`.

    A job has steps of a model, or the hours that it takes on its ``workers`` GPUs of one type. ``slo``,
    ``arrival`` and ``latency_slo`` are times (``90 min``, ``2 h``, or seconds), ``checkpoint`` a size,
    ``rate`` queries per second. An empty cell is the default; a job without a name has its number, from 0.
    Jobs are in order of arrival, those of one instant as in the file.

    >>> read_job_table(b"name,model,steps,slo\na,A3C,500,2 h\nb,A3C,10,\n", "jobs.csv")[0].slo_s
    7200.0
    >>> [(job.name, job.steps, job.timed_on) for job in read_job_table(TEMPLATE.encode(), "jobs.csv")][0]
    ('fine-tune', 21600.0, 'a100-40gb')
    """
    table, names = TextTable(data, f"Table of jobs {filename!r}", MOST_JOBS), dict[str, int]()
    if not table.header:
        raise ScenarioError([f"{table.what}: it is empty; give the header {','.join(LENGTHS[1])} and rows."])
    timed, stepped = "hours" in table.header, "steps" in table.header
    if not (timed or stepped):
        columns, pairs = ", ".join(table.header)[:80], " or ".join(" and ".join(p) for p in LENGTHS[::-1])
        why = f"{table.what}: no column of {columns} says how long a job takes; give {pairs}."
        raise ScenarioError([why])
    required = () if timed and stepped else LENGTHS[timed]
    others = [*OPTIONAL, *(column for pair in LENGTHS for column in pair if column not in required)]

    def job(line: TableRow) -> TrainingJob | None:
        entered = _table_job(line, str(len(names)))
        if entered is not None and (before := names.setdefault(entered.name, line.number)) != line.number:
            line.add(f"name={entered.name[:40]!r} is that of line {before}; change one of them.")
        return entered

    jobs = table.read(required, others, job, "it has no jobs; give at least one row.")
    return tuple(sorted(jobs, key=lambda job: job.arrival_s))


def _table_job(line: TableRow, number: str) -> TrainingJob | None:
    """Return the job of the row, named by its number by default; ``None`` where there is a problem."""

    def given(key: str, read: Callable[[str], V], default: V) -> V:
        return read(key) if line.cell(key) else default

    def above_0(key: str, most: float) -> float:
        value = line.value(key, most)
        if value == 0 and not line.wrong:
            line.add(f"{key}={line.cell(key)[:40]!r} must be above 0; raise it.")
        return value

    def time(key: str) -> float | None:
        return line.quantity(key, "time", MOST_SECONDS)

    timed = bool(line.cell("hours"))
    if timed and line.cell("steps"):
        line.add("steps and hours both say how long the job is; give one of them.")
    kind = line.cell("kind") or "training"
    if kind not in get_args(JobKind):
        line.add(f"kind={kind[:40]!r} must be one of {', '.join(get_args(JobKind))}; correct it.")
    values = {
        "name": given("name", line.name, number),
        "model": given("model", line.name, "stated hours") if timed else line.name("model"),
        "steps": 3600.0 * above_0("hours", MOST_SECONDS / 3600) if timed else above_0("steps", MOST_STEPS),
        "timed_on": line.name("gpu") if timed else "",
        "workers": given("workers", lambda key: line.whole(key, MOST_WORKERS), 1),
        "weight": given("weight", lambda key: above_0(key, 1e15), 1.0),
        "slo_s": given("slo", time, None),
        "arrival_s": time("arrival") if line.cell("arrival") else 0.0,
        "entity": given("entity", line.name, ""),
        "kind": kind,
        "rate": given("rate", lambda key: line.quantity(key, "rate", 1e9), 0.0),
        "latency_slo_s": given("latency_slo", time, None),
        "checkpoint_bytes": given("checkpoint", lambda key: line.quantity(key, "size", 1e15), 0.0),
        "region": given("region", line.name, ""),
    }
    return None if line.wrong else TrainingJob(**values)  # type: ignore[arg-type]
