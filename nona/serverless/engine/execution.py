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
from nona.serverless.engine.events import CONTAINERS, END, GPU_PHASE, Decision, Instance, Running
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
        """Seconds of a transfer, and of what is there; jobs with all of it; what shared links bring."""
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
        """A batch ends and gives back what is its own; ``None`` where its end has moved since."""
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
