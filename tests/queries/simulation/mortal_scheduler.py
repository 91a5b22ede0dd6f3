"""A small system; a scheduler whose process dies in the middle of a run, a stated number of times in all.

Every death takes a file out of a folder, so that its number does not depend on the number of processes.
"""

import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evidence.by_hand import one_task_query, system_of
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.system import BackgroundStream

SYSTEM = system_of(
    [one_task_query("a", 30.0, 0.01, scv=1.0), one_task_query("b", 20.0, 0.02)],
    executors=2,
    background_compute=BackgroundStream(5.0, 0.01, 1.0),
)


def prepared(names=("random", "opportunistic")):
    return [(s, s.prepare(SYSTEM, None, {})) for s in map(get_scheduler, names)]


class Fate(NamedTuple):
    """Deaths left: a file each in ``folder``; they come when at least ``after_s`` has been simulated."""

    folder: str
    after_s: float


def decide(now, query, view, tables, u, out):
    """Everything goes to executor 0; when the time has come, the process dies."""
    out[:] = 0
    if now > tables.after_s and take_one(tables.folder):
        os.kill(os.getpid(), signal.SIGKILL)


def take_one(folder):
    """Whether there was a file left to remove, and it was this process that removed it."""
    for path in Path(folder).iterdir():
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        return True
    return False


def mortal(folder, deaths, after_s, name="mortal"):
    """The scheduler with its tables; ``folder`` is made and holds the deaths."""
    folder.mkdir()
    for death in range(deaths):
        (folder / str(death)).touch()
    scheduler = Scheduler(
        name=name,
        kind="bind",
        network_view=NetworkView.N0,
        decide=decide,
        build=prepared,
        **dict.fromkeys(("summary", "source", "adaptation"), ""),
    )
    return scheduler, SchedulerTables(Fate(str(folder), after_s), 0)


def total_jobs(reports):
    return int(np.sum([len(r.run.query) for r in reports]))
