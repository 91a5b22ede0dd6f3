"""The records that a run is made of: what each field means, and the codes that the loop gives back.

A task in the system is a place in ``tasks``: those of one job lie side by side from ``job.base`` on.
−1 stands for none wherever a place is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Why the loop came back: it is done, or it wants something and then goes on where it was.
DONE, REPORT, DRAIN, JOBS, BACKGROUND, PICK_ROWS, ROOM, DECIDE, BAD_BIND, BAD_PICK = range(10, 20)
# What the loop does first when it is entered again.
NEXT_EVENT, ADMIT, PICK = range(3)

STARTED = -1  # in ``missing``
COMPLETIONS = 20_000  # rows of completed jobs between two hand-overs


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers, ``h`` whole numbers below 2³¹."""
    kinds = {"f": "f8", "i": "i8", "h": "i4"}
    return np.dtype(
        [(name, kinds[kind]) for kind, part in fields.items() for name in part.split()], align=True
    )


#: An executor, its counters as in the readable engine. ``head`` and ``tail`` delimit its queue of
#: tasks. Of its background items ``absorbed`` have arrived, ``served`` have begun, ``ended`` were
#: taken off the load board, and ``dropped`` are not in the arrays any more.
EXECUTOR = _record(
    h="server kind active task head tail",
    i="absorbed served ended dropped",
    f="free_s since_s closed_s work_s next_s",
)
#: A link; ``at`` is the place of its next background item.
LINK = _record(i="at", f="capacity free_s since_s closed_s work_s reserved_s next_s next_work_s")
#: A job in the system. ``wait_head``, ``wait_tail``: its tasks that stand in queues, in order of
#: joining. ``message``: the last of its messages, where tasks are picked; ``draw``: its uniform draw
#: there. ``next``: free list.
JOB = _record(
    h="query left running traced wait_head wait_tail message next",
    i="number base",
    f="arrival_s work_s sent_bytes draw",
)
#: A task in the system. ``plan`` is its place in the plan; ``before`` the number of background items
#: that stand before it in its executor's queue; ``latest_s`` the latest known arrival of an input, and
#: the instant at which it joined the queue, once it has.
TASK = _record(
    h=(
        "slot plan missing latest_number executor unfinished before placed "
        "queue_next queue_previous wait_next wait_previous"
    ),
    f="latest_s draw start_s end_s picked_s",
)
#: A tensor on its way to a server, where the engine has to remember it. ``use`` is its first input,
#: ``stage`` how far it is on its path; ``next`` chains the job's messages, or the free ones.
MESSAGE = _record(
    i="slot output use source destination stage delivered next",
    f="request_s start_s end_s delivered_s",
)
#: An entry of an event list: what is earlier, then what has the lower content key, comes first.
EVENT = _record(f="time_s", i="key item")
#: A job that is complete; the rest are the parts of its completion time.
COMPLETION = _record(i="number", f="completion_s compute_s transfer_s link_wait_s server_wait_s own_wait_s")
TASK_TRACE = _record(i="job query task executor", f="ready_s start_s end_s")
MESSAGE_TRACE = _record(i="job query tensor source destination", f="request_s start_s end_s delivered_s")
#: What a query class is: tasks from ``base`` on, ``tasks`` of them, with ``inputs`` inputs.
QUERY = _record(i="base tasks inputs first_source sources")
#: A task of the plan: half-open ranges in ``outputs``, ``reads`` and ``successors``.
PLAN = _record(i="inputs predecessors output output_end read read_end successor successor_end")
#: A tensor that a task makes: ``use`` … ``use_end`` are the inputs that it is.
OUTPUT = _record(i="tensor use use_end", f="size_bytes work_s")
#: An input: the task (within its query) that reads it, its number among the query's inputs.
USE = _record(i="target number")
#: The same seen from the reading task: which output, which of its uses, made by which task.
READ = _record(i="output use source")

#: Everything there is one of: the run's constants, its counters (as in the readable engine), how far
#: each array is used, and what the loop was doing when it came back.
CLOCK = _record(
    i=(
        "executors links core first jobs last tail_jobs tail_most report_every run_on "
        "board watched picks rounds shared paths compiled network_view has_background mean_ticks "
        "phase answer admitted feed_at feed_jobs pick_at pick_rows next_number next_report "
        "next_mark next_traced "
        "room_jobs room_tasks room_messages room_task_traces room_message_traces room_flows room_line "
        "servers cards uniforms "
        "most_tasks events flows line line_first jobs_used arena messages_used free_message "
        "promised_messages completions "
        "task_traces task_traces_promised message_traces message_traces_promised ready due "
        "open_jobs unmeasured free background_freed saved_open_jobs stamp serial delivered "
        "background"
    ),
    f=(
        "hand_over_s latency_s capacity tail_s now_s horizon_s wanted_s wake_s "
        "area_s area_since_s area_before_s window_area_s last_arrival_s "
        "link_end_s virtual_s link_last_s requested_s reserved_s transfer_s"
    ),
)
