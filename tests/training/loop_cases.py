"""The rounds of a training cluster once more, in plain Python over dictionaries, from the description alone.

No pairs, no jobs that hold GPUs, no choice of GPUs: who runs on which type, when, for how many steps.
"""

import random

import numpy as np

from nona.allocation.problem import AllocationProblem


class PlainLoop:
    """``stays``: number of the job, type, start, end."""

    def __init__(self, system, policy):
        self.system, self.policy, self.stays, self.end, self.booked = system, policy, [], {}, 0.0

    def run(self):
        system, jobs = self.system, self.system.jobs
        types, half, gap = system.cluster.types, system.round_s / 2, system.reallocation_s
        answer = self.policy.prepare(self.policy.defaults)
        rate = {
            (i, t): system.throughputs.rate(t, job.model, job.workers)
            for i, job in enumerate(jobs)
            for t in types
        }
        left = {i: job.steps for i, job in enumerate(jobs)}
        there, share, got, short = [], {}, {}, {}
        of_type = dict.fromkeys(types, 0.0)
        coming, now, since, last = 0, 0.0, 0.0, None
        dirty = False
        shuffle = random.Random(system.seed + 5)
        running = []  # job, type, steps, finish
        while True:
            idle = not running and bool(there) and dirty
            if running:
                now = max(f for *_, f in running)
            elif coming < len(jobs) and not (there and dirty):
                now = max(now, jobs[coming].arrival_s)
            elif not there or not dirty:
                return self
            for i, t, steps, finish in running:
                got[i, t] += finish - since
                of_type[t] += finish - since
                self.booked += jobs[i].workers * (finish - since)
                left[i] -= steps
                self.stays.append((i, t, since, finish))
                if left[i] <= 1e-9 * jobs[i].steps:
                    self.end[i] = finish
                    there.remove(i)
                    dirty = True
            running = []
            while coming < len(jobs) and jobs[coming].arrival_s <= now:
                there.append(coming)
                for t in types:
                    got[coming, t], short[coming, t] = half, 0.0
                dirty, coming = True, coming + 1
            if dirty and (last is None or now - last >= gap or idle):
                passed = 0.0 if idle else now - (last or 0.0)
                for i in there:
                    for t in types:
                        short[i, t] += share.get((i, t), 0.0) * passed - (got[i, t] - half)
                        got[i, t] = half
                of_type = dict.fromkeys(types, len(there) * half)
                last = now
                dirty = False
                share = self._ask(answer, there, left, rate) if there else {}
                if not there:
                    last = None
            order = sorted(types, key=lambda t: (-sum(rate[i, t] for i in range(len(jobs))), t))
            if not self.policy.heterogeneous and there:
                shuffle.shuffle(order)
            taken = set()
            for t in order:
                free = system.cluster.gpus[t]
                pi = {
                    i: share.get((i, t), 0.0) * round(of_type[t], 6) / round(got[i, t], 6)
                    if rate[i, t]
                    else 0.0
                    for i in there
                }
                for i in sorted(
                    there, key=lambda i: (-pi[i], -round(short[i, t], 6), -share.get((i, t), 0.0), i)
                ):
                    fits = rate[i, t] > 0 and jobs[i].workers <= free and i not in taken
                    if not fits or (self.policy.needs_share and pi[i] <= 0):
                        continue
                    taken.add(i)
                    free -= jobs[i].workers
                    steps = min(rate[i, t] * system.round_s, left[i])
                    running.append((i, t, steps, now + steps / rate[i, t]))
            since = now

    def _ask(self, answer, there, left, rate):
        cluster, jobs, m = self.system.cluster, self.system.jobs, len(there)
        types = cluster.types
        problem = AllocationProblem(
            types=types,
            gpus=np.array([cluster.gpus[t] for t in types], float),
            names=tuple(jobs[i].name for i in there),
            workers=np.array([jobs[i].workers for i in there], float),
            weights=np.array([jobs[i].weight for i in there]),
            rates=np.array([[rate[i, t] for t in types] for i in there]),
            remaining=np.array([left[i] for i in there]),
            elapsed_s=np.zeros(m),
            isolated_s=np.zeros(m),
            slo_s=np.full(m, np.nan),
            prices=np.ones(len(types)),
            entity=np.full(m, -1),
            pair_rates=np.empty((0, len(types), 2)),
        )
        found = answer(problem)
        return {
            (there[row[0]], t): round(float(x), 6)
            for row, shares in zip(found.rows, found.shares, strict=True)
            for t, x in zip(types, shares, strict=True)
        }
