"""Simulate one policy in one replication."""

from __future__ import annotations

import time
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from nona.options import Options
from nona.serverless.containers import containers_of
from nona.serverless.engine.compiled.machine import is_compiled
from nona.serverless.engine.events import ARRIVAL, CONTAINERS, END, GPU_PHASE, HOP, Event, Running, links_of
from nona.serverless.engine.execution import Collector, Execution, Parts
from nona.serverless.engine.instances import Standing, controller_of, scaler_of
from nona.serverless.engine.invokers import Choice, Invokers, Tables
from nona.serverless.engine.options import REPORTS, TAIL_SLOS, OnProgress, RunOptions, ServerlessProgress
from nona.serverless.engine.queues import AfwQueue, CallBook
from nona.serverless.policies.base import Planner, Policy
from nona.serverless.records import ServerlessRecords, Snapshot, WindowSums
from nona.serverless.system import ServerlessSystem

DEFAULT = RunOptions()


def simulate_serverless(
    system: ServerlessSystem,
    policy: Policy,
    options: Options,
    run: RunOptions = DEFAULT,
    on_progress: OnProgress | None = None,
) -> ServerlessRecords:
    """Simulate ``policy`` with ``options`` on ``system``.

    Parameters
    ----------
    on_progress
        Called about 200 times; :class:`~nona.simulation.run.Cancelled` raised there stops the run.

    Raises
    ------
    SimulationError
        For options that the policy does not know, arrivals that no process has, or a policy that places
        a batch where there is no room.
    """
    begin = time.perf_counter()
    planner = policy.prepare(system, options)
    system = policy.under(system, options)
    if scaler_of(planner) is None and is_compiled(system, run):
        from nona.serverless.engine.compiled.engine import CompiledRun  # Numba takes a while to import

        return CompiledRun(system, planner, policy, run, on_progress).records(begin)
    simulation = _Simulation(system, planner, policy.name, run, on_progress)
    stopped_s = simulation.loop()
    return simulation.records(stopped_s, time.perf_counter() - begin)


