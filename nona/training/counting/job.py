"""Jobs that keep their GPUs: those of Tiresias, and a user's own in CSV."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from nona.errors import ScenarioError
from nona.training.workload.rows import Problems, column_places, table_rows

COLUMNS = ("name", "arrival_s", "gpus", "duration_s")
SHIPPED = "tiresias"
MOST_JOBS = 10_000
MOST_SECONDS = 10**9
MOST_GPUS = 10_000


@dataclass(frozen=True, slots=True)
class CountedJob:
    """Needs ``gpus`` GPUs for ``duration_s`` seconds, in one piece or several."""

    name: str
    arrival_s: int
    gpus: int
    duration_s: int


@cache
def tiresias_jobs() -> tuple[CountedJob, ...]:
    """The 60 jobs that ship with Tiresias' public simulator.

    >>> len(tiresias_jobs()), tiresias_jobs()[1]
    (60, CountedJob(name='vgg11-1', arrival_s=30, gpus=8, duration_s=147))

    Source: Gu et al., Tiresias, NSDI 2019, public simulator.
    """
    data = files("nona.training.counting").joinpath("data/tiresias.csv").read_bytes()
    return read_counted_jobs(data, "Tiresias' jobs")


def read_counted_jobs(data: bytes, what: str) -> tuple[CountedJob, ...]:
    """Jobs from CSV with the columns ``name, arrival_s, gpus, duration_s``, by arrival; whole seconds.

    Jobs of one time stay in the order of the file.

    Raises
    ------
    ScenarioError
        With all that is wrong: line, value, rule, remedy.
    """
    rows = table_rows(data, what, MOST_JOBS)
    _, header = next(rows, (0, []))
    place = column_places(header, COLUMNS, (), what)
    problems, jobs = Problems(what), dict[str, CountedJob]()
    for line, row in rows:
        if len(row) != len(header):
            problems.add(line, f"{len(row)} cells where the header has {len(header)}; correct it.")
        else:
            job = _job(line, {key: row[i] for key, i in place.items()}, problems)
            if job.name in jobs:
                problems.add(line, f"name={job.name[:40]!r} is taken; rename it.")
            jobs[job.name] = job
        if problems.full:
            break
    problems.check()
    if not jobs:
        raise ScenarioError([f"{what}: it has no jobs; give at least one row."])
    return tuple(sorted(jobs.values(), key=lambda job: job.arrival_s))


def _job(line: int, cells: dict[str, str], problems: Problems) -> CountedJob:
    return CountedJob(
        name=problems.name(line, "name", cells["name"]),
        arrival_s=problems.whole(line, "arrival_s", cells["arrival_s"], 0, MOST_SECONDS),
        gpus=problems.whole(line, "gpus", cells["gpus"], 1, MOST_GPUS),
        duration_s=problems.whole(line, "duration_s", cells["duration_s"], 1, MOST_SECONDS),
    )
