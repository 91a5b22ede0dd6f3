"""How long a search may take, counted in steps: so that the same input gives the same output everywhere."""

from __future__ import annotations

_STEPS_PER_S = 8e7  # edges and tasks looked at by compiled code on one core, about


class Budget:
    """Steps that are left of about ``time_s`` seconds."""

    def __init__(self, time_s: float) -> None:
        self._left = time_s * _STEPS_PER_S

    def spend(self, steps: float) -> None:
        """Take ``steps`` off."""
        self._left -= steps

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0

    def times(self, steps: float) -> int:
        """How often ``steps`` fit into what is left."""
        return max(int(self._left / steps), 0)