class _Simulation:
    """The parts of one run, and its loop."""

    def __init__(
        self,
        system: ServerlessSystem,
        planner: Planner,
        policy: str,
        run: RunOptions,
        on_progress: OnProgress | None,
    ) -> None:
        self.policy, self.run, self.on_progress = policy, run, on_progress
        self.tables = tables = Tables(system)
        self.book = book = CallBook(tables, run)
        window = book.start_s, book.end_s
        self.heap: list[Event] = []
        self.queues = [AfwQueue(*window) for _ in range(tables.queues)]
        self.invokers = Invokers(tables, *window)
        self.collector = Collector(*window, run.stories)
        parts = Parts(
            tables=tables,
            book=book,
            queues=self.queues,
            invokers=self.invokers,
            collector=self.collector,
            heap=self.heap,
            links=links_of(tables, run.replication, self.heap),
        )
        containers = containers_of(system)
        self.execution = Execution(parts, containers)
        choice = Choice(tables, self.invokers, containers)
        self.controller = controller_of(planner, parts, choice, self.execution)
        self.snapshots: list[Snapshot] = []
        self._report_every = max(1, (run.first + run.calls) // REPORTS)
        self._next_snapshot_s = run.snapshot_s

    def loop(self) -> float:
        """Run to the end; the instant at which it stopped."""
        heap, book, controller = self.heap, self.book, self.controller
        stop_s = book.end_s + TAIL_SLOS * max(self.tables.slo_s)
        heappush(heap, self._arrival(0))
        now_s = 0.0
        while heap and book.open_measured:
            now_s = heap[0][0]
            if now_s > stop_s:
                now_s = stop_s
                break
            if self._next_snapshot_s is not None and now_s > self._next_snapshot_s:
                self._keep_snapshots(now_s)
            while heap and heap[0][0] == now_s:
                self._happen(heappop(heap), now_s)
            controller.serve(now_s)
        for queue in self.queues:
            queue.account(now_s)
        self.invokers.account(now_s)
        return now_s

    def _happen(self, event: Event, now_s: float) -> None:
        kind, application, stage, number = event[1:5]
        if kind == END:
            batch = self.execution.end(number, event[5], now_s)
            if batch is not None:
                self._ended(batch, now_s)
        elif kind == ARRIVAL:
            self._arrive(number, application, now_s)
        elif kind == GPU_PHASE:
            self.execution.gpu_phase(number, now_s)
        elif kind == CONTAINERS:
            if self.execution.containers_due(application, stage, now_s):
                self.controller.released()
        elif kind == HOP:
            self.execution.hop(number, event[5], now_s)
        else:
            self.controller.happen(kind, self.tables.queue_at[application][stage], number, now_s)

    def _arrival(self, call: int) -> Event:
        book = self.book
        return book.arrival_s[call], ARRIVAL, book.application[call], 0, call, 0

    def _arrive(self, call: int, application: int, now_s: float) -> None:
        book = self.book
        book.arrived = call + 1
        for queue in self.tables.entries[application]:
            self.queues[queue].push(call, now_s)
            self.controller.joined(queue)
        if call + 1 < len(book.arrival_s):
            heappush(self.heap, self._arrival(call + 1))
        if self.on_progress is not None and (call + 1) % self._report_every == 0:
            fraction = min(1.0, (call + 1) / book.end)
            self.on_progress(
                ServerlessProgress(self.policy, self.run.replication, fraction, self._snapshot(now_s))
            )

    def _ended(self, batch: Running, now_s: float) -> None:
        """Its jobs go on to their next stages; a call that has none left is complete."""
        book, tables = self.book, self.tables
        width, waiting, left = book.width, book.waiting, book.left
        after = tables.after[batch.queue]
        for call in batch.calls:
            left[call] -= 1
            if not left[call]:
                book.complete(call, now_s)
            if call in book.dropped_s:
                continue
            for queue in after:
                place = call * width + tables.stage[queue]
                waiting[place] -= 1
                if not waiting[place]:
                    self.queues[queue].push(call, now_s)
                    self.controller.joined(queue)
        self.controller.ended(batch, now_s)

    def _keep_snapshots(self, now_s: float) -> None:
        """Keep every snapshot that fell due since the last event: nothing has changed since then."""
        every = self.run.snapshot_s
        while every is not None and self._next_snapshot_s is not None and self._next_snapshot_s < now_s:
            self.snapshots.append(self._snapshot(self._next_snapshot_s))
            self._next_snapshot_s = (len(self.snapshots) + 1) * every

    def _snapshot(self, now_s: float) -> Snapshot:
        invokers, book = self.invokers, self.book
        return Snapshot(
            time_s=now_s,
            queues=tuple(map(len, self.queues)),
            free_vcpus=tuple(invokers.free_vcpus),
            free_vgpus=tuple(invokers.free_vgpus),
            stranded=tuple(invokers.stranded),
            completed=book.completed,
            hits=book.hits,
        )

    def records(self, stopped_s: float, seconds: float) -> ServerlessRecords:
        """Return the records of the run."""
        book, invokers, of = self.book, self.invokers, self.collector
        return ServerlessRecords(
            policy=self.policy,
            replication=self.run.replication,
            calls=book.records(),
            batches=of.batches(),
            sums=WindowSums(
                start_s=book.start_s,
                end_s=book.end_s,
                queue_area=_array([queue.area for queue in self.queues]),
                vcpu_area=invokers.vcpu_area,
                vgpu_area=invokers.vgpu_area,
                stranded_area=invokers.stranded_area,
                cold_starts=of.cold_starts,
                prewarms=of.prewarms,
                rechecks=of.rechecks,
                misses=of.misses,
                planned=of.planned,
            ),
            stopped_s=stopped_s,
            seconds=seconds,
            stories=tuple(of.stories),
            snapshots=tuple(self.snapshots),
            instances=self.controller.records() if isinstance(self.controller, Standing) else None,
            transfers=self.execution.link_records(stopped_s),
            containers=self.execution.lives(stopped_s),
        )


def _array(values: list[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
