"""What a scheduler sees, brought up to an instant."""

from __future__ import annotations

from nona.schedulers.base import Ready, View
from nona.simulation.compiled.events.executors import settle
from nona.simulation.compiled.events.links import absorb, past_transfer_s
from nona.simulation.compiled.events.shared_link import pending_s
from nona.simulation.compiled.memory.arrays import State
from nona.simulation.compiled.memory.fields import (
    backlog_s_of,
    card_bytes_s_of,
    clock_at,
    executor_class_of,
    executor_server_of,
    links_at,
    places_of,
    queue_length_of,
    ready_base_of,
    ready_batch_first_of,
    ready_batch_size_of,
    ready_draw_of,
    ready_home_of,
    ready_job_of,
    ready_query_of,
    ready_running_of,
    ready_since_s_of,
    ready_task_of,
    shown_of,
)


def look(s: State, now: float) -> None:
    """Bring what the scheduler sees up to ``now``: the load board, and the network as far as declared."""
    c = clock_at(s, 0)
    if c.board:
        settle(s, now)
    if c.network_view < 2:
        return
    if c.shared:
        shown_of(s)[2] = c.transfer_s / c.delivered if c.delivered else 0.0
    else:
        shown_of(s)[2] = past_transfer_s(s, now)
    if c.network_view >= 3:
        shown_of(s)[3] = max(0.0, c.reserved_s - now)
    if c.network_view >= 4:
        shown_of(s)[4] = queue_bytes(s, now)


def queue_bytes(s: State, now: float) -> float:
    """Bytes waiting or in service at the links, background included."""
    c = clock_at(s, 0)
    if c.shared:
        return float(pending_s(s, now) * c.capacity)
    total = 0.0
    for k in range(c.links):
        absorb(s, k, now)
        total += max(0.0, links_at(s, k).free_s - now) * links_at(s, k).capacity
    return float(total)


def view_of(s: State) -> View:
    """What the scheduler sees; fields above its level are ``nan``."""
    c = clock_at(s, 0)
    n = c.executors
    return View(
        executor_server_of(s)[:n],
        executor_class_of(s)[:n],
        queue_length_of(s)[:n],
        backlog_s_of(s)[:n],
        shown_of(s)[0],
        shown_of(s)[1],
        shown_of(s)[2],
        shown_of(s)[3],
        shown_of(s)[4],
        card_bytes_s_of(s)[: 2 * c.servers],
    )


def ready_of(s: State, n: int, open_jobs: int) -> Ready:
    """The list of ready tasks, ``n`` of them."""
    return Ready(
        n,
        ready_job_of(s)[:n],
        ready_query_of(s)[:n],
        ready_task_of(s)[:n],
        ready_since_s_of(s)[:n],
        ready_running_of(s)[:n],
        ready_home_of(s)[:n],
        open_jobs,
        ready_batch_first_of(s)[:n],
        ready_batch_size_of(s)[:n],
        ready_draw_of(s)[:n],
        ready_base_of(s)[:n],
        places_of(s)[: clock_at(s, 0).room_tasks],
    )
