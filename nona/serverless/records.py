"""Records of a run: calls, batches, containers, transfers.

Calls are numbered by arrival; *measured* are those that arrive in the window, which begins after the
warm-up. Batches are numbered in the order in which they were dispatched. Times are seconds since the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.serverless.chart_data import PlatformSnapshot


def ended_or_stopped(ended_s: Floats, stopped_s: float) -> Floats:
    """Return the end of each; for one that had not ended (``nan``), the end of the run.

    >>> ended_or_stopped(np.array([1.0, np.nan]), 9.0).tolist()
    [1.0, 9.0]
    """
    return np.where(np.isnan(ended_s), stopped_s, ended_s)


def overlap_s(from_s: Floats, to_s: Floats, start_s: float, end_s: float) -> Floats:
    """Length of [from, to] ∩ [start, end], elementwise; ``nan`` where an end is.

    >>> overlap_s(np.array([0.0, 5.0]), np.array([2.0, 9.0]), 1.0, 6.0).tolist()
    [1.0, 1.0]
    """
    length: Floats = np.minimum(to_s, end_s) - np.maximum(from_s, start_s)
    return np.maximum(length, 0.0)


def most_at_once(place: Ints, from_s: Floats, to_s: Floats, amount: Ints, places: int) -> Ints:
    """(places,) The most that is held at any time in each place; what ends at an instant ends first.

    >>> args = np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 4.0]), np.array([1, 5, 3])
    >>> most_at_once(np.array([0, 0, 0]), *args, 2).tolist()
    [8, 0]
    """
    where = np.concatenate([place, place])
    when = np.concatenate([to_s, from_s])
    change = np.concatenate([-amount, amount])
    order = np.lexsort((change > 0, when, where))
    where, in_use = where[order], np.cumsum(change[order])  # each place ends with 0
    most = np.zeros(places, dtype=np.int64)
    np.maximum.at(most, where, in_use)
    return most


def sharing_pairs(place: Ints, slots: Ints, from_s: Floats, to_s: Floats) -> int:
    """Pairs of neighbours in time that hold a slot of one place at once; 0 means that none do.

    ``slots`` has a bit for each slot.

    >>> at = np.array([0, 0]), np.array([0b011, 0b110])
    >>> sharing_pairs(*at, np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    1
    """
    shared = 0
    for bit in range(int(slots.max(initial=0)).bit_length()):
        holds = np.flatnonzero((slots >> bit) & 1)
        order = holds[np.lexsort((to_s[holds], from_s[holds], place[holds]))]
        same = place[order][1:] == place[order][:-1]
        shared += int((same & (from_s[order][1:] < to_s[order][:-1])).sum())
    return shared


@dataclass(frozen=True, eq=False)
class ContainerLives:
    """n containers, their k waits, and the one that each of m batches had.

    ``invoker``, ``function``, ``born_s``, ``gone_s``: (n,) Where and whose; when its start began, and when it
        was removed: ``nan`` if it was there at the end. Containers of the start are born warm.
    ``evicted``: (n,) Whether it was removed to make room for another.
    ``of_batch``: (m,) The container of each batch, which has it from dispatch to end. An instance that stands
        has it all the time.
    ``idle``, ``idle_from_s``, ``idle_until_s``: (k,) The container, and when it began and ceased to wait for
        a batch: ``nan`` if it waited at the end.
    ``idle_configuration``: (k,) That of the batch that it had last; the smallest if it had none.
    """

    invoker: Ints
    function: Ints
    born_s: Floats
    gone_s: Floats
    evicted: Bools
    of_batch: Ints
    idle: Ints
    idle_from_s: Floats
    idle_until_s: Floats
    idle_configuration: Ints


@dataclass(frozen=True, slots=True)
class ContainerPieces:
    """The pieces that lives are made of: of which container, from when, until when; P of each kind.

    ``starting`` are starts ahead of a batch; a cold start lies within its batch.
    """

    container: Ints
    from_s: Floats
    until_s: Floats


def starting_pieces(lives: ContainerLives, busy: ContainerPieces, stopped_s: float) -> ContainerPieces:
    """From birth to the first of ``busy``, or the first wait; those of no length are left out."""
    first_s = np.full(len(lives.born_s), stopped_s)
    np.minimum.at(first_s, lives.idle, lives.idle_from_s)
    np.minimum.at(first_s, busy.container, busy.from_s)
    which = np.flatnonzero(first_s > lives.born_s)
    return ContainerPieces(which, lives.born_s[which], first_s[which])


def gone_s(lives: ContainerLives, stopped_s: float) -> Floats:
    """Return the time (n,) at which each container was removed, or the end of the run."""
    return ended_or_stopped(lives.gone_s, stopped_s)


def tiled(lives: ContainerLives, pieces: tuple[ContainerPieces, ...], stopped_s: float) -> int:
    """Containers of which the pieces, in order, do not fill the life from birth to end without gap."""
    container = np.concatenate([p.container for p in pieces])
    from_s, until_s = (np.concatenate([getattr(p, key) for p in pieces]) for key in ("from_s", "until_s"))
    order = np.lexsort((until_s, from_s, container))
    container, from_s, until_s = container[order], from_s[order], until_s[order]
    first = np.append(True, container[1:] != container[:-1])
    last = np.append(first[1:], True)
    begins = np.where(first, lives.born_s[container], np.append(0.0, until_s[:-1]))
    wrong = (from_s != begins) | (last & (until_s != gone_s(lives, stopped_s)[container]))
    without = np.setdiff1d(np.arange(len(lives.born_s)), container)
    instants = lives.born_s[without] == gone_s(lives, stopped_s)[without]
    return len(np.unique(container[wrong])) + int((~instants).sum())


@dataclass(frozen=True, eq=False)
class LinkTransfers:
    """L links until the end of a run, background included, and the transfers of its m batches.

    ``links``: L names.
    ``busy_s``, ``work_s``: (L,) Length of the periods in which a link was busy, and the seconds of service
        that it did.
    ``alone_s``: (m,) Seconds that a batch's transfer takes when nothing else is on its way; ``nan`` where
        nothing came over the network.
    ``complete``: (m,) Whether the end of the transfer was known when the run stopped. Of another batch the
        times are those of a transfer that is alone.
    """

    links: tuple[str, ...]
    busy_s: Floats
    work_s: Floats
    alone_s: Floats
    complete: Bools


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
class DispatchedBatches:
    """(m,) One entry per dispatched batch.

    ``application``, ``stage``, ``invoker``, ``gpu``, ``configuration``: numbers; ``configuration`` is that of
        the lease, its batch may be larger than ``jobs``.
    ``jobs``: calls in it.
    ``queued_s``, ``decided_s``, ``dispatched_s``, ``started_s``, ``ended_s``: when its oldest job joined the
        queue; when the search began; when it got its resources; when it began to compute (after MIG set-up,
        cold start and transfer); when it ended. Resources are held from ``dispatched_s`` to ``ended_s``, and
        paid for that long. ``ended_s`` is ``nan`` if in flight.
    ``slots``: bits of the vGPUs or memory slices held, see :class:`~nona.cluster.sharing.pool.GpuPart`.
    ``cold``, ``missed``, ``forced``, ``local``: whether it waited for a cold start; whether what had been
        planned for it earlier could not be used; whether the smallest configuration was forced on it; how
        many of its jobs found all of their input on its invoker.
    ``search_s``, ``steps``: of the search that chose its configuration, as charged.
    ``setup_s``, ``transfer_s``: seconds for MIG set-up and for fetching inputs.
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

    ``application``, ``stage``, ``invoker``, ``gpu``, ``configuration``, ``slots``: as of
    :class:`DispatchedBatches`.
        An instance holds its resources, and costs, from ``started_s`` to ``ended_s``.
    ``started_s``, ``ready_s``, ``ended_s``: when it got its resources; when it could serve (after MIG set-up
        and cold start); when it gave everything back, ``nan`` for one that stood to the end.
    ``cold``, ``forced``: whether it had to start a container; whether the smallest configuration was forced.
    ``container``: its number in :class:`~nona.serverless.records.ContainerLives`, −1 where these are not.
    ``of_batch``: (m,) For each batch the instance that it ran on.
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
    batches: DispatchedBatches
    sums: WindowSums
    stopped_s: float
    seconds: float
    snapshots: tuple[PlatformSnapshot, ...] = field(default=())
    instances: Instances | None = None
    transfers: LinkTransfers | None = None
    containers: ContainerLives | None = None
