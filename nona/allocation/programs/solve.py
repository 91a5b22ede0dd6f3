"""One answer for a program of allocations."""

from __future__ import annotations

from nona.allocation.programs.centre import LAST_MU, centre
from nona.allocation.programs.highs import solve_highs
from nona.allocation.programs.polytope import Floats
from nona.allocation.programs.program import Optimum, Program

GOOD = 1e-6
ROUGH = 1e5  # how many μ a rough answer may be off


def solve(program: Program, last_mu: float = LAST_MU) -> Optimum:
    """The optimum of a program, the same one whenever it is asked.

    Without pairs it is the analytic centre of the optimal face. With pairs, and where the centre's bound is
    off by more than ``GOOD`` in relation to the objective (floors that leave no room), it is HiGHS's vertex.
    A larger ``last_mu`` gives a rough answer, quicker; its bound is valid all the same.

    Raises
    ------
    InfeasibleError
        When no allocation keeps the floors.
    """
    if not program.space.paired:
        found = centre(program, last_mu)
        off = found.bound - found.objective
        if off <= max(GOOD, ROUGH * last_mu) * max(1e-12, abs(found.bound)) and keeps_floors(
            program, found.x
        ):
            return found
    return solve_highs(program)


def keeps_floors(program: Program, x: Floats) -> bool:
    """Whether every job has the least throughput that it needs, to ``GOOD``."""
    return bool((program.space.throughputs(x) >= program.floors * (1 - GOOD)).all())
