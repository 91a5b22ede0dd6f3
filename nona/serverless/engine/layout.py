"""The arrays of a run, and the codes by which the loop and Python understand each other.

Queues are numbered as ``system.queues``, invokers, functions, configurations and calls as in the system. A
*place* is call · width + stage. A *row* is a plan that the planner has given. A *life* is a container. −1
stands for none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints

# Why the loop came back.
DONE, ROOM, STOPPED, NO_TIME = range(4)
# What a planner answers instead of a row; what a search for an invoker answers instead of one; a queue that
# wants more instances.
STOP, WAITS, NOWHERE, MORE = -1, -2, -3, -4
# What the loop asks of Python, or tells it: see :class:`nona.serverless.engine.answers.PolicyCalls`.
PROGRESS, SNAPSHOTS, PLACE, STATE, BACK, BACKGROUND, SCALES, RANKED, SERVICE = range(9)
# Kinds of events. Of those of one instant the kind decides, then application, stage and number.
END = 0  # a batch ends; number: the batch
GPU_PHASE = 1  # a batch that shares its GPU begins to compute there; number: the batch
ARRIVAL = 2  # number: the call
CONTAINERS = 3  # a container is ready or its time is over; application: invoker, stage: function
DECISION = 4  # a search ends
WAIT_OVER = 5  # a queue is to be looked at again; number: which wait
HOP = 6  # a message joins its next link; number: the message
READY = 7  # a standing instance can serve; number: the instance
SCALE = 8  # the numbers of instances are looked at; number: which look
RULES = ("home", "predecessor", "warm", "walk", "most-free")
HOME, PREDECESSOR, WARM, WALK, MOST_FREE = range(len(RULES))
SMALLEST_ROW = 0  # the row of the smallest configuration, which is forced
RECENT = 64  # jobs over which the rate of a queue is taken

# An event's key is (kind, application, stage, number) in one whole number.
KIND_BIT, APPLICATION_BIT, STAGE_BIT = 59, 45, 33
MOST_APPLICATIONS = 1 << (KIND_BIT - APPLICATION_BIT)
MOST_STAGES = 1 << (APPLICATION_BIT - STAGE_BIT)
MOST_SLOTS = 62  # bits of a whole number, for the vGPUs of a GPU

Records = Any


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers."""
    kinds = {"f": "f8", "i": "i8"}
    return np.dtype([(name, kinds[kind]) for kind, part in fields.items() for name in part.split()])


#: All that there is one of: sizes and rules, counts, the window's sums, what is handed to Python and back.
CLOCK = _record(
    i=(
        "queues invokers gpus width functions sizes keys crowd hops links headroom calls first end "
        "limit partial blocking by_slack places drops limited ready_first stands "
        "spare predicts ring memo_length memo_plans report_every "
        "coming batches lives spells messages instances states plans listed "
        "arrived completed hits open_measured served pending happening searches stamp grow halted "
        "busy_vcpus busy_vgpus stranded cold_starts prewarms rechecks misses planned "
        "short wait_for bad_configuration bad_function"
    ),
    f=(
        "now_s start_s end_s stop_s last_s next_snapshot_s keep_s weight wait_s every_s window_s "
        "local_latency_s local_bandwidth remote_latency_s remote_bandwidth latency_s "
        "vcpu_area vgpu_area stranded_area rate wanted"
    ),
)
#: An AFW queue: a list of places from ``head`` on, and the candidates for its oldest call from
#: ``least_head`` on. ``row``, ``asked_carried``, ``forced``, ``decided_s``: the decision under way;
#: ``failed``: attempts without room since the last dispatch; ``wait``: the number of its standing wait, 0 for
#: none, which ``wait_for`` jobs end; ``log``: where its times of joining begin, of which there are ``joins``.
QUEUE = _record(
    i=(
        "application stage function before befores after afters rule rules "
        "head tail length least_head least_tail log joins window_at first_instance last_instance "
        "asks_all pending recheck searching wait waits wait_for failed missed row asked_carried forced"
    ),
    f="input_bytes slo_s least_left_s last_s area decided_s",
)
#: An invoker; ``fits``, ``ready``: bits of the vGPUs that a GPU has room for, and has without set-up.
INVOKER = _record(i="kind gpus free_vcpus free_vgpus stranded fits ready memory")
#: A GPU: the number of its state, the bits of its free slots, how many batches compute on it.
GPU = _record(i="state mask active")
#: A state of a GPU, once it is ``worked_out``.
GPU_STATE = _record(i="worked_out free stranded fits ready")
#: What a batch gets of a GPU in a state, by vGPUs; ``after`` −1: no room.
PART = _record(i="after rank vgpus slots key", f="setup_s")
#: The containers of a function on an invoker: rings of the idle and of the starting ones.
CONTAINER = _record(i="idle idle_at starting starting_at busy", f="check_s last_s gap_s")
#: A container; ``since_s``: since when it is idle, or when it will be ready.
LIFE = _record(i="invoker function evicted configuration spell", f="born_s gone_s since_s")
#: A wait of a container for a batch.
SPELL = _record(i="container configuration", f="from_s until_s")
#: A batch: what is written down of it, then what its end and its inputs need. ``left_s``: seconds of its own
#: GPU work at ``since_s``, of which it does ``speed`` a second; ``ends_s``: when it ends if nothing changes.
BATCH = _record(
    i=(
        "application stage invoker gpu configuration jobs slots cold missed forced local steps "
        "queue function place vgpus key instance container timed moved messages"
    ),
    f=(
        "queued_s decided_s dispatched_s started_s ended_s search_s setup_s transfer_s "
        "left_s speed since_s ends_s alone_s asked_s ready_s"
    ),
)
#: An instance that stands for a queue; ``next``: the queue's next one; ``busy``: not ready, or with a batch.
INSTANCE = _record(
    i="queue invoker gpu configuration slots vgpus key cold forced busy stopping container next",
    f="started_s ready_s ended_s timeout_s",
)
#: Bytes on their way over ``path``, of which ``steps`` links are joined; the last ends at ``end_s``.
MESSAGE = _record(i="batch path steps", f="size end_s")
#: A link as in :mod:`nona.queries.simulation.reference.links`; its next background is the ``at``-th that is
#: drawn.
LINK = _record(i="at", f="capacity free_s since_s closed_s work_s next_s next_work_s")
#: A plan: its configurations lie in ``ranked`` from ``first`` on; ``carry``: a number of a carried plan.
ROW = _record(i="first count steps carry missed", f="search_s")
#: A configuration; ``refused``: the stamp at which no invoker had room for it.
CONFIGURATION = _record(i="batch vcpus vgpus refused")


