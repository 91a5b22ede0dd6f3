"""Batches started, fed, ended and written down.

One share of a job's bytes comes from each predecessor's invoker, all shares equal; those of the same
invoker come over the local path, the others over the remote one, both at once::

    time = max(path), path = latency + bytes / bandwidth where there are bytes
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Lease
from nona.serverless.containers import Containers, MemoryContainers, TrackedContainers
from nona.serverless.engine.events import (
    CONTAINERS,
    END,
    GPU_PHASE,
    Decision,
    Event,
    Fetch,
    Instance,
    Links,
    Running,
    SharedGpus,
)
from nona.serverless.engine.invokers import Invokers, Tables
from nona.serverless.engine.queues import AfwQueue, CallBook
from nona.serverless.records import Batches, ContainerLives, DispatchStory, LinkTransfers
from nona.serverless.sharing import gpu_seconds, larger_slice_s
from nona.serverless.system import ServerlessSystem


class Dispatched(NamedTuple):
    """A batch that was sent off; fields as :class:`~nona.serverless.records.Batches` has them."""

    application: int
    stage: int
    invoker: int
    gpu: int
    configuration: int
    jobs: int
    queued_s: float
    decided_s: float
    dispatched_s: float
    started_s: float
    slots: int
    cold: bool
    missed: bool
    forced: bool
    local: int
    search_s: float
    steps: int
    setup_s: float
    transfer_s: float


class Collector:
    """Batches in order of dispatch, the first stories of the window, and its counts."""

    def __init__(self, start_s: float, end_s: float, stories: int) -> None:
        self._batches: list[Dispatched] = []
        self.invoker: list[int] = []
        self.ended_s: list[float] = []
        self._window = (start_s, end_s)
        self.stories_left = stories
        self.stories: list[DispatchStory] = []
        self.cold_starts = self.prewarms = self.rechecks = self.misses = self.planned = 0

    def __len__(self) -> int:
        return len(self.invoker)

    def inside(self, now_s: float) -> bool:
        """Return whether an instant lies in the window."""
        return self._window[0] <= now_s <= self._window[1]

    def wants_story(self, now_s: float) -> bool:
        """Return whether the next batch's story is kept."""
        return self.stories_left > 0 and self.inside(now_s)

    def tell(self, story: DispatchStory) -> None:
        """Keep a story."""
        self.stories.append(story)
        self.stories_left -= 1

    def add(self, batch: Dispatched) -> None:
        """A batch was dispatched."""
        self._batches.append(batch)
        self.invoker.append(batch.invoker)
        self.ended_s.append(math.nan)

    def fetched(self, number: int, started_s: float, transfer_s: float) -> None:
        """A batch whose transfer shares links has its inputs: its times are known now."""
        self._batches[number] = self._batches[number]._replace(started_s=started_s, transfer_s=transfer_s)

    def batches(self) -> Batches:
        """All of them in arrays."""
        of = self._batches
        return Batches(
            application=_ints(b.application for b in of),
            stage=_ints(b.stage for b in of),
            invoker=_ints(self.invoker),
            gpu=_ints(b.gpu for b in of),
            configuration=_ints(b.configuration for b in of),
            jobs=_ints(b.jobs for b in of),
            queued_s=_floats(b.queued_s for b in of),
            decided_s=_floats(b.decided_s for b in of),
            dispatched_s=_floats(b.dispatched_s for b in of),
            started_s=_floats(b.started_s for b in of),
            ended_s=_floats(self.ended_s),
            slots=_ints(b.slots for b in of),
            cold=_bools(b.cold for b in of),
            missed=_bools(b.missed for b in of),
            forced=_bools(b.forced for b in of),
            local=_ints(b.local for b in of),
            search_s=_floats(b.search_s for b in of),
            steps=_ints(b.steps for b in of),
            setup_s=_floats(b.setup_s for b in of),
            transfer_s=_floats(b.transfer_s for b in of),
        )


def _ints(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)


