"""A second simulator, written for clarity: plain heapq, every event explicit, states from scratch.

It shares only the draws with the engine. Background, every message and every turn of the link are
events; queue lengths are counted when asked for; processor sharing updates every message.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
from reference_decisions import Decisions

from nona.random_streams import RandomStreams
from nona.schedulers.base import Prepared, Scheduler, View
from nona.simulation.workload import Workload, background_items
from nona.system import System

BACKGROUND, LINK_END, HOP, DELIVERY, END, ARRIVAL = range(6)
HANDLERS = ("on_background", "on_link_end", "on_hop", "on_delivery", "on_end", "on_arrival")


class Reference(Decisions):
    def __init__(self, system: System, scheduler: Scheduler, prepared: Prepared, run_on: bool = True) -> None:
        self.system, self.scheduler, self.prepared, self.run_on = system, scheduler, prepared, run_on
        self.pick = scheduler.kind == "pick"
        self.server = system.executor_server.tolist()
        n = len(self.server)
        self.heap: list[tuple[Any, ...]] = []
        self.jobs: list[dict[str, Any]] = []
        self.running: list[Any] = [None] * n  # (job, task) or "background"
        self.queue: list[list[Any]] = [[] for _ in range(n)]
        self.link: list[list[Any]] = []  # [left, (job, number), message or None]
        self.link_time, self.plan_id = 0.0, 0
        self.ready: list[dict[str, Any]] = []
        hidden = [math.nan] * 6
        nothing = np.full(n, -1)
        self.blind = View(system.executor_server, system.executor_class, nothing, *hidden)
        streams = RandomStreams(system.seed, 0)
        picks = streams.generator("picks")
        width = max(prepared.uniforms_per_job, 1)
        self.pick_rows = (picks.random(width) for _ in count())
        self.pick_row = next(self.pick_rows)
        self.sources = [
            background_items(system.background_compute, streams, "executor", str(e)) for e in range(n)
        ]
        self.sources.append(background_items(system.background_network, streams, "link"))
        for place in range(n + 1):
            self.next_background(place)
        self.arrivals = self.stream(Workload(system, 0, prepared.uniforms_per_job))
        self.next_arrival()

    def stream(self, workload: Workload) -> Any:
        for c in workload.chunks():
            yield from c.rows([len(q.tasks) for q in self.system.queries])

    def next_arrival(self) -> None:
        arrival, *rest = next(self.arrivals)
        heappush(self.heap, (arrival, ARRIVAL, len(self.jobs), 0, rest))

    def next_background(self, place: int) -> None:
        item = next(self.sources[place], None)
        if item is not None:
            heappush(self.heap, (item[0], BACKGROUND, place, 0, item[1]))

    def run(self, jobs: int, limit: int) -> np.ndarray:
        """Completions of the first ``jobs`` jobs; ends before job ``limit`` arrives at the latest."""
        while len(self.jobs) < jobs or any(math.isnan(j["done"]) for j in self.jobs[:jobs]):
            self.now, kind, a, b, payload = heappop(self.heap)
            if kind == ARRIVAL and a == limit:
                break
            getattr(self, HANDLERS[kind])(a, b, payload)
            if self.pick:
                self.decide_picks()
        return np.array([j["done"] for j in self.jobs[:jobs]])

    # executors
    def on_background(self, place: int, _: int, service: float) -> None:
        self.next_background(place)
        if place == len(self.server):
            self.request(service / self.system.capacity, (-1, self.plan_id), None)
        else:
            self.queue[place].append(("background", service))
            self.start_if_idle(place)

    def join(self, job: dict[str, Any], task: int) -> None:
        self.queue[job["executor"][task]].append((job, task))
        self.start_if_idle(job["executor"][task])

    def start_if_idle(self, e: int) -> None:
        if self.running[e] is None and self.queue[e]:
            self.start(e, self.queue[e].pop(0))

    def start(self, e: int, item: Any) -> None:
        if item[0] == "background":
            self.running[e] = item
            heappush(self.heap, (self.now + item[1], END, -1, e, e))
            return
        job, task = item
        self.running[e] = item
        service = self.system.queries[job["query"]].tasks.compute_s[self.system.executor_class[e], task]
        if job["draws"] is not None:
            service = service * job["draws"][task]
        heappush(self.heap, (self.now + service, END, job["number"], task, e))

    def on_end(self, number: int, task: int, e: int) -> None:
        self.running[e] = None
        if number >= 0:
            job = self.jobs[number]
            self.running[e] = "held"  # while its results are handed on
            self.finish(job, task, e)
            self.running[e] = None
            own = [x for x in self.queue[e] if x[0] is job]
            if self.run_on and own:
                self.queue[e].remove(own[0])
                self.start(e, own[0])
        self.start_if_idle(e)

    def finish(self, job: dict[str, Any], task: int, e: int) -> None:
        job["ended"].add(task)
        graph = job["graph"]
        if len(job["ended"]) == len(graph):
            job["done"] = self.now
        if self.pick:
            for target in graph.dag.successors[task]:
                if set(graph.dag.predecessors[target]) <= job["ended"]:
                    self.ready.append({"job": job, "task": target, "since": self.now, "home": e})
            return
        inputs = [i for i in job["inputs"] if i[2] == task]
        for tensor in sorted({i[0] for i in inputs}):
            reached: dict[int, list[int]] = {}
            for _, target, _ in (i for i in inputs if i[0] == tensor):
                reached.setdefault(self.server[job["executor"][target]], []).append(target)
            here = reached.pop(self.server[e], [])
            for target in here:
                self.take(job, target)
            for there, targets in reached.items():
                self.send(job, tensor, there, targets)

    def take(self, job: dict[str, Any], target: int) -> None:
        job["missing"][target] -= 1
        if job["missing"][target] == 0:
            self.join(job, target)

    # link
    def send(self, job: dict[str, Any], tensor: int, there: int, targets: list[int]) -> None:
        number = next(i for i, x in enumerate(job["inputs"]) if x[0] == tensor and x[1] == targets[0])
        work = job["graph"].tensor_bytes[tensor] / self.system.capacity
        job["on_the_way"][tensor, there] = targets
        self.request(work, (job["number"], number), (job, tensor, there))

    def request(self, work: float, key: tuple[int, int], message: Any) -> None:
        self.progress()
        self.link.append([work, key, message])
        if self.system.discipline != "fifo" or len(self.link) == 1:
            self.plan()

    def progress(self) -> None:
        if self.system.discipline != "fifo" and self.link:
            for flow in self.link:
                flow[0] -= (self.now - self.link_time) / len(self.link)
        self.link_time = self.now

    def plan(self) -> None:
        self.plan_id += 1
        if self.link:
            shared = self.system.discipline != "fifo"
            flow = min(self.link, key=lambda f: (f[0], f[1])) if shared else self.link[0]
            after = max(0.0, flow[0]) * (len(self.link) if shared else 1)
            heappush(self.heap, (self.now + after, LINK_END, self.plan_id, 0, flow))

    def on_link_end(self, plan_id: int, _: int, flow: Any) -> None:
        if plan_id != self.plan_id:
            return
        self.progress()
        self.link.remove(flow)
        self.plan()
        if flow[2] is not None:
            heappush(self.heap, (self.now + self.system.latency_s, DELIVERY, *flow[1], flow[2]))

    def on_delivery(self, _: int, __: int, message: Any) -> None:
        job, tensor, there = message
        targets = job["on_the_way"].pop((tensor, there))
        job["present"].add((tensor, there))
        for target in targets:
            self.take(job, target)
