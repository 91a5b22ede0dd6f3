"""The view of the system that a scheduler gets: just what it declared, the rest hidden."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import NetworkView, Scheduler, View
from nona.simulation.reference.executors import Executors
from nona.simulation.reference.links import Link
from nona.simulation.reference.load import LoadBoard
from nona.system import System


def make_viewer(
    system: System,
    scheduler: Scheduler,
    executors: Executors,
    board: LoadBoard | None,
    link: Link,
) -> Callable[[float], View]:
    """A function from the time to the view, with network fields above the declared level ``nan``.

    A scheduler that does not read queues finds −1 as every queue length and ``nan`` as backlog.
    """
    level = scheduler.network_view
    hidden = math.nan
    cards = board is not None and scheduler.picks and level >= NetworkView.N3
    view = View(
        executor_server=_frozen(system.executor_server),
        executor_class=_frozen(system.executor_class),
        queue_length=board.queue_length if board else _frozen(np.full(system.executors, -1)),
        backlog_s=board.backlog_s if board else _frozen(np.full(system.executors, hidden)),
        capacity=system.capacity if level >= NetworkView.N1 else hidden,
        latency_s=system.latency_s if level >= NetworkView.N1 else hidden,
        past_transfer_s=hidden,
        link_promised_s=hidden,
        link_queue_bytes=hidden,
        card_bytes_s=board.card_bytes_s if board and cards else _frozen(np.full(2 * system.servers, hidden)),
    )
    if level < NetworkView.N2 and board is None:
        return lambda now: view

    def look(now: float) -> View:
        executors.settle(now)
        if level < NetworkView.N2:
            return view  # its arrays are the board's own
        return view._replace(
            past_transfer_s=link.past_transfer_s(now),
            link_promised_s=link.promised_s(now) if level >= NetworkView.N3 else hidden,
            link_queue_bytes=link.queue_bytes(now) if level >= NetworkView.N4 else hidden,
        )

    return look


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy
