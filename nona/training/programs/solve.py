"""One answer for a program of allocations."""

from __future__ import annotations

from nona.training.programs.highs import solve_highs
from nona.training.programs.program import Optimum, Program


def solve(program: Program) -> Optimum:
    """The optimum of a program, the same one whenever it is asked."""
    return solve_highs(program)
