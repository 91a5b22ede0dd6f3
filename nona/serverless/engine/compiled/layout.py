"""The records of a run in the compiled loop, and what its numbers mean.

Queues, invokers, functions, configurations and calls have the numbers that the plain engine gives them. A
*place* is call · width + stage. A *row* is a plan that the planner has given. −1 stands for none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Why the loop came back.
DONE, ROOM, STOPPED, NO_TIME = range(4)
# What a planner answers instead of a row; what a search for an invoker answers instead of one.
STOP, WAITS, NOWHERE = -1, -2, -3
# What the loop tells: calls have arrived; snapshots are due.
PROGRESS, SNAPSHOTS = range(2)
# Kinds of events: as in :mod:`nona.serverless.engine.events`, but what is compiled reads nothing elsewhere.
END, GPU_PHASE, ARRIVAL, CONTAINERS, DECISION, WAIT_OVER = range(6)
RULES = ("home", "predecessor", "warm", "walk", "most-free")
HOME, PREDECESSOR, WARM, WALK, MOST_FREE = range(len(RULES))
SMALLEST_ROW = 0  # the row of the smallest configuration, which is forced
RECENT_MASK = 63  # the last 64 jobs of a queue are in a ring

# An event's key is (kind, application, stage, number), as in the plain engine, in one whole number.
KIND_BIT, APPLICATION_BIT, STAGE_BIT = 59, 45, 33
MOST_APPLICATIONS = 1 << (KIND_BIT - APPLICATION_BIT)
MOST_STAGES = 1 << (APPLICATION_BIT - STAGE_BIT)
MOST_SLOTS = 62  # bits of a whole number that a GPU's vGPUs may take

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = Any


def record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers."""
    kinds = {"f": "f8", "i": "i8"}
    return np.dtype([(name, kinds[kind]) for kind, part in fields.items() for name in part.split()])


#: All that there is one of: sizes and rules, counts, the window's sums.
CLOCK = record(
    i=(
        "queues invokers gpus width configurations calls first end limit partial blocking by_slack places "
        "spare predicts ring memo_length memo_plans report_every "
        "coming batches arrived completed hits open_measured served pending searches serving stamp grow "
        "busy_vcpus busy_vgpus stranded cold_starts prewarms rechecks misses planned stories_left "
        "rule wait_for bad_configuration bad_function"
    ),
    f=(
        "now_s start_s end_s stop_s last_s next_snapshot_s keep_s weight wait_s over_s "
        "local_latency_s local_bandwidth remote_latency_s remote_bandwidth "
        "vcpu_area vgpu_area stranded_area"
    ),
)
#: An AFW queue: a list of places from ``head`` on, and the candidates for its oldest call from
#: ``least_head`` on. ``row``, ``asked_carried``, ``forced``, ``decided_s``: the decision under way.
QUEUE = record(
    i=(
        "application stage function before befores after afters rule rules "
        "head tail length least_head least_tail recent recent_at "
        "asks_all pending recheck searching wait waits wait_for failed missed row asked_carried forced"
    ),
    f="input_bytes slo_s last_s area decided_s",
)
#: An invoker; ``most``: the vGPUs that are free on one GPU.
INVOKER = record(i="kind free_vcpus free_vgpus stranded most")
#: The containers of a function on an invoker: rings of when each became idle, and will be ready.
CONTAINER = record(i="idle idle_at starting starting_at busy", f="check_s last_s gap_s")
#: A batch: what is written down of it, then what its end needs.
BATCH = record(
    i=(
        "application stage invoker gpu configuration jobs slots cold missed forced local steps "
        "queue function place"
    ),
    f="queued_s decided_s dispatched_s started_s ended_s search_s setup_s transfer_s",
)
#: A plan: its configurations lie in ``ranked`` from ``first`` on; ``carry``: a number of a carried plan.
ROW = record(i="first count steps carry missed", f="search_s")
#: A configuration; ``refused``: the stamp at which no invoker had room for it.
CONFIGURATION = record(i="batch vcpus vgpus refused")


class State(NamedTuple):
    """A run. Sizes: Q queues, N invokers, F functions, C configurations, n calls of ``width`` stages.

    By place: ``noise``, ``waiting`` (stages before it that have not ended), ``served`` (its batch),
    ``joined_s``, ``next`` in its queue, ``least_next`` and ``least_before`` among the candidates for the
    oldest. ``gpu_s`` is (kinds of invoker, F, C). ``memo``: rows by queue, length and carried plan.
    """

    clock: Records
    queues: Records
    invokers: Records
    containers: Records  # (F · N,)
    batches: Records
    rows: Records
    configurations: Records
    event_s: Floats
    event_key: Ints
    idle_s: Floats  # (F · N · ring,)
    starting_s: Floats  # (F · N · ring,)
    recent_s: Floats  # (Q · 64,)
    gpu_free: Ints  # (N · most GPUs,)
    gpu_slots: Ints
    arrival_s: Floats
    application: Ints
    left: Ints
    carried: Ints
    completion_s: Floats
    noise: Floats
    waiting: Ints
    served: Ints
    joined_s: Floats
    next: Ints
    least_next: Ints
    least_before: Ints
    cold_start_s: Floats
    cpu_s: NDArray[Any]  # (F, C)
    gpu_s: NDArray[Any]
    rules: Ints
    routes: NDArray[Any]  # (F, N)
    before: Ints  # stages
    after: Ints  # queues
    queue_at: NDArray[Any]  # (A, most stages)
    entries: NDArray[Any]  # (A + 1,) where an application's entry queues begin in ``entry``
    entry: Ints
    ranked: Ints
    memo: Ints
