"""The study's unit of work: a cell, placed and simulated in any process; results do not depend on where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.experiments.pool import Key
from nona.results.studies.decisions import SimulatedCell, UnplacedCell
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

    def run(self, key: Key, on_progress: Callable[[str], None] | None) -> SimulatedCell | UnplacedCell:
        """The results of one cell."""
        name, cell = self.tasks[key[0]]
        row = measure(workload_table()[name], cell, self.size, self.seed)
        if on_progress is not None:
            on_progress(name)
        return row
