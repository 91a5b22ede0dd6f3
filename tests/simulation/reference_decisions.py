"""The half of the second simulator that asks the scheduler; all it shows is counted from scratch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nona.schedulers.base import Ready, View


class Decisions:
    """A mix-in of the simulator in ``reference_simulator``, which holds the state."""

    def __getattr__(self, name: str) -> Any:  # for type checkers: the state is the simulator's
        raise AttributeError(name)

    def on_arrival(self, number: int, _: int, payload: Any) -> None:
        query, draws, uniforms = payload
        graph = self.system.queries[query].tasks
        inputs = sorted(
            zip(
                graph.edge_tensor.tolist(),
                graph.edge_target.tolist(),
                graph.edge_source.tolist(),
                strict=True,
            )
        )
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

    def bound(self) -> list[tuple[dict[str, Any], int]]:
        """(job, task) pairs bound to an executor and not complete."""
        return [
            (j, t)
            for j in self.jobs
            if math.isnan(j["done"])
            for t, e in enumerate(j["executor"])
            if e is not None and t not in j["ended"]
        ]

    def view(self) -> View:
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
        s = self.system
        return View(
            s.executor_server,
            s.executor_class,
            length,
            backlog.round(9),
            *[math.nan] * 5,
            np.full(2 * s.servers, math.nan),
        )

    def decide_picks(self) -> None:
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
            table = Ready(
                len(self.ready),
                job,
                query,
                task,
                since,
                running,
                home,
                n_open,
                task,
                alone,
                draws,
                alone,
                alone,
            )
            out = np.zeros(2, dtype=np.int64)
            if not self.scheduler.decide(self.now, view, table, self.prepared.tables, self.pick_row, out):
                return
            self.pick_row = next(self.pick_rows)
            self.bind(self.ready.pop(int(out[0])), int(out[1]))

    def bind(self, entry: dict[str, Any], e: int) -> None:
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
