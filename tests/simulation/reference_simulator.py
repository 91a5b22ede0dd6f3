"""A second simulator, written for clarity: plain heapq, every event explicit, states from scratch.

It shares only the draws with the engine. Background, every message and every turn of the link are
events; queue lengths are counted when asked for; processor sharing updates every message. With several
links services begin and end in events of their own.
"""

import math
from heapq import heappop, heappush
from itertools import count

import numpy as np

from nona.random_streams import RandomStreams
from nona.schedulers.base import Ready, View
from nona.simulation.workload import Workload, background_items

BACKGROUND, LINK_END, HOP, DELIVERY, END, ARRIVAL = range(6)
HANDLERS = ("on_background", "on_link_end", "on_hop", "on_delivery", "on_end", "on_arrival")


class Reference:
    def __init__(self, system, scheduler, prepared, run_on=True):
        self.system, self.scheduler, self.prepared, self.run_on = system, scheduler, prepared, run_on
        self.pick = scheduler.kind == "pick"
        self.server = system.executor_server.tolist()
        n = len(self.server)
        self.heap = []
        self.jobs = []
        self.running = [None] * n  # (job, task) or "background"
        self.queue = [[] for _ in range(n)]
        self.link = []  # [left, (job, number), message or None]
        self.link_time, self.plan_id = 0.0, 0
        self.ready = []
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

    def stream(self, workload):
        for c in workload.chunks():
            yield from c.rows([len(q.tasks) for q in self.system.queries])

    def next_arrival(self):
        arrival, *rest = next(self.arrivals)
        heappush(self.heap, (arrival, ARRIVAL, len(self.jobs), 0, rest))

    def next_background(self, place):
        item = next(self.sources[place], None)
        if item is not None:
            heappush(self.heap, (item[0], BACKGROUND, place, 0, item[1]))

    def run(self, jobs, limit):
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
    def on_background(self, place, _, service):
        self.next_background(place)
        if place == len(self.server):
            self.request(service / self.system.capacity, (-1, self.plan_id), None)
        else:
            self.queue[place].append(("background", service))
            self.start_if_idle(place)

    def join(self, job, task):
        self.queue[job["executor"][task]].append((job, task))
        self.start_if_idle(job["executor"][task])

    def start_if_idle(self, e):
        if self.running[e] is None and self.queue[e]:
            self.start(e, self.queue[e].pop(0))

    def start(self, e, item):
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

    def on_end(self, number, task, e):
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

    def finish(self, job, task, e):
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
            reached = {}
            for _, target, _ in (i for i in inputs if i[0] == tensor):
                reached.setdefault(self.server[job["executor"][target]], []).append(target)
            here = reached.pop(self.server[e], [])
            for target in here:
                self.take(job, target)
            for there, targets in reached.items():
                self.send(job, tensor, there, targets)

    def take(self, job, target):
        job["missing"][target] -= 1
        if job["missing"][target] == 0:
            self.join(job, target)

    # link
    def send(self, job, tensor, there, targets):
        number = next(i for i, x in enumerate(job["inputs"]) if x[0] == tensor and x[1] == targets[0])
        work = job["graph"].tensor_bytes[tensor] / self.system.capacity
        job["on_the_way"][tensor, there] = targets
        self.request(work, (job["number"], number), (job, tensor, there))

    def request(self, work, key, message):
        self.progress()
        self.link.append([work, key, message])
        if self.system.discipline != "fifo" or len(self.link) == 1:
            self.plan()

    def progress(self):
        if self.system.discipline != "fifo" and self.link:
            for flow in self.link:
                flow[0] -= (self.now - self.link_time) / len(self.link)
        self.link_time = self.now

    def plan(self):
        self.plan_id += 1
        if self.link:
            shared = self.system.discipline != "fifo"
            flow = min(self.link, key=lambda f: (f[0], f[1])) if shared else self.link[0]
            after = max(0.0, flow[0]) * (len(self.link) if shared else 1)
            heappush(self.heap, (self.now + after, LINK_END, self.plan_id, 0, flow))

    def on_link_end(self, plan_id, _, flow):
        if plan_id != self.plan_id:
            return
        self.progress()
        self.link.remove(flow)
        self.plan()
        if flow[2] is not None:
            heappush(self.heap, (self.now + self.system.latency_s, DELIVERY, *flow[1], flow[2]))

    def on_delivery(self, _, __, message):
        job, tensor, there = message
        targets = job["on_the_way"].pop((tensor, there))
        job["present"].add((tensor, there))
        for target in targets:
            self.take(job, target)

    # the scheduler is asked, and all it shows is counted from scratch
    def on_arrival(self, number, _, payload):
        query, draws, uniforms = payload
        graph = self.system.queries[query].tasks
        columns = (graph.edge_tensor, graph.edge_target, graph.edge_source)
        inputs = sorted(zip(*(c.tolist() for c in columns), strict=True))
        job = {
            "number": number, "query": query, "draws": draws, "graph": graph, "inputs": inputs,
            "ended": set(),
            "missing": [sum(i[1] == t for i in inputs) for t in range(len(graph))], "done": math.nan,
            "on_the_way": {}, "present": set(), "executor": [None] * len(graph),
        }  # fmt: skip
        sources = [t for t in range(len(graph)) if not graph.dag.predecessors[t]]
        if self.pick:
            self.jobs.append(job)
            self.ready += [{"job": job, "task": t, "since": self.now, "home": -1} for t in sources]
        else:
            out = np.zeros(max(len(q.tasks) for q in self.system.queries), dtype=np.int64)
            view = self.view() if self.scheduler.reads_queues else self.blind
            self.scheduler.decide(self.now, query, view, self.prepared.tables, uniforms, out)
            job["executor"] = out[: len(graph)].tolist()
            self.jobs.append(job)
            for task in sources:
                self.join(job, task)
        self.next_arrival()

    def bound(self):
        """(job, task) pairs bound to an executor and not complete."""
        there = [j for j in self.jobs if math.isnan(j["done"])]
        places = [(j, t, e) for j in there for t, e in enumerate(j["executor"])]
        return [(j, t) for j, t, e in places if e is not None and t not in j["ended"]]

    def view(self):
        n = len(self.server)
        mean = self.system.background_compute.mean
        length = np.zeros(n, dtype=np.int64)
        backlog = np.zeros(n)
        for job, task in self.bound():
            e = job["executor"][task]
            length[e] += 1
            backlog[e] += job["graph"].compute_s[self.system.executor_class[e], task]
        for e in range(n):
            items = [*self.queue[e], self.running[e]]
            background = sum(1 for x in items if x is not None and x[0] == "background")
            length[e] += background
            backlog[e] += background * mean
        s, cards = self.system, np.full(2 * self.system.servers, math.nan)
        return View(s.executor_server, s.executor_class, length, backlog.round(9), *[math.nan] * 5, cards)

    def decide_picks(self):
        while self.ready:
            view = self.view()
            if (view.queue_length > 0).all():
                return
            held = [job["number"] for job, _ in self.bound()]
            numbers = [
                (r["job"]["number"], r["job"]["query"], r["task"], held.count(r["job"]["number"]), r["home"])
                for r in self.ready
            ]
            job, query, task, running, home = np.array(numbers).T
            since = np.array([r["since"] for r in self.ready])
            n_open = sum(math.isnan(j["done"]) for j in self.jobs)
            alone, draws = np.ones_like(task), np.zeros(len(task))  # no policy that is compared reads them
            own = (job, query, task, since, running, home)
            table = Ready(len(self.ready), *own, n_open, task, alone, draws, alone, alone)
            out = np.zeros(2, dtype=np.int64)
            if not self.scheduler.decide(self.now, view, table, self.prepared.tables, self.pick_row, out):
                return
            self.pick_row = next(self.pick_rows)
            self.bind(self.ready.pop(int(out[0])), int(out[1]))

    def bind(self, entry, e):
        job, task = entry["job"], entry["task"]
        job["executor"][task] = e
        there = self.server[e]
        inputs = [i for i in job["inputs"] if i[1] == task]
        for tensor, _, source in inputs:
            if self.server[job["executor"][source]] == there or (tensor, there) in job["present"]:
                self.take(job, task)
            elif (tensor, there) in job["on_the_way"]:
                job["on_the_way"][tensor, there].append(task)
            else:
                self.send(job, tensor, there, [task])
        if not inputs:
            self.join(job, task)


