"""The study's unit of work: a cell, placed and simulated in any process; results do not depend on where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nona.simulation.pool import Key
from nona.simulation.workers import ProcessPool
from nona.study.decisions.cells import Cell
from nona.study.decisions.measure import Size, measure
from nona.study.decisions.workloads import workload_table

Task = tuple[str, Cell]  # a workload's name, and a cell


@dataclass(frozen=True, slots=True)
class Cells:
    """What every process gets once; keys are (number of the task, 0)."""

    tasks: tuple[Task, ...]
    size: Size
    seed: int
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[str], None] | None) -> dict[str, Any]:
        """The row of one cell."""
        name, cell = self.tasks[key[0]]
        row = {"network": name, "link": cell.link, "background": cell.background, "load": cell.load}
        row |= measure(workload_table()[name], cell, self.size, self.seed)
        if on_progress is not None:
            on_progress(name)
        return row


class _Heard:
    """Counts the cells that are done."""

    def __init__(self, on_progress: Callable[[int, str], None]) -> None:
        self._done: set[Key] = set()
        self._on_progress = on_progress

    def report(self, key: Key, name: str) -> None:
        """A cell is done."""
        self._done.add(key)
        self._on_progress(len(self._done), name)

    def repeat(self, key: Key) -> None:
        """A cell's process was lost; it begins anew."""


def run_cells(
    work: Cells, workers: int = 1, on_progress: Callable[[int, str], None] = lambda done, name: None
) -> list[dict[str, Any]]:
    """The rows of all tasks, in their order, whatever the number of processes.

    ``on_progress`` hears how many are done, and the network of the last; what it raises ends the work.
    """
    keys: Sequence[Key] = [(n, 0) for n in range(len(work.tasks))]
    heard = _Heard(on_progress)
    if workers == 1 or len(keys) < 2:
        return [work.run(key, lambda name, key=key: heard.report(key, name)) for key in keys]  # type: ignore[misc]
    with ProcessPool(min(workers, len(keys))) as processes:  # it asks of a work what ours has
        found = cast(Any, processes).run(work, keys, heard)
    return [found[key] for key in keys]
