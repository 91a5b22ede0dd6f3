"""The simulation as SimPy's documentation teaches it: a process per task and per message.

It is the yardstick of ``simulation_speed`` and shares no code with the engine: resources with
requests, processes that wait for each other, ``AllOf`` for inputs. It takes the same pre-drawn
numbers. No run-on, no background, no latency, every edge a message of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import simpy

from nona.simulation.workload import Jobs
from nona.system import System

Steps = Generator[simpy.Event, Any, None]


class IdiomaticSimulation:
    """Fork-join jobs on executors and one shared link, one task per unit of each resource."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.env = simpy.Environment()
        self.executors = [simpy.Resource(self.env) for _ in range(system.executors)]
        self.link = simpy.Resource(self.env)
        self.completion_s: list[float] = []
        self.graphs = [q.tasks for q in system.queries]
        self.edges = [
            list(zip(g.edge_source.tolist(), g.edge_target.tolist(), g.edge_tensor.tolist(), strict=True))
            for g in self.graphs
        ]
        self.times = [g.compute_s[0].tolist() for g in self.graphs]
        self.sizes = [g.tensor_bytes.tolist() for g in self.graphs]

    def task(self, inputs: list[simpy.Process], executor: simpy.Resource, service_s: float) -> Steps:
        """Wait for the inputs, for the executor, then run."""
        yield simpy.AllOf(self.env, inputs)
        with executor.request() as request:
            yield request
            yield self.env.timeout(service_s)

    def message(self, producer: simpy.Process, work_s: float) -> Steps:
        """Wait for the producing task and the link, then travel."""
        yield producer
        if work_s > 0:
            with self.link.request() as request:
                yield request
                yield self.env.timeout(work_s)

    def job(self, number: int, query: int, draws: list[float], places: list[int]) -> Steps:
        """Start all tasks and messages of a job; wait for the tasks."""
        tasks: list[simpy.Process] = []
        inputs: list[list[simpy.Process]] = [[] for _ in draws]
        for t, draw in enumerate(draws):
            executor = self.executors[places[t]]
            tasks.append(self.env.process(self.task(inputs[t], executor, self.times[query][t] * draw)))
            for source, target, tensor in self.edges[query]:
                if source == t:
                    local = places[source] == places[target]
                    work = 0.0 if local else self.sizes[query][tensor] / self.system.capacity
                    inputs[target].append(self.env.process(self.message(tasks[t], work)))
        yield simpy.AllOf(self.env, tasks)
        self.completion_s[number] = self.env.now
        self.measured_left -= number < self.jobs
        if not self.measured_left:
            self.done.succeed()

    def arrivals(self, chunks: Iterator[Jobs]) -> Steps:
        """Start jobs at their instants, without end: the last measured jobs meet later ones too."""
        number = 0
        for chunk in chunks:
            for arrival, query, draws, uniforms in chunk.rows([len(g) for g in self.graphs]):
                yield self.env.timeout(arrival - self.env.now)
                assert draws is not None
                places = [int(u * self.system.executors) for u in uniforms[: len(draws)]]
                self.completion_s.append(float("nan"))
                self.env.process(self.job(number, query, draws, places))
                number += 1

    def run(self, chunks: Iterator[Jobs], jobs: int) -> list[float]:
        """Completion instants of the first ``jobs`` jobs, seconds."""
        self.jobs = self.measured_left = jobs
        self.done = self.env.event()
        self.env.process(self.arrivals(chunks))
        self.env.run(until=self.done)
        return self.completion_s[:jobs]
