"""What a job completion time consists of: compute, transfer, waits for links, for executors, for own tasks.

From the task that completes the job back to its arrival, along the last cause of each: what a task
waited for last decides when it ran, so these stretches follow on one another without a gap, and the
parts add up to the completion time. Of the seconds for which a message was on its way, those that it
would have taken on idle links are transfer, the others waiting. Of the seconds that a task waits for its
executor, those in which that runs another task of the same job are waits for own tasks: more servers do not
shorten them. A task that waits for its pick waits for the executor that it then gets.
"""

from __future__ import annotations

from nona.simulation.reference.jobs import Job
from nona.simulation.reference.links import Link

JctParts = tuple[float, float, float, float, float]  # in the order of nona.simulation.records.tally.PARTS
NO_PARTS: JctParts = (0.0, 0.0, 0.0, 0.0, 0.0)


def parts_of_bound(job: Job, task: int, link: Link) -> JctParts:
    """Parts of a job whose tasks were bound at its arrival; ``task`` is the one that completed it.

    The last cause of a task is the end of the task that made its last input: on the same server the
    first of its inputs whose source ended just when it joined its executor's queue, else the
    input delivered last.
    """
    start_s, end_s, joined_s, places = job.start_s, job.end_s, job.latest_s, job.executor
    makers, numbered, number = job.plan.makers, job.plan.numbered, job.latest_number
    compute = transfer = link_wait = server_wait = own_wait = 0.0
    while True:
        start, joined = start_s[task], joined_s[task]
        compute += end_s[task] - start
        own = _own_s(job, task, joined, start)
        own_wait += own
        server_wait += start - joined - own
        sources = makers[task]
        if not sources:
            return compute, transfer, link_wait, server_wait, own_wait
        here = places[task].server
        for source in sources:
            if end_s[source] == joined and places[source].server == here:
                break
        else:
            output, source = numbered[number[task]]
            gap = joined - end_s[source]
            alone = link.isolated_s(output, places[source].server, here)
            if gap < alone:
                alone = gap
            transfer += alone
            link_wait += gap - alone
        task = source


def parts_of_picked(job: Job, task: int, link: Link) -> JctParts:
    """Parts of a job whose tasks were picked once their predecessors were complete.

    The last cause of a task is the predecessor that ended last (the least number among equals); it
    waits for its pick, as for an executor, and then for the input delivered last.
    """
    places, plan = job.executor, job.plan
    compute = transfer = link_wait = server_wait = own_wait = 0.0
    while True:
        start, joined, picked = job.start_s[task], job.latest_s[task], job.picked_s[task]
        compute += job.end_s[task] - start
        own = _own_s(job, task, joined, start)
        own_wait += own
        server_wait += start - joined - own
        gap = joined - picked
        if gap > 0:
            output, source = plan.numbered[job.latest_number[task]]
            alone = min(gap, link.isolated_s(output, places[source].server, places[task].server))
            transfer += alone
            link_wait += gap - alone
        before = -1
        if plan.makers[task]:
            before = -max((job.end_s[source], -source) for source in plan.makers[task])[1]
        since = job.arrival_s if before < 0 else job.end_s[before]
        own = _own_s(job, task, since, picked)
        own_wait += own
        server_wait += picked - since - own
        if before < 0:
            return compute, transfer, link_wait, server_wait, own_wait
        task = before


def _own_s(job: Job, task: int, begin_s: float, end_s: float) -> float:
    """Seconds within which the executor of a task runs others of its job."""
    own = 0.0
    if end_s > begin_s:
        here = job.executor[task]
        for other, place in enumerate(job.executor):
            if place is here and other != task:
                shared = min(end_s, job.end_s[other]) - max(begin_s, job.start_s[other])
                if shared > 0:
                    own += shared
    return min(own, end_s - begin_s)
