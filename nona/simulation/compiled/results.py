"""The end of a run: what the arrays say, as a :class:`RawRun`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.simulation.compiled.machine.core import Core
from nona.simulation.compiled.memory.arrays import Arrays, Records, State
from nona.simulation.records.collected import Busy, Collected, busy_shares
from nona.simulation.records.run import MessageInterval, RawRun, TaskInterval
from nona.simulation.reference.shared_link import pending_s

_Both = NDArray[np.float64]  # busy seconds, service done


def raw_run(s: Arrays, state: State, core: Core, collected: Collected) -> RawRun:
    """All that the engine hands over; ``state`` is where ``s`` lies, ``collected`` are the jobs."""
    c = s.clock[0]
    end = float(c["now_s"])
    executors, links = _busy_and_work(s, state, core, end)
    return RawRun(
        collected=collected,
        open_at=s.open_at[: c["next_mark"]],
        end_s=end,
        executor_busy_window_s=s.busy_s[1] - s.busy_s[0],
        link_busy_window_s=s.link_busy_s[1] - s.link_busy_s[0],
        executor_busy_s=executors[0],
        executor_work_s=executors[1],
        link_busy_s=links[0],
        link_work_s=links[1],
        jobs_area_s=float(c["window_area_s"]),
        class_completed=s.class_completed,
        class_work_s=s.class_work_s,
        class_bytes=s.class_bytes,
        traced_tasks=_tasks(s.task_traces[: c["task_traces"]], end),
        traced_messages=_messages(s.message_traces[: c["message_traces"]], end),
        decisions="machine code" if c["compiled"] else "python",
        crossed_bytes=np.column_stack([s.crossed_bytes, s.requested_bytes]) if c["paths"] else None,
    )


def busy_so_far(s: Arrays, state: State, core: Core) -> Busy:
    """Shares of the time up to now that executors and the busiest link were busy."""
    now = float(s.clock[0]["now_s"])
    executors, links = _busy_and_work(s, state, core, now)
    return busy_shares(executors[0], links[0], now)


def _busy_and_work(s: Arrays, state: State, core: Core, end: float) -> tuple[_Both, _Both]:
    c = s.clock[0]
    executors, links = np.zeros((2, c["executors"])), np.zeros((2, c["links"]))
    core.busy_and_work(state, end, executors, links)
    if c["shared"]:
        flows = int(c["flows"])
        link = s.links[0]
        links[0, 0] = link["closed_s"] + (end - link["since_s"] if flows else 0.0)
        tags = s.flows["time_s"][:flows].tolist()
        left = pending_s(tags, float(c["virtual_s"]), end - float(c["link_last_s"]))
        links[1, 0] = c["requested_s"] - left
    return executors, links


def _tasks(rows: Records, end: float) -> tuple[TaskInterval, ...]:
    done: Any = rows[rows["end_s"] <= end].tolist()
    return tuple(sorted((TaskInterval(*row) for row in done), key=lambda i: (i.job, i.start_s, i.task)))


def _messages(rows: Records, end: float) -> tuple[MessageInterval, ...]:
    done: Any = rows[rows["delivered_s"] <= end].tolist()
    found = (MessageInterval(*row) for row in done)
    return tuple(sorted(found, key=lambda m: (m.job, m.start_s, m.tensor, m.destination)))
