"""A second simulator of elastic jobs, written from the description alone; slow and small.

It shares no code with the engine: it reads the CSV files itself, keeps one node number for each GPU, and
computes whatever it needs when it needs it.
"""

import csv
import math
from importlib.resources import files

import numpy as np
from scipy.interpolate import LinearNDInterpolator

LIMIT_GPU_S = 57600


def _rows(name):
    text = files("nona.training.elastic").joinpath(f"data/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


LIMITS, PLACEMENTS, SCALABILITY, EPOCHS = map(_rows, ("applications", "placements", "scalability", "epochs"))


def ceil(value):
    return math.ceil(value - 1e-8)


class App:
    def __init__(self, name):
        own = next(r for r in LIMITS if r["application"] == name)
        self.name, self.epochs = name, int(own["epochs"])
        self.b0, self.bmax = int(own["least_batch"]), int(own["most_batch"])
        self.lmin, self.lmax = int(own["least_local"]), int(own["most_local"])
        self.placements = [r for r in PLACEMENTS if r["application"] == name]
        self.curves = {}
        for r in (r for r in EPOCHS if r["application"] == name):
            self.curves.setdefault(int(r["batch_size"]), []).append(r)
        self.cloud, self.steps = None, {}

    def times(self, placement, local):
        placement = min(placement[i:] + placement[:i] for i in range(len(placement)))
        if (placement, local) not in self.steps:
            self.steps[placement, local] = self._times(placement, local)
        return self.steps[placement, local]

    def _times(self, placement, local):
        digits = "".join(map(str, placement))
        own = [r for r in self.placements if r["placement"] == digits]
        if own:
            xs = [int(r["local_bsz"]) for r in own]
            return [float(np.interp(local, xs, [float(r[c]) for r in own])) for c in ("step_s", "sync_s")]
        if self.cloud is None:
            groups = {}
            for r in self.placements:
                key = (len(r["placement"]), sum(map(int, r["placement"])), int(r["local_bsz"]))
                groups.setdefault(key, []).append((float(r["step_s"]), float(r["sync_s"])))
            points = [(*key, *np.mean(groups[key], axis=0)) for key in sorted(groups)]
            keys = ("num_nodes", "num_replicas", "local_bsz", "step_s", "sync_s")
            points += [tuple(float(r[c]) for c in keys) for r in SCALABILITY if r["application"] == self.name]
            points = np.array(points)
            self.cloud = LinearNDInterpolator(points[:, :3], points[:, 3:])
        return [float(v) for v in self.cloud([[min(len(placement), 16), sum(placement), local]])[0]]

    def split(self, batch, r, extra_alone=False):
        local = ceil(batch / r)
        a = ceil(local / self.lmax) - 1
        if r == 1 and (batch > self.b0 or extra_alone):
            a = max(a, 1)
        return min(ceil(local / (a + 1)), self.bmax // (r * (a + 1))), a

    def between(self, batch, of):
        sizes = sorted(self.curves)
        high = next((i for i, s in enumerate(sizes) if s >= batch), len(sizes) - 1)
        i = max(high, 1)
        low, up = sizes[i - 1], sizes[i]
        t = (batch - low) / (up - low)
        return (1 - t) * of(self.curves[low]) + t * of(self.curves[up])

    def rate(self, placement, batch, epoch):
        r = sum(placement)
        m, a = self.split(batch, r)
        step, sync = self.times(placement, m)
        real = r * m * (a + 1)
        s = self.between(real, lambda rows: float(rows[epoch]["grad_sqr"]))
        v = self.between(real, lambda rows: float(rows[epoch]["grad_var"]))
        return (v + s) / (v * self.b0 / real + s) / (step + a * (step - sync))

    def end(self, epoch):
        return min(float(rows[epoch]["progress"]) for rows in self.curves.values())


def runs(nodes):
    found = []
    for i, node in enumerate(nodes):
        if i and nodes[i - 1] == node:
            found[-1] += 1
        else:
            found.append(1)
    return tuple(found)


class Job:
    """A job; ``nodes``: the node of each of its GPUs."""

    def __init__(self, row, apps):
        self.name, self.time = row["name"], float(row["arrival_s"])
        self.app = apps.setdefault(row["application"], App(row["application"]))
        self.r, self.batch = int(row["gpus"]), int(row["batch_size"])
        self.nodes, self.delay, self.progress, self.epoch = [], 0, 0.0, 0
        self.done, self.executed, self.queue = None, 0, 0

    def step(self, now, seconds, slow):
        if not self.nodes or self.done is not None:
            return
        wait = min(self.delay, seconds)
        self.delay -= wait
        now, left = now + wait, seconds - wait
        while left > 0 and self.done is None:
            g = self.app.rate(runs(self.nodes), self.batch, self.epoch) * (1 - slow)
            end = self.app.end(self.epoch)
            if self.progress + g * left < end:
                self.progress += g * left
                return
            used = round((end - self.progress) / g)
            self.progress, self.epoch, now, left = end, self.epoch + 1, now + used, left - used
            if self.epoch == self.app.epochs:
                self.done = now


def placed(jobs, wanted, nodes, gpus):
    """Who keeps its number keeps its nodes; others take the freest nodes in turn."""
    kept = {j.name: j.nodes for j in jobs if j.nodes and wanted.get(j.name) == len(j.nodes)}
    free = [gpus - sum(list(k).count(n) for k in kept.values()) for n in range(nodes)]
    for name, count in wanted.items():
        if name in kept or not count:
            continue
        kept[name] = []
        while len(kept[name]) < count:
            node = free.index(max(free))
            part = min(free[node], count - len(kept[name]))
            free[node] -= part
            kept[name] += [node] * part
    return kept


def tiresias(jobs, state, size, tick):
    queues = state.setdefault("queues", [[], []])
    for queue in queues:
        queue[:] = [j for j in queue if j in jobs]
    for job in jobs:
        if job not in queues[0] + queues[1]:
            queues[0].append(job)
        elif job.nodes:
            job.executed += tick
    for job in list(jobs):
        if job in queues[0] and job.executed * job.r >= LIMIT_GPU_S:
            queues[0].remove(job)
            queues[1].append(job)
    free, wanted = size, {}
    for job in queues[0] + queues[1]:
        if job.r <= free:
            wanted[job.name] = job.r
            free -= job.r
    return wanted


def optimus(jobs, state, size, tick):

    def theta(job, r):
        m, a = job.app.split(job.batch, r, True)
        step, sync = job.app.times((4,) * (r // 4) + ((r % 4,) if r % 4 else ()), m)
        return step + a * (step - sync)

    def remaining(job):
        if job.epoch >= job.app.epochs - 1:
            return 1.0
        steps = [
            job.app.between(job.batch, lambda rows, e=e: float(rows[e]["iteration"]))
            for e in (job.app.epochs - 1, job.epoch)
        ]
        return steps[0] - steps[1]

    left = [remaining(j) for j in jobs]
    counts, free = [], size
    for _ in jobs:
        counts.append(1 if free else 0)
        free -= counts[-1]
    while free:
        gains = []
        for job, r, rem in zip(jobs, counts, left, strict=True):
            most = 1 if job.app.name == "ncf" else job.batch // job.app.lmin
            gains.append(0.0 if r >= most else (theta(job, r) - theta(job, r + 1)) * rem)
        if max(gains) <= 0:
            break
        counts[gains.index(max(gains))] += 1
        free -= 1
    return {j.name: c for c, j in sorted(zip(counts, jobs, strict=True), key=lambda pair: pair[0])}


def simulate(rows, policy, nodes=16, gpus=4, interference=0.0, tick=60, pause=30):
    apps, state, now = {}, {}, 0
    jobs = [Job(row, apps) for row in rows]
    while any(j.done is None for j in jobs):
        wide = {j.name: set(j.nodes) for j in jobs if len(set(j.nodes)) > 1 and j.done is None}
        for job in jobs:
            mine = wide.get(job.name, set())
            shares = any(mine & other for name, other in wide.items() if name != job.name)
            job.step(now, tick, interference if shares else 0.0)
        now += tick
        seen = [j for j in jobs if j.time <= now and j.done is None]
        found = placed(seen, policy(seen, state, nodes * gpus, tick), nodes, gpus) if seen else {}
        for job in jobs:
            nodes_now = list(found.get(job.name, []))
            if nodes_now and nodes_now != job.nodes:
                job.delay = pause
            job.nodes = nodes_now
    return {j.name: j.done - j.time for j in jobs}