def links_between(topology, a, b):
    """The path from the words of its definition, without :meth:`Topology.path`."""
    found = [topology.out_link[a]]
    if topology.rack[a] != topology.rack[b]:
        found += [topology.up_link[a], topology.core, topology.down_link[b]]
    return [int(link) for link in [*found, topology.in_link[b]] if link >= 0]


class PathReference(Reference):
    """``line[k]``: messages waiting at link k; the first of them is in service if ``busy[k]``."""

    def __init__(self, system, scheduler, prepared, run_on=True):
        assert system.topology is not None
        self.topology = system.topology
        self.speed = self.topology.link_capacity.tolist()
        self.line = [[] for _ in self.speed]
        self.busy = [False] * len(self.speed)
        self.served = [[] for _ in self.speed]
        super().__init__(system, scheduler, prepared, run_on)
        streams = RandomStreams(system.seed, 0)
        self.link_of = {len(self.server): self.topology.core}  # place of a background source → its link
        for link, (name, stream) in enumerate(system.link_streams):
            if link != self.topology.core:
                self.link_of[len(self.sources)] = link
                self.sources.append(background_items(stream, streams, *name))
                self.next_background(len(self.sources) - 1)

    def on_background(self, place, task, size):
        if place in self.link_of:
            self.next_background(place)
            self.joins({"size": size, "path": [self.link_of[place]], "at": 0, "key": (-1, 0), "what": None})
        else:
            super().on_background(place, task, size)

    def request(self, work, key, message):
        job, tensor, there = message
        here = self.server[job["executor"][int(job["graph"].tensor_source[tensor])]]
        path = links_between(self.topology, here, there)
        size = float(job["graph"].tensor_bytes[tensor])
        self.joins({"size": size, "path": path, "at": 0, "key": key, "what": message})

    def joins(self, message):
        link = message["path"][message["at"]]
        self.line[link].append(message)
        if not self.busy[link]:
            self.serve(link)

    def serve(self, link):
        """The first in line begins. Its first byte goes on at once; all of it is through when every
        link has had time for it."""
        message = self.line[link][0]
        self.busy[link] = True
        end = self.now + message["size"] / self.speed[link]
        message["ends"] = [*message.get("ends", []), end]
        self.served[link].append((self.now, end))
        heappush(self.heap, (end, LINK_END, link, 0, link))
        if message["at"] + 1 < len(message["path"]):
            heappush(self.heap, (self.now, HOP, *message["key"], message))
        elif message["what"] is not None:
            delivered = max(message["ends"]) + self.system.latency_s
            heappush(self.heap, (delivered, DELIVERY, *message["key"], message["what"]))

    def on_hop(self, _, __, message):
        """It goes on; at the link before it may still be in service."""
        self.joins(dict(message, at=message["at"] + 1))

    def on_link_end(self, _, __, link):
        self.line[link].pop(0)
        self.busy[link] = False
        if self.line[link]:
            self.serve(link)
