"""The solvers by name: each finds the point of a placement model with the least mean JCT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from nona.arrays import Floats
from nona.errors import PlacementError
from nona.placement.model import Model
from nona.placement.solver.comparison import solve_exhaustive, solve_slsqp
from nona.placement.solver.descent import descend_from_starts
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import Problem
from nona.placement.solver.solution import Certified, Solution
from nona.registry import Registry

Run = Callable[..., Solution]
GAP = 2e-5  # that the certified solver aims at


@dataclass(frozen=True, slots=True)
class Solver:
    """A solver's name, a one-line summary, and ``run(model, **options)``."""

    name: str
    summary: str
    run: Run


def _parametric(model: Model, *, gap: float = GAP, max_cells: int = 4000) -> Solution:
    def rough(problem: Problem, start: Floats | None) -> Certified:
        return solve_parametric(problem, gap=max(gap, 2e-3), max_cells=max_cells, start=start)

    def inner(problem: Problem, start: Floats | None) -> Certified:
        return solve_parametric(problem, gap=gap, max_cells=max_cells, start=start)

    return descend_from_starts(model, rough, inner)


SOLVERS: Registry[Solver] = Registry(
    "Solver",
    (
        Solver(
            "parametric", "Linear program parametrised by the link's wait; global, with a bound.", _parametric
        ),
        Solver(
            "slsqp",
            "SLSQP from many starts, with the server wait as a function of the placement.",
            solve_slsqp,
        ),
        Solver("exhaustive", "Every placement of a tiny system; for tests.", solve_exhaustive),
    ),
    PlacementError,
)


def run_solver(solver: Solver, model: Model, options: Mapping[str, Any]) -> Solution:
    """Run a solver; raises ``PlacementError`` for an option that it does not have."""
    names = list(signature(solver.run).parameters)[1:]
    unknown = sorted(options.keys() - set(names))
    if unknown:
        raise PlacementError(
            f"Solver {solver.name!r} has no such option: {', '.join(unknown)}; choose from "
            f"{', '.join(names)}."
        )
    return solver.run(model, **options)
