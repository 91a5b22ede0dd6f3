"""A second simulator of jobs on counted GPUs, second by second; it shares no code with the engine."""

from fractions import Fraction


def gittins(sizes, step, attained):
    """The rank, summed and counted term by term."""
    sizes = sorted(sizes)
    above = [size for size in sizes if size > attained]
    if not above:
        return 0.0
    at = above[0] - 1
    left = [size for size in sizes if size > at]
    ends = [size for size in left if size <= at + step]
    if at + step > sizes[-1] - 1:
        ends = left[:-1]
    chance = round(float(Fraction(len(ends), len(left))), 5)
    cost = round((sum(ends) + step * (len(left) - len(ends))) / len(left), 5)
    return round(1e6 * chance / cost, 4)


class Job:
    """A job; ``e``, ``p``: executed and waited since it came or rose."""

    def __init__(self, number, row):
        self.n, (self.arrival, self.g, self.left) = number, row
        self.size = self.g * self.left
        self.on, self.e, self.p, self.q, self.done = False, 0, 0, 0, None


def fit(jobs, gpus, blocking=False):
    free = gpus
    for job in jobs:
        job.on = job.g <= free
        if not job.on and blocking:
            free = 0
        if job.on:
            free -= job.g


class Queues:
    """Tiresias by lists of lists."""

    def __init__(self, limits, knob, late, step, sizes):
        self.limits, self.knob, self.late, self.step, self.sizes = limits, knob, late, step, sizes
        self.lists = [[] for _ in range(len(limits) + 1)]
        self.last, self.jump = 0, None

    def event(self, now, present, gpus):
        passed, self.last = now - self.last, now
        self.lists = [[job for job in part if job in present] for part in self.lists]
        for job in present:
            if not any(job in part for part in self.lists):
                self.lists[0].append(job)
        for job in sorted(present, key=lambda job: job.n):
            if job.on:
                job.e += passed
                if job.q < len(self.limits) and job.e * job.g >= self.limits[job.q]:
                    self.move(job, job.q + 1)
            elif job.e:
                job.p += passed
                if self.knob and job.q and job.p >= int(job.e * self.knob):
                    job.e = job.p = 0
                    self.move(job, 0)
        if self.step:
            for part in self.lists:
                part.sort(key=lambda job: job.arrival)
                part.sort(key=lambda job: gittins(self.sizes, self.step, job.e * job.g), reverse=True)
        fit([job for part in self.lists for job in part], gpus)
        self.lists = [
            [job for job in part if job.on] + [job for job in part if not job.on] for part in self.lists
        ]
        self.jump = min((now + wait for job in present if (wait := self.wait(job)) > 0), default=None)

    def wait(self, job):
        if job.on and job.q < len(self.limits):
            limit = self.limits[job.q]
            return (limit - job.e) // job.g if self.late else -(-(limit - job.e * job.g) // job.g)
        if not job.on and self.knob and job.q and job.e:
            return int(job.e * self.knob - job.p)
        return 0

    def move(self, job, to):
        self.lists[job.q].remove(job)
        job.q = to
        self.lists[to].append(job)


def simulate(rows, gpus, rule, *, limits=(), knob=0, late=True, step=0):
    jobs = [Job(n, row) for n, row in enumerate(rows)]
    queues = Queues(limits, knob, late, step, [job.size for job in jobs])
    order, present, now = [], [], 0
    keys = {"sjf": lambda j: j.g, "shortest": lambda j: j.left, "shortest-gpu": lambda j: j.left * j.g}
    while any(job.done is None for job in jobs):
        ended = [job for job in present if not job.left]
        came = [job for job in jobs if job.arrival == now]
        for job in ended:
            job.done, job.on = now, False
            present.remove(job)
            order.remove(job)
        present += came
        order += came
        if ended or came or (rule == "queues" and queues.jump == now):
            if rule == "queues":
                queues.event(now, present, gpus)
            elif rule in keys:
                order.sort(key=keys[rule])
                fit(order, gpus)
            else:
                busy = sum(job.g for job in present if job.on)
                fit([job for job in present if not job.on], gpus - busy, blocking=rule == "fifo")
        for job in present:
            job.left -= job.on
        now += 1
    return [job.done - job.arrival for job in jobs]
