"""Jobs that keep their GPUs until the move that brought them there has paid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nona.allocation.policies.problem import Floats
from nona.training.engine.hooks import Stretch
from nona.training.moves.cost import least_round_s


class Holder:
    """R ≥ c/ε: a move of c seconds is at most the share ε of the time until the next one.

    A row keeps its GPUs while it has a share there; then others wait at most c/ε longer.
    """

    def __init__(self, move_s: Callable[[int], float], overhead: float) -> None:
        self._move_s, self._overhead = move_s, overhead
        self._since: dict[int, float] = {}
        self._ran: dict[tuple[int, ...], int] = {}

    def starts(self, stretch: Stretch) -> None:
        """A job runs in the round that begins."""
        if stretch.job not in self._since or stretch.moved_from is not None or stretch.paused:
            self._since[stretch.job] = stretch.start_s

    def ran(self, row: tuple[int, ...], kind: int) -> None:
        """A row ran in the round that ended."""
        self._ran[row] = kind

    def held(self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float) -> list[tuple[int, int]]:
        """(row, type) of rows that ran in the last round, have a share there, and owe for a move."""
        last, self._ran = self._ran, {}
        found = []
        for number, row in enumerate(rows):
            kind = last.get(row)
            if kind is not None and shares[number, kind] > 0 and any(self._owes(j, now_s) for j in row):
                found.append((number, kind))
        return found

    def _owes(self, job: int, now_s: float) -> bool:
        return now_s - self._since[job] < least_round_s(self._move_s(job), self._overhead)
