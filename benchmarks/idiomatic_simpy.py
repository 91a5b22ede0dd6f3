"""The simulation as SimPy's documentation teaches it: a process per task and per message.

It is the yardstick of ``engine_speed`` and shares no code with the engines: resources with requests,
processes that wait for each other, ``AllOf`` for inputs, background as more processes. It takes the
same pre-drawn numbers and the same decisions. Without run-on; the link is first come first served.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Any

import simpy

from benchmarks.decisions import Decisions
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.workload import Workload, background_items
from nona.system import System

Steps = Generator[simpy.Event, Any, None]


class IdiomaticSimulation:
    """Jobs on executors and one shared link, each a resource of one unit."""

    def __init__(self, system: System, scheduler: Scheduler, prepared: Prepared) -> None:
        self.system = system
        self.decisions = Decisions(system, scheduler, prepared)
        self.workload = Workload(system, 0, prepared.uniforms_per_job)
        self.env = simpy.Environment()
        self.executors = [simpy.Resource(self.env) for _ in range(system.executors)]
        self.link = simpy.Resource(self.env)
        self.server = system.executor_server.tolist()
        self.kind = system.executor_class.tolist()
        self.times = [q.tasks.compute_s.tolist() for q in system.queries]
        self.tensors = [_tensors(q.tasks, system.capacity) for q in system.queries]
        self.completion_s: list[float] = []

    def until(self, instant: float) -> Steps:
        """Wait until ``instant``, to the last bit: a difference is exact if the time does not double."""
        if instant > 2 * self.env.now:
            yield self.env.timeout(0.75 * instant - self.env.now)
        yield self.env.timeout(instant - self.env.now)

    def use(self, resource: simpy.Resource, service_s: float) -> Steps:
        """Queue for the resource and hold it."""
        with resource.request() as request:
            yield request
            yield self.env.timeout(service_s)

    def background(self, resource: simpy.Resource, items: Iterator[tuple[float, float]]) -> Steps:
        """Other people's work at a resource."""
        for arrival, service_s in items:
            yield from self.until(arrival)
            self.env.process(self.use(resource, service_s))

    def task(self, inputs: list[simpy.Process], executor: simpy.Resource, service_s: float) -> Steps:
        """Wait for the inputs, then for the executor, and run."""
        yield simpy.AllOf(self.env, inputs)
        yield from self.use(executor, service_s)

    def message(self, producer: simpy.Process, work_s: float | None) -> Steps:
        """Wait for the producing task, cross the link (``None``: stay on the server), then travel."""
        yield producer
        if work_s is not None:
            yield from self.use(self.link, work_s)
            if self.system.latency_s:
                yield self.env.timeout(self.system.latency_s)

    def job(self, number: int, query: int, draws: list[float] | None, places: list[int]) -> Steps:
        """Start all tasks and messages of a job; wait for the tasks."""
        tasks: list[simpy.Process] = []
        inputs: list[list[simpy.Process]] = [[] for _ in places]
        for t, place in enumerate(places):
            service_s = self.times[query][self.kind[place]][t]
            if draws is not None:
                service_s *= draws[t]
            tasks.append(self.env.process(self.task(inputs[t], self.executors[place], service_s)))
        for source, work_s, targets in self.tensors[query]:
            carried: dict[int, simpy.Process] = {}
            here = self.server[places[source]]
            for target in targets:
                there = self.server[places[target]]
                if there not in carried:
                    remote = None if there == here else work_s
                    carried[there] = self.env.process(self.message(tasks[source], remote))
                inputs[target].append(carried[there])
        yield simpy.AllOf(self.env, tasks)
        self.completion_s[number] = self.env.now
        self.measured_left -= number < self.jobs
        if not self.measured_left:
            self.done.succeed()

    def arrivals(self) -> Steps:
        """Start jobs at their instants, without end: the last measured jobs meet later ones too."""
        for chunk in self.workload.chunks():
            rows = chunk.rows(self.decisions.tasks, lists=self.decisions.lists)
            for arrival, query, draws, uniforms in rows:
                yield from self.until(arrival)
                places = self.decisions.places(arrival, query, uniforms)
                self.completion_s.append(math.nan)
                self.env.process(self.job(len(self.completion_s) - 1, query, draws, places))

    def run(self, jobs: int) -> list[float]:
        """Completion instants of the first ``jobs`` jobs, seconds."""
        self.jobs = self.measured_left = jobs
        self.done = self.env.event()
        system, streams = self.system, self.workload.streams
        for e, executor in enumerate(self.executors):
            items = background_items(system.background_compute, streams, "executor", str(e))
            self.env.process(self.background(executor, items))
        sizes = background_items(system.background_network, streams, "link")
        items = ((arrival, size / system.capacity) for arrival, size in sizes)
        self.env.process(self.background(self.link, items))
        self.env.process(self.arrivals())
        self.env.run(until=self.done)
        return self.completion_s[:jobs]


def _tensors(graph: Any, capacity: float) -> list[tuple[int, float, list[int]]]:
    """(source, seconds on the link, targets) of every tensor that is read."""
    targets: dict[int, set[int]] = {}
    for tensor, target in zip(graph.edge_tensor.tolist(), graph.edge_target.tolist(), strict=True):
        targets.setdefault(tensor, set()).add(target)
    source, size = graph.tensor_source.tolist(), graph.tensor_bytes.tolist()
    return [(source[t], size[t] / capacity, sorted(targets[t])) for t in sorted(targets)]
