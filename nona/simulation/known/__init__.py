"""Systems whose mean times are known from queueing theory, simulated and compared with it.

The tests and the Validation page hold the simulator against the same systems: :data:`KNOWN` makes
them, :func:`compare` simulates one and says whether it agrees.
"""

from nona.simulation.known.agreement import EFFORTS, Agreement, Comparison, Effort, compare
from nona.simulation.known.parts import Expected, KnownSystem
from nona.simulation.known.registry import KNOWN, LOADS, known_result, known_systems

__all__ = [
    "EFFORTS",
    "KNOWN",
    "LOADS",
    "Agreement",
    "Comparison",
    "Effort",
    "Expected",
    "KnownSystem",
    "compare",
    "known_result",
    "known_systems",
]
