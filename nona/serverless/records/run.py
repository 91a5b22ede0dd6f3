"""What one simulated run leaves behind: every call, every batch, and sums over the measured window.

Calls are numbered by arrival; *measured* are those that arrive in the window, which begins after the
warm-up. Batches are numbered in the order in which they were dispatched. Times are seconds since the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.serverless.records.containers import ContainerLives
from nona.serverless.records.transfers import LinkTransfers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Calls:
    """(n,) One entry per call of an application.

    ``completion_s`` is ``nan`` for a call that was dropped or still in flight when the run ended;
    ``dropped_s``: when it was dropped, else ``nan``; ``batch`` is (n, S): the batch that served each stage,
    −1 for none, S the most stages of any application.
    """

    application: Ints
    arrival_s: Floats
    completion_s: Floats
    measured: Bools
    batch: Ints
    dropped_s: Floats


@dataclass(frozen=True, eq=False)
class Batches:
    """(m,) One entry per dispatched batch.

    Attributes
    ----------
    application, stage, invoker, gpu, configuration
        Numbers; ``configuration`` is that of the lease, its batch may be larger than ``jobs``.
    jobs
        Calls in it.
    queued_s, decided_s, dispatched_s, started_s, ended_s
        When its oldest job joined the queue; when the search began; when it got its resources; when it
        began to compute (after MIG set-up, cold start and transfer); when it ended. Resources are held
        from ``dispatched_s`` to ``ended_s``, and paid for that long. ``ended_s`` is ``nan`` if in flight.
    slots
        Bits of the vGPUs or memory slices held, see :class:`~nona.gpu_sharing.pool.Lease`.
    cold, missed, forced, local
        Whether it waited for a cold start; whether what had been planned for it earlier could not be
        used; whether the smallest configuration was forced on it; how many of its jobs found all of their
        input on its invoker.
    search_s, steps
        Of the search that chose its configuration, as charged.
    setup_s, transfer_s
        Seconds for MIG set-up and for fetching inputs.
    """

    application: Ints
    stage: Ints
    invoker: Ints
    gpu: Ints
    configuration: Ints
    jobs: Ints
    queued_s: Floats
    decided_s: Floats
    dispatched_s: Floats
    started_s: Floats
    ended_s: Floats
    slots: Ints
    cold: Bools
    missed: Bools
    forced: Bools
    local: Ints
    search_s: Floats
    steps: Ints
    setup_s: Floats
    transfer_s: Floats


@dataclass(frozen=True, eq=False)
class Instances:
    """(k,) One entry per instance that stood for an AFW queue, in the order in which they were started.

    Attributes
    ----------
    application, stage, invoker, gpu, configuration, slots
        As of :class:`Batches`. An instance holds its resources, and costs, from ``started_s`` to ``ended_s``.
    started_s, ready_s, ended_s
        When it got its resources; when it could serve (after MIG set-up and cold start); when it gave
        everything back, ``nan`` for one that stood to the end.
    cold, forced
        Whether it had to start a container; whether the smallest configuration was forced.
    container
        Its number in :class:`~nona.serverless.records.containers.ContainerLives`, −1 where these are not.
    of_batch
        (m,) For each batch the instance that it ran on.
    """

    application: Ints
    stage: Ints
    invoker: Ints
    gpu: Ints
    configuration: Ints
    slots: Ints
    started_s: Floats
    ready_s: Floats
    ended_s: Floats
    cold: Bools
    container: Ints
    forced: Bools
    of_batch: Ints


class Refusal(NamedTuple):
    """An invoker that was asked and refused: for which configuration, by which rule, and why."""

    configuration: int
    invoker: int
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class DispatchStory:
    """How one batch came to its invoker; kept for the first batches of the window only."""

    batch: int
    ranked: tuple[int, ...]
    refusals: tuple[Refusal, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The platform at one instant: jobs per AFW queue, free vCPUs, free and stranded vGPUs per invoker."""

    time_s: float
    queues: tuple[int, ...]
    free_vcpus: tuple[int, ...]
    free_vgpus: tuple[int, ...]
    stranded: tuple[int, ...]
    completed: int
    hits: int


@dataclass(frozen=True, eq=False)
class WindowSums:
    """Integrals over the measured window [``start_s``, ``end_s``], and counts of what happened in it.

    ``queue_area`` (Q,): ∫ jobs in each AFW queue dt; ``vcpu_area``, ``vgpu_area``, ``stranded_area``: ∫ of
    what all invokers have handed out, and of what lies stranded.
    """

    start_s: float
    end_s: float
    queue_area: Floats
    vcpu_area: float
    vgpu_area: float
    stranded_area: float
    cold_starts: int
    prewarms: int
    rechecks: int
    misses: int
    planned: int


@dataclass(frozen=True, eq=False)
class ServerlessRecords:
    """One policy in one replication. ``planned`` in ``sums`` counts the batches that had a carried plan.

    ``instances``: where the policy's batches run on instances that stand, else ``None``.
    ``transfers``: of the network, where transfers share it; ``containers``: their lives, where those that
    wait are paid for.
    """

    policy: str
    replication: int
    calls: Calls
    batches: Batches
    sums: WindowSums
    stopped_s: float
    seconds: float
    stories: tuple[DispatchStory, ...] = ()
    snapshots: tuple[Snapshot, ...] = field(default=())
    instances: Instances | None = None
    transfers: LinkTransfers | None = None
    containers: ContainerLives | None = None
