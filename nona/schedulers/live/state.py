"""Where a job of ``nona-live`` stands while it is walked through the queues."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nona.schedulers.live.tables import Floats, Ints, LiveTables


class Walk(NamedTuple):
    """Where a job stands, in seconds from now.

    By slot: ``free_s``, when it is done with what the job gave it, −1 if nothing; ``kept_s`` the same
    where the sub-graph began. By task: ``end_s``, ``slot``. By tensor: ``server`` it was sent to last,
    ``there_s`` when it arrives there, ``trial`` the walk that sent it. ``sent``: until when the job's
    own messages hold the link, the request of the last, the bytes
    sent, the number of the walk, the first two as they were where the sub-graph began, and the bytes of
    the job. ``price_s``: of a byte; what the sub-graph's visits risk; when it ends.
    """

    free_s: Floats
    kept_s: Floats
    end_s: Floats
    slot: Ints
    server: Ints
    there_s: Floats
    trial: Ints
    sent: Floats
    price_s: Floats


def make_walk(t: LiveTables) -> Walk:
    """A walk of a job that has just arrived."""
    tasks, tensors, slots = t.most_tasks, t.most_tensors, t.most_slots
    floats = np.full(2 * slots + tasks + tensors, -1.0)
    ints = np.zeros(tasks + 2 * tensors, dtype=np.int64)
    return Walk(
        floats[:slots],
        floats[slots : 2 * slots],
        floats[2 * slots : 2 * slots + tasks],
        ints[:tasks],
        ints[tasks : tasks + tensors],
        floats[2 * slots + tasks :],
        ints[tasks + tensors :],
        np.zeros(7),
        np.zeros(3),
    )


def begin_walk(w: Walk) -> None:
    """Back to where the sub-graph began."""
    for i in range(len(w.free_s)):
        w.free_s[i] = w.kept_s[i]
    w.sent[0], w.sent[1], w.sent[2] = w.sent[4], w.sent[5], 0.0
    w.sent[3] += 1.0
    w.price_s[1] = 0.0