def _bools(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(values, dtype=np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The system in lists, calls, AFW queues, invokers, records, coming events, shared links."""

    tables: Tables
    book: CallBook
    queues: list[AfwQueue]
    invokers: Invokers
    collector: Collector
    heap: list[Event]
    links: Links | None

    def slack_s(self, queue: int, now_s: float) -> float:
        """SLO less the age of the oldest call in a queue, which is not empty."""
        oldest_s = self.book.arrival_s[self.queues[queue].oldest]
        return self.tables.slo_s[self.tables.application[queue]] - (now_s - oldest_s)

    def drop_late(self, queue: int, now_s: float) -> list[int]:
        """Calls of a queue that cannot be in time any more leave all queues of their application.

        Returns the queues that have become empty.
        """
        tables, book = self.tables, self.book
        least_s, application = tables.least_left_s[queue], tables.application[queue]
        if self.slack_s(queue, now_s) >= least_s:
            return []
        slo_s = tables.slo_s[application]
        late = {c for c in self.queues[queue].calls if slo_s - (now_s - book.arrival_s[c]) < least_s}
        for call in late:
            book.drop(call, now_s)
        emptied = []
        for other in tables.queue_at[application]:
            waiting = self.queues[other]
            if waiting.calls:
                waiting.remove(late, now_s)
                if not waiting.calls:
                    emptied.append(other)
        return emptied


class Transfers:
    """Seconds by the scenario's ``transfer``; ``batch`` and ``invoker_of`` are the run's own lists."""

    def __init__(self, tables: Tables, batch: list[int], width: int, invoker_of: list[int]) -> None:
        spec = tables.system.transfer
        self._tables, self._batch, self._width, self._invoker_of = tables, batch, width, invoker_of
        self._local = (spec.local_latency, spec.local_bandwidth)
        self._remote = (spec.remote_latency, spec.remote_bandwidth)

    def fetch(self, queue: int, calls: Sequence[int], invoker: int) -> tuple[float, int]:
        """(seconds, jobs of which all input lies on ``invoker``) for a batch of ``queue`` there."""
        tables = self._tables
        before = tables.before[queue]
        size = tables.input_bytes[queue]
        if not before:
            return self._seconds(0.0, len(calls) * size), 0
        here = local_jobs = 0
        batch, width, invoker_of = self._batch, self._width, self._invoker_of
        for call in calls:
            base = call * width
            inputs_here = 0
            for stage in before:
                if invoker_of[batch[base + stage]] == invoker:
                    inputs_here += 1
            here += inputs_here
            if inputs_here == len(before):
                local_jobs += 1
        share = size / len(before)
        return self._seconds(here * share, (len(calls) * len(before) - here) * share), local_jobs

    def parts(self, queue: int, calls: Sequence[int], invoker: int) -> tuple[float, dict[int, float], int]:
        """Seconds of the local path, bytes from each other invoker (−1: from outside), and local jobs."""
        tables = self._tables
        before, size = tables.before[queue], tables.input_bytes[queue]
        if not before:
            return 0.0, ({-1: len(calls) * size} if size > 0 else {}), 0
        shares: Counter[int] = Counter()
        local_jobs = 0
        for call in calls:
            sources = [self._invoker_of[self._batch[call * self._width + stage]] for stage in before]
            shares.update(sources)
            local_jobs += sources.count(invoker) == len(before)
        share = size / len(before)
        local_s = self._seconds(shares.pop(invoker, 0) * share, 0.0)
        return local_s, ({i: n * share for i, n in shares.items()} if share > 0 else {}), local_jobs

    def _seconds(self, local_bytes: float, remote_bytes: float) -> float:
        local_s = self._local[0] + local_bytes / self._local[1] if local_bytes > 0 else 0.0
        remote_s = self._remote[0] + remote_bytes / self._remote[1] if remote_bytes > 0 else 0.0
        return local_s if local_s > remote_s else remote_s


class Execution:
    """Batches that run.

    A batch starts to compute when its resources are set up, its container runs and its inputs are
    there; it then takes (CPU + GPU seconds on the pool) · noise of its oldest job, the GPU part longer
    where the pool's batches slow each other down.
    """

    def __init__(self, parts: Parts, containers: Containers) -> None:
        tables, book, invokers, collector = parts.tables, parts.book, parts.invokers, parts.collector
        self._tables, self._book, self._queues = tables, book, parts.queues
        self._invokers, self._containers, self._collector = invokers, containers, collector
        self._heap = parts.heap
        self._transfers = Transfers(tables, book.batch, book.width, collector.invoker)
        self._links = parts.links
        self._tracked = containers if isinstance(containers, TrackedContainers) else None
        self._shared = SharedGpus(invokers.pools)
        self.running: dict[int, Running] = {}
        by_node = {
            node: gpu_seconds(tables.system, pool).tolist()
            for node, pool in zip(tables.system.invokers, invokers.pools, strict=True)
        }
        self._gpu_s: list[list[list[float]]] = [by_node[node] for node in tables.system.invokers]
        for time_s, invoker, function in containers.begin():
            self._call_again((time_s,), invoker, function)

    def start(
        self,
        queue: int,
        decision: Decision,
        configuration: int,
        invoker: int,
        lease: Lease,
        now_s: float,
        instance: Instance | None = None,
    ) -> int:
        """Send the oldest jobs of a queue to an invoker that has granted a lease; the batch's number.

        On an ``instance`` there is neither a cold start nor a set-up, and ``lease`` is the instance's.
        """
        tables, collector = self._tables, self._collector
        waiting = self._queues[queue]
        jobs = min(tables.batch[configuration], len(waiting))
        calls, queued_s = waiting.take(jobs, now_s)
        function, stage, number = tables.function[queue], tables.stage[queue], len(collector)
        cold = instance is None and self._container(invoker, function, now_s)
        setup_s = lease.setup_s if instance is None else 0.0
        if self._tracked is not None:
            self._tracked.serves(configuration, None if instance is None else instance.container)
        transfer_s, local_s, local, remote = self._inputs(queue, calls, invoker, number)
        started_s = now_s + setup_s + transfer_s
        if cold:
            started_s += tables.cold_start_s[function]
        collector.add(
            Dispatched(  # by position, in the order of its fields: names would take twice as long
                tables.application[queue],
                stage,
                invoker,
                lease.gpu,
                configuration,
                jobs,
                queued_s,
                decision.decided_s,
                now_s,
                started_s,
                lease.slots,
                cold,
                decision.missed,
                decision.forced,
                local,
                decision.search_s,
                decision.steps,
                setup_s,
                transfer_s,
            )
        )
        book, carry = self._book, decision.carry
        for call in calls:
            book.batch[call * book.width + stage] = number
            if carry is not None:
                book.carried[call] = carry
        self.running[number] = batch = Running(number, queue, function, calls, invoker, lease, instance)
        timed = configuration if instance is None else instance.by_jobs[jobs - 1]
        noise = book.noise[calls[0] * book.width + stage]
        if self._links is None or not remote:
            self._compute(batch, timed, started_s, noise)
            return number
        asked_s = now_s + setup_s + (tables.cold_start_s[function] if cold else 0.0)
        self._links.ask(Fetch(batch, timed, noise, asked_s, local_s), remote)
        return number

    def _inputs(
        self, queue: int, calls: list[int], invoker: int, number: int
    ) -> tuple[float, float, int, dict[int, float]]:
        """Return seconds of transfer and of local input; jobs with all input local; bytes on shared links."""
        if self._links is None:
            transfer_s, local = self._transfers.fetch(queue, calls, invoker)
            return transfer_s, 0.0, local, {}
        local_s, remote, local = self._transfers.parts(queue, calls, invoker)
        return self._links.alone_s(number, remote, invoker, local_s), local_s, local, remote

    def hop(self, number: int, which: int, now_s: float) -> None:
        """A message joins a link; the batch that it was the last for has a start now."""
        fetch = self._links.hop(number, which, now_s) if self._links is not None else None
        if fetch is not None:
            self._collector.fetched(number, fetch.ready_s, fetch.ready_s - fetch.asked_s)
            self._compute(fetch.batch, fetch.configuration, fetch.ready_s, fetch.noise)

    def link_records(self, stopped_s: float) -> LinkTransfers | None:
        """Return the transfers on the links; ``None`` where transfers share no links."""
        return None if self._links is None else self._links.records(len(self._collector), stopped_s)

    def lives(self, stopped_s: float) -> ContainerLives | None:
        """The lives of containers, where they are recorded."""
        return None if self._tracked is None else self._tracked.lives(stopped_s)

    def _compute(self, batch: Running, configuration: int, started_s: float, noise: float) -> None:
        tables = self._tables
        cpu_s = tables.cpu_s[batch.function][configuration]
        gpu_s = self._gpu_s[batch.invoker][batch.function][configuration]
        if batch.lease.vgpus > tables.vgpus[configuration]:
            gpu_s = larger_slice_s(tables.system, batch.function, configuration, batch.lease.vgpus)
        if not cpu_s + gpu_s < math.inf:
            raise no_time(tables.system, configuration, batch.function)
        application, stage = tables.application[batch.queue], tables.stage[batch.queue]
        if self._invokers.couples[batch.invoker]:
            batch.left_s = gpu_s * noise
            at_s = started_s + cpu_s * noise
            heappush(self._heap, (at_s, GPU_PHASE, application, stage, batch.number, 0))
        else:
            heappush(
                self._heap, (started_s + (cpu_s + gpu_s) * noise, END, application, stage, batch.number, 0)
            )

    def gpu_phase(self, number: int, now_s: float) -> None:
        """A batch begins to compute on a GPU that it shares."""
        self._moved(self._shared.enter(self.running[number], now_s))

    def _moved(self, batches: Iterable[Running]) -> None:
        tables = self._tables
        for b in batches:
            place = tables.application[b.queue], tables.stage[b.queue]
            heappush(self._heap, (b.end_s, END, *place, b.number, b.version))

    def end(self, number: int, version: int, now_s: float) -> Running | None:
        """End a batch and free its resources; return ``None`` where its end has moved since."""
        batch = self.running.get(number)
        if batch is None or batch.version != version:
            return None
        del self.running[number]
        self._collector.ended_s[number] = now_s
        if self._invokers.couples[batch.invoker]:
            self._moved(self._shared.leave(batch, now_s))
        if batch.instance is None:
            if self._tracked is not None:
                self._tracked.ends(number)
            self._give_back(batch.invoker, batch.function, batch.lease, now_s)
        return batch

    def begin(self, instance: Instance) -> None:
        """An instance starts to stand: its container, and when it can serve."""
        invoker, function = instance.invoker, instance.function
        instance.cold = self._container(invoker, function, instance.started_s)
        if self._tracked is not None:
            instance.container = self._tracked.stands(instance.configuration)
        instance.ready_s = instance.started_s + instance.lease.setup_s
        if instance.cold:
            instance.ready_s += self._tables.cold_start_s[function]

    def stop(self, instance: Instance, now_s: float) -> None:
        """An instance gives everything back."""
        instance.ended_s = now_s
        if self._tracked is not None:
            self._tracked.stands_no_more(instance.container)
        self._give_back(instance.invoker, instance.function, instance.lease, now_s)

    def _give_back(self, invoker: int, function: int, lease: Lease, now_s: float) -> None:
        self._invokers.release(invoker, lease, now_s)
        self._call_again(self._containers.give_back(invoker, function, now_s), invoker, function)

    def _container(self, invoker: int, function: int, now_s: float) -> bool:
        """Take a container for a batch; return whether one has to start."""
        cold, times = self._containers.take(invoker, function, now_s)
        self._call_again(times, invoker, function)
        if self._collector.inside(now_s):
            self._collector.cold_starts += cold
            self._collector.prewarms += len(times)
        return cold

    def containers_due(self, invoker: int, function: int, now_s: float) -> bool:
        """Containers are ready, or too long idle; that all are gone may start one for the next call.

        Whether memory may be had that could not before: of a container that was starting and is idle now.
        """
        times = self._containers.due(invoker, function, now_s)
        self._call_again(times, invoker, function)
        if times and not self._containers.idle(invoker, function) and self._collector.inside(now_s):
            self._collector.prewarms += 1
        return isinstance(self._tracked, MemoryContainers) and self._tracked.made_room

    def _call_again(self, times: tuple[float, ...], invoker: int, function: int) -> None:
        for time_s in times:
            heappush(self._heap, (time_s, CONTAINERS, invoker, function, 0, 0))


def no_time(system: ServerlessSystem, configuration: int, function: int) -> SimulationError:
    """Make the error for a configuration that a function cannot run."""
    return SimulationError(
        f"Policy: it chose {system.space[configuration].text} for function "
        f"{system.functions[function].name!r}, which has no time for it; let it rank only what the system "
        "has a time for."
    )
