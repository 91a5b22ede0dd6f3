"""The compiled engine: the semantics of the simulator as one event loop in machine code.

What it does is what :mod:`nona.simulation.reference.engine` does, event for event and bit for bit; the
same content keys order what happens at one instant.

The functions of the loop (:mod:`.loop`, :mod:`.jobs`, :mod:`.bind`, :mod:`.pick`, :mod:`.executors`,
:mod:`.links`, …) are written in the part of Python that Numba understands. They take the
:data:`State <nona.simulation.compiled.memory.layout.State>` and nothing else: where the arrays of
:class:`~nona.simulation.compiled.memory.layout.Arrays` lie. :mod:`.build` makes machine code of them and
keeps it on disk; :mod:`.engine` is plain Python: it calls the loop, gives it what it asks for, and
collects what it has done.
"""

from nona.simulation.compiled.machine.build import is_ready
from nona.simulation.compiled.preparation import prepare_in_background, warm

__all__ = ["is_ready", "prepare_in_background", "warm"]
