"""Starts batches on their invokers and ends them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappush

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Lease
from nona.serverless.dispatch.containers import Containers
from nona.serverless.dispatch.memory import MemoryContainers
from nona.serverless.dispatch.tracked import TrackedContainers
from nona.serverless.engine.collector import Dispatched
from nona.serverless.engine.events import CONTAINERS, END, GPU_PHASE, Decision, Running
from nona.serverless.engine.links import Fetch
from nona.serverless.engine.parts import Parts
from nona.serverless.engine.phases import SharedGpus
from nona.serverless.engine.transfer import Transfers
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.containers import ContainerLives
from nona.serverless.records.transfers import LinkTransfers
from nona.serverless.sharing.times import gpu_seconds, larger_slice_s


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
        self, queue: int, decision: Decision, configuration: int, invoker: int, lease: Lease, now_s: float
    ) -> int:
        """Send the oldest jobs of a queue to an invoker that has granted a lease; the batch's number."""
        tables, collector = self._tables, self._collector
        waiting = self._queues[queue]
        jobs = min(tables.batch[configuration], len(waiting))
        calls, queued_s = waiting.take(jobs, now_s)
        function, number = tables.function[queue], len(collector)
        cold = self._container(invoker, function, now_s)
        if self._tracked is not None:
            self._tracked.serves(configuration)
        remote: dict[int, float] = {}
        if self._links is None:
            transfer_s, local = self._transfers.fetch(queue, calls, invoker)
        else:
            local_s, remote, local = self._transfers.parts(queue, calls, invoker)
            transfer_s = self._links.alone_s(number, remote, invoker, local_s)
        started_s = now_s + lease.setup_s + transfer_s
        if cold:
            started_s += tables.cold_start_s[function]
        stage = tables.stage[queue]
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
                lease.setup_s,
                transfer_s,
            )
        )
        book, carry = self._book, decision.carry
        for call in calls:
            book.batch[call * book.width + stage] = number
            if carry is not None:
                book.carried[call] = carry
        batch = Running(number, queue, function, calls, invoker, lease)
        self.running[number] = batch
        noise = book.noise[calls[0] * book.width + stage]
        if self._links is not None and remote:
            asked_s = now_s + lease.setup_s + (tables.cold_start_s[function] if cold else 0.0)
            self._links.ask(Fetch(batch, configuration, noise, asked_s, local_s), remote)
        else:
            self._compute(batch, configuration, started_s, noise)
        return number

    def hop(self, number: int, which: int, now_s: float) -> None:
        """A message joins a link; the batch that it was the last for has a start now."""
        fetch = self._links.hop(number, which, now_s) if self._links is not None else None
        if fetch is not None:
            self._collector.fetched(number, fetch.ready_s, fetch.ready_s - fetch.asked_s)
            self._compute(fetch.batch, fetch.configuration, fetch.ready_s, fetch.noise)

    def link_records(self, stopped_s: float) -> LinkTransfers | None:
        """What the links did, where transfers share them."""
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
        """A batch ends and gives everything back; ``None`` where its end has moved since."""
        batch = self.running.get(number)
        if batch is None or batch.version != version:
            return None
        del self.running[number]
        self._collector.ended_s[number] = now_s
        if self._invokers.couples[batch.invoker]:
            self._moved(self._shared.leave(batch, now_s))
        self._invokers.release(batch.invoker, batch.lease, now_s)
        if self._tracked is not None:
            self._tracked.ends(number)
        times = self._containers.give_back(batch.invoker, batch.function, now_s)
        self._call_again(times, batch.invoker, batch.function)
        return batch

    def _container(self, invoker: int, function: int, now_s: float) -> bool:
        """A batch takes a container; whether it has to start one."""
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
    """A policy chose what a function cannot run."""
    return SimulationError(
        f"Policy: it chose {system.space[configuration].text} for function "
        f"{system.functions[function].name!r}, which has no time for it; let it rank only what the system "
        "has a time for."
    )
