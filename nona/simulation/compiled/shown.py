"""What a scheduler sees, for decisions in plain Python."""

from __future__ import annotations

from typing import Any

from nona.schedulers.base import Ready, View
from nona.simulation.compiled.memory.arrays import Arrays


def shown_view(s: Arrays) -> View:
    """As :func:`nona.simulation.compiled.events.view.view_of`, for plain Python."""
    arrays = (_frozen(a) for a in (s.executor_server, s.executor_class, s.queue_length, s.backlog_s))
    return View(*arrays, *s.shown.tolist())._replace(card_bytes_s=_frozen(s.card_bytes_s))


def _frozen(array: Any) -> Any:
    """The same memory, not to be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def shown_ready(s: Arrays) -> Ready:
    """As :func:`nona.simulation.compiled.events.view.ready_of`, for plain Python."""
    n, open_jobs = int(s.clock["ready"][0]), int(s.clock["open_jobs"][0])
    return Ready(
        n,
        s.ready_job[:n],
        s.ready_query[:n],
        s.ready_task[:n],
        s.ready_since_s[:n],
        s.ready_running[:n],
        s.ready_home[:n],
        open_jobs,
        s.ready_batch_first[:n],
        s.ready_batch_size[:n],
        s.ready_draw[:n],
        s.ready_base[:n],
        s.places,
    )