class PlatformState(NamedTuple):
    """A run. Sizes: Q queues, N invokers, F functions, C configurations, n calls of ``width`` stages.

    By place: ``noise``, ``waiting`` (stages before it that have not ended), ``served`` (its batch),
    ``joined_s``, ``next`` in its queue, ``least_next`` and ``least_before`` among the candidates for the
    oldest. ``memo``: rows by queue, length and carried plan.
    """

    clock: Records
    queues: Records
    invokers: Records
    gpus: Records  # (N · most GPUs,)
    gpu_states: Records
    parts: Records  # (states · sizes,)
    backs: Ints  # (states · keys,) the state after a part was given back, −1 for not known
    active: Ints  # (N · most GPUs · crowd,) batches that compute on a GPU, in order
    speeds: NDArray[Any]  # (kinds of invoker, vGPUs of a batch, vGPUs that compute)
    containers: Records  # (F · N,)
    idle: Ints  # (F · N · ring,) lives
    starting: Ints
    lives: Records
    spells: Records
    batches: Records
    instances: Records
    stops: Ints  # instances to stop
    service_most: NDArray[Any]  # (Q, C)
    service_timeout_s: NDArray[Any]
    by_jobs: NDArray[Any]  # (F, C, jobs − 1) configuration whose time so many jobs take on an instance
    messages: Records
    links: Records
    background_s: NDArray[Any]  # (L, block)
    background_work_s: NDArray[Any]
    paths: NDArray[Any]  # ((N + 1) · N, links) from each invoker, first from outside, to each
    slowest: Floats  # ((N + 1) · N,) bytes/s
    shares: Ints  # (N + 1,) inputs of a batch, first those from outside
    rows: Records
    configurations: Records
    event_s: Floats
    event_key: Ints
    log_s: Floats  # when jobs joined, queue after queue
    arrival_s: Floats
    application: Ints
    left: Ints
    carried: Ints
    completion_s: Floats
    dropped_s: Floats
    noise: Floats
    waiting: Ints
    served: Ints
    joined_s: Floats
    next: Ints
    least_next: Ints
    least_before: Ints
    cold_start_s: Floats
    needs: Ints  # (F,) bytes of a container
    cpu_s: NDArray[Any]  # (F, C)
    gpu_s: NDArray[Any]  # (kinds of invoker, F, C, vGPUs held)
    rules: Ints
    routes: NDArray[Any]  # (F, N)
    before: Ints  # stages
    after: Ints  # queues
    queue_at: NDArray[Any]  # (A, most stages)
    entries: Ints  # (A + 1,) where an application's entry queues begin in ``entry``
    entry: Ints
    ranked: Ints
    memo: Ints


def key_of(kind: int, application: int, stage: int, number: int) -> int:
    """Return the key of an event."""
    return (kind << KIND_BIT) + (application << APPLICATION_BIT) + (stage << STAGE_BIT) + number
