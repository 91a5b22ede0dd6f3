"""All executors of the system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.draws import background_items
from nona.simulation.executor import Executor
from nona.simulation.kernel import Entry
from nona.simulation.load import LoadBoard
from nona.system import System


class Executors:
    """The executors, in ``all`` by number, and what concerns them together."""

    def __init__(
        self,
        system: System,
        streams: RandomStreams,
        heap: list[Entry],
        on_end: Callable[[Any], None],
        run_on: bool,
        board: LoadBoard | None,
    ) -> None:
        self.board = board
        servers, classes = system.executor_server.tolist(), system.executor_class.tolist()
        self.all = [
            Executor(
                number=e,
                server=servers[e],
                executor_class=classes[e],
                background=background_items(system.background_compute, streams, "executor", str(e)),
                heap=heap,
                on_end=on_end,
                run_on=run_on,
                board=board,
            )
            for e in range(system.executors)
        ]
        if board is not None:
            board.next_change_s[:] = [x.next_background_s for x in self.all]

    def settle(self, now: float) -> None:
        """Bring the load board up to ``now``."""
        board = self.board
        if board is None:
            return
        for e in np.flatnonzero(board.next_change_s <= now).tolist():
            executor = self.all[e]
            if executor.next_background_s <= now:
                executor.absorb(now)
            board.end_background(e, now, executor.next_background_s)

    def busy_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Busy seconds of every executor from 0 to ``now``: the length of its busy periods."""
        return np.array([x.busy_until(now) for x in self.all])

    def work_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Seconds of service done by every executor by ``now``."""
        return np.array([x.work_until(now) for x in self.all])
