"""Execution of a line by a worker: run the task, report its end, keep the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nona.app.jobs.kinds import KINDS
from nona.app.tasks.context import JobContext
from nona.core.compiled.build import is_ready
from nona.core.compiled.families import FAMILIES, prepare_in_background
from nona.core.errors import NonaError
from nona.core.text import plain
from nona.queries.simulation.compiled.preparation import warm
from nona.queries.simulation.run import Cancelled
from nona.queries.workflows.cache import PreparationCache


def run_task(spec: Mapping[str, Any], context: JobContext) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``."""
    task = KINDS.find(str(spec.get("kind"))).task()
    with _compiling_reported(context):
        result: dict[str, Any] = plain(task(spec, context).to_json())
    return result


COMPILING = "Compiling machine code for this machine, once: a minute or two"


@contextmanager
def _compiling_reported(context: JobContext) -> Iterator[None]:
    """Report it while code is compiled that is not yet kept on disk."""
    from numba.core import event  # Numba takes most of a second to import

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            context.emit({"text": COMPILING})

        def on_end(self, event: object) -> None:
            """Do nothing: the next report of the work replaces the text."""

    with event.install_listener("numba:compile", Listener()):
        yield


class WorkerLoop:
    """Runs jobs one after the other; holds nothing from one to the next but caches keyed by content."""

    def __init__(self, stopped: set[str], write: Callable[[dict[str, Any]], None]) -> None:
        self.loaded = self._warm = False
        self._stopped, self._write = stopped, write
        self._cache = PreparationCache()
        for kind in KINDS.values():  # with the imports done, a job starts at once
            kind.task()

    def load(self) -> None:
        """Load the engine of queries once its machine code is there; have a process compile what is not."""
        if not self._warm and is_ready():
            warm()
            self._warm = True
        self.loaded = prepare_in_background(*FAMILIES) and self._warm

    def serve(self, spec: Mapping[str, Any], used_bytes: Callable[[], int]) -> bool:
        """Run one job to its last line; returns whether the process is fit for another."""
        job = str(spec.get("id", ""))
        fit = True
        try:
            last: dict[str, Any] = {"result": run_task(spec, self._context(job))}
        except Cancelled:
            last = {"stopped": True}
        except NonaError as error:
            last = {"error": str(error)}
        except MemoryError:
            last = {"error": "Job: it needs more memory than this machine has; make it smaller."}
            fit = False
        self._stopped.clear()  # only this job can have been meant
        self._write({"id": job, "bytes": used_bytes(), **last})
        return fit

    def _context(self, job: str) -> JobContext:
        def check() -> None:
            if job in self._stopped:
                raise Cancelled

        def emit(message: dict[str, Any]) -> None:
            check()
            self._write({"id": job, **message})

        return JobContext(emit, check, self._cache)
